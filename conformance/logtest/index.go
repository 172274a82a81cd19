package logtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"pgregory.net/rapid"
)

// An IndexOpener prepares an empty index and returns a function that opens it,
// each call as another process would.
type IndexOpener func(t *testing.T) (open func() handoff.Index)

// RunIndex tests the indexes that prepare makes against the contract of
// handoff.Index.
func RunIndex(t *testing.T, prepare IndexOpener) {
	for name, test := range map[string]func(*testing.T, func() handoff.Index){
		"EmptyIndex":   emptyIndex,
		"Again":        again,
		"NoGap":        noGap,
		"Unreadable":   unreadable,
		"NothingThere": nothingThere,
		"AtOnce":       atOnce,
	} {
		t.Run(name, func(t *testing.T) { test(t, prepare(t)) })
	}
	t.Run("AnswersAsMemory", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			records := DrawRecords(rt)
			open := prepare(t)
			for rest := records; len(rest) > 0; {
				n := rapid.IntRange(1, len(rest)).Draw(rt, "batch")
				if err := open().Apply(rt.Context(), rest[:n]...); err != nil {
					rt.Fatal(err)
				}
				rest = rest[n:]
			}
			want := NewReference()
			if err := want.Apply(rt.Context(), records...); err != nil {
				rt.Fatal(err)
			}
			got := open()
			CheckAnswers(rt, got, want, records)
			for range 5 {
				q := DrawArtifactQuery(rt, records)
				checkAnswer(rt, fmt.Sprintf("%+v", q), got, want, func(r handoff.Reader) (any, error) {
					return r.Artifacts(rt.Context(), q)
				})
				s := DrawSessionQuery(rt)
				checkAnswer(rt, fmt.Sprintf("%+v", s), got, want, func(r handoff.Reader) (any, error) {
					return r.Sessions(rt.Context(), s)
				})
			}
		})
	})
}

// A TB is what checks need of a test, be it a property's.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Context() context.Context
}

// CheckAnswers compares what two readers answer about everything that the records
// name, and of everything there is, page by page.
func CheckAnswers(t TB, got, want handoff.Reader, records []handoff.Record) {
	t.Helper()
	ctx := t.Context()
	for _, r := range records {
		checkAnswer(t, r.ID, got, want, func(x handoff.Reader) (any, error) { return x.Artifact(ctx, r.ID) })
	}
	if _, ok := got.(handoff.WorkLister); ok {
		checkAnswer(t, "work in a thread", got, want, func(x handoff.Reader) (any, error) {
			return x.(handoff.WorkLister).WorkIn(ctx, drawnThread)
		})
	}
	for _, id := range append([]string{"", "nobody"}, drawnSessions...) {
		checkAnswer(t, id, got, want, func(x handoff.Reader) (any, error) { return x.Session(ctx, id) })
		if _, ok := got.(handoff.WorkLister); ok {
			checkAnswer(t, "work in "+id, got, want, func(x handoff.Reader) (any, error) {
				return x.(handoff.WorkLister).WorkIn(ctx, id)
			})
		}
	}
	for _, id := range []string{"w1", "w2", "w3"} {
		checkAnswer(t, id, got, want, func(x handoff.Reader) (any, error) { return x.Work(ctx, "codex", id) })
		if _, ok := got.(handoff.WorkLister); ok {
			checkAnswer(t, "work under "+id, got, want, func(x handoff.Reader) (any, error) {
				return x.(handoff.WorkLister).WorkUnder(ctx, "codex", id)
			})
		}
	}
	if _, ok := got.(handoff.ProductionLister); ok {
		var apart []string
		for i := 0; i < len(records); i += 5 {
			apart = append(apart, records[i].ID)
		}
		for _, q := range []handoff.ProductionQuery{{}, {In: drawnSessions[0]},
			{In: drawnSessions[2]}, {By: "work"}, {By: "session"}, {By: "channel"},
			{By: "session", OfThreads: true},
			{By: "day", Since: drawnTime.Add(time.Second)}, {By: "revision"}, {By: "artifact"},
			{By: "tag", Without: apart}, {Without: apart},
			{By: "artifact", Since: drawnTime.Add(time.Second)}, {By: "tag"}, {By: "label"},
			{By: "label", Until: drawnTime.Add(3 * time.Second), Apart: apart}} {
			checkAnswer(t, fmt.Sprintf("productions %+v", q), got, want, func(x handoff.Reader) (any, error) {
				list, err := x.(handoff.ProductionLister).Productions(ctx, q)
				slices.SortFunc(list, fold.CompareProductions)
				return list, err
			})
		}
	}
	for _, hidden := range []bool{false, true} {
		for q := (handoff.ArtifactQuery{IncludeInactive: hidden, Limit: 3}); ; {
			checkAnswer(t, fmt.Sprintf("%+v", q), got, want,
				func(x handoff.Reader) (any, error) { return x.Artifacts(ctx, q) })
			page, err := want.Artifacts(ctx, q)
			if q.Cursor = page.Cursor; err != nil || q.Cursor == "" {
				break
			}
		}
		q := handoff.SessionQuery{IncludeRuns: hidden, IncludeArchived: hidden}
		checkAnswer(t, fmt.Sprintf("%+v", q), got, want,
			func(x handoff.Reader) (any, error) { return x.Sessions(ctx, q) })
	}
}

func checkAnswer(t TB, name string, got, want handoff.Reader, ask func(handoff.Reader) (any, error)) {
	t.Helper()
	if g, w := answer(ask(got)), answer(ask(want)); g != w {
		at := differAt(g, w)
		t.Fatalf("%s: answers differ at byte %d:\ngot  %s\nwant %s", name, at, around(g, at), around(w, at))
	}
}

// differAt returns the offset of the first byte in which two texts differ.
func differAt(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// around returns the part of a text around an offset: a page of artifacts is
// too long to print.
func around(text string, at int) string {
	const before, after = 200, 300
	return fmt.Sprintf("%q of %d bytes", text[max(0, at-before):min(len(text), at+after)], len(text))
}

// answer writes an answer, or the kind of its error, as text.
func answer(v any, err error) string {
	if err != nil {
		for _, kind := range []handoff.Kind{handoff.NotFound, handoff.Invalid} {
			if errors.Is(err, kind) {
				return string(kind)
			}
		}
		return err.Error()
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// DrawArtifactQuery draws a query that may select some of the records.
func DrawArtifactQuery(t *rapid.T, records []handoff.Record) handoff.ArtifactQuery {
	pick := func(name string, values ...string) string {
		return rapid.SampledFrom(append(values, make([]string, 4*len(values))...)).Draw(t, name)
	}
	moment := func(name string) time.Time {
		if rapid.IntRange(0, 4).Draw(t, name+" at all") > 0 {
			return time.Time{}
		}
		return drawnTime.Add(time.Duration(rapid.IntRange(-1, 8).Draw(t, name)) * time.Second)
	}
	id := func(name string) string {
		return pick(name, rapid.SampledFrom(records).Draw(t, name+" of").ID, "nobody")
	}
	q := handoff.ArtifactQuery{
		Channel: pick("channel", "design", "patch", "moon"), Kind: pick("kind", "file", "report"),
		Name: pick("name", "context.md", "b.md"), Namespace: pick("namespace", "s1", "run1"),
		Named: rapid.IntRange(0, 3).Draw(t, "named") == 0,
		Tag:   pick("tag", "security", "draft"), Key: pick("key", "k1", "k2"),
		Since: moment("since"), Until: moment("until"), IncludeInactive: rapid.Bool().Draw(t, "hidden"),
		Status: handoff.Status(pick("status", "active", "superseded", "withdrawn")),
		IDPrefix: pick("prefix", "art_", "art_0000000000000000000000001", "rec_", "art_00000000000000000000000003",
			"z"),
		IDSuffix: pick("suffix", "1", "12", "000012", "0000000003", "z"),
		Family:   id("family"), Parent: id("parent"),
		Label: pick("label", "approved", "draft"), UsedBy: pick("user", "builder", "s1", "run1"),
		Revision:  rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 1, 2, 3}).Draw(t, "revision"),
		Stale:     rapid.IntRange(0, 5).Draw(t, "stale") == 0,
		Competing: rapid.IntRange(0, 5).Draw(t, "competing") == 0,
		Claimed:   rapid.IntRange(0, 5).Draw(t, "claimed") == 0,
		Discussed: rapid.IntRange(0, 5).Draw(t, "discussed") == 0,
		Comment: pick("comment", strings.Replace(rapid.SampledFrom(records).Draw(t, "comment of").ID, "art_", "cmt_",
			1)),
		Limit: rapid.IntRange(0, 4).Draw(t, "limit"),
	}
	if rapid.IntRange(0, 3).Draw(t, "after any") == 0 {
		q.After = handoff.Seq(rapid.IntRange(0, len(records)).Draw(t, "after"))
	}
	if rapid.IntRange(0, 2).Draw(t, "by producer") == 0 {
		slot := rapid.SampledFrom([]string{"session", "run", "agent", "harness", "tool-call", "turn", "parent-work",
			"parent_work"}).Draw(t, "slot")
		q.Producer = map[string]string{slot: rapid.SampledFrom([]string{"", "s1", "run1", "builder", "codex",
			"t1"}).Draw(t, "slot value")}
	}
	if rapid.IntRange(0, 4).Draw(t, "by path") == 0 {
		q.Paths = rapid.SliceOfN(rapid.SampledFrom([]string{"a.md", "b.md", "c.md", "d.md"}), 0, 2).Draw(t, "paths")
	}
	if rapid.IntRange(0, 4).Draw(t, "by IDs") == 0 {
		q.IDs = []string{id("one ID"), id("another ID")}
	}
	if rapid.IntRange(0, 4).Draw(t, "by any parent") == 0 {
		q.AnyParent = []string{id("one parent"), id("another parent")}
	}
	if rapid.IntRange(0, 9).Draw(t, "by newest") == 0 {
		q.NewestIn = []string{drawnSessions[0], drawnSessions[2], "no such session"}
	}
	if rapid.IntRange(0, 3).Draw(t, "paged") == 0 {
		q.Cursor = rapid.SampledFrom([]string{handoff.NewCursor(handoff.Seq(len(records)/2 + 1)), "c1",
			"never"}).Draw(t, "cursor")
	}
	return q
}

// DrawSessionQuery draws a query of sessions.
func DrawSessionQuery(t *rapid.T) handoff.SessionQuery {
	q := handoff.SessionQuery{
		Status:      rapid.SampledFrom([]string{"", "", "running", "completed"}).Draw(t, "session status"),
		Tag:         rapid.SampledFrom([]string{"", "", "t1", "t2"}).Draw(t, "session tag"),
		IDPrefix:    rapid.SampledFrom([]string{"", "", "s", "s1", "run"}).Draw(t, "session prefix"),
		LinksTo:     rapid.SampledFrom([]string{"", "", "s2", "s1"}).Draw(t, "links to"),
		Parent:      rapid.SampledFrom([]string{"", "", "s1"}).Draw(t, "parent session"),
		Agent:       rapid.SampledFrom([]string{"", "", "alex", "casey"}).Draw(t, "session agent"),
		User:        rapid.SampledFrom([]string{"", "", "u", "v"}).Draw(t, "session user"),
		BootID:      rapid.SampledFrom([]string{"", "", "", "b", "c"}).Draw(t, "boot"),
		IncludeRuns: rapid.Bool().Draw(t, "runs"), IncludeArchived: rapid.Bool().Draw(t, "archived"),
		Limit: rapid.IntRange(0, 2).Draw(t, "session limit"),
		Cursor: rapid.SampledFrom([]string{
			"", "", handoff.SessionOrder{Start: drawnTime.UnixNano(), Opened: 3}.Cursor(), handoff.SessionOrder{
				Start: drawnTime.Add(3 * time.Second).UnixNano(), Opened: 9}.Cursor(), "never",
		}).Draw(t, "session cursor"),
	}
	if kind := rapid.SampledFrom([]string{"none", "none", "", "file", "report"}).Draw(t, "kind made"); kind != "none" {
		q.HasKind = func(k string) bool { return k == kind }
	}
	if rapid.IntRange(0, 3).Draw(t, "session IDs at all") == 0 {
		q.IDs = rapid.SliceOf(rapid.SampledFrom([]string{"s1", "s2", "run1", "none"})).Draw(t, "session IDs")
	}
	if pattern := rapid.SampledFrom([]string{"", "", "^intake", "-app$", "nothing", ""}).Draw(t,
		"session workflow"); pattern != "" {
		q.Workflow = regexp.MustCompile(pattern)
	}
	if rapid.IntRange(0, 3).Draw(t, "session since at all") == 0 {
		q.Since = drawnTime.Add(time.Duration(rapid.IntRange(0, 7).Draw(t, "session since")) * time.Second)
		q.Until = q.Since.Add(3 * time.Second)
	}
	return q
}

func emptyIndex(t *testing.T, open func() handoff.Index) {
	x := open()
	if seq, err := x.Seq(t.Context()); seq != 0 || err != nil {
		t.Errorf("Seq of an empty index = %d, %v", seq, err)
	}
	if err := x.Apply(t.Context()); err != nil {
		t.Errorf("Apply of nothing = %v", err)
	}
	CheckAnswers(t, x, NewReference(), nil)
}

// some returns records of a few artifacts, placed from 1.
func some(n int) []handoff.Record {
	list := make([]handoff.Record, n)
	for i := range list {
		list[i] = NewRecord(fmt.Sprintf("%d.md", i))
	}
	return Placed(list)
}

func again(t *testing.T, open func() handoff.Index) {
	records := some(5)
	for _, batch := range [][]handoff.Record{records[:3], records[:3], records[1:4], records} {
		if err := open().Apply(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
	}
	want := NewReference()
	if err := want.Apply(t.Context(), records...); err != nil {
		t.Fatal(err)
	}
	CheckAnswers(t, open(), want, records)
}

func noGap(t *testing.T, open func() handoff.Index) {
	x, records := open(), some(4)
	for _, batch := range [][]handoff.Record{records[1:], {records[0], records[2]}} {
		if err := x.Apply(t.Context(), batch...); !errors.Is(err, handoff.Conflict) {
			t.Errorf("Apply with a gap = %v, want kind Conflict", err)
		}
		if seq, err := x.Seq(t.Context()); seq != 0 || err != nil {
			t.Errorf("after a refusal Seq = %d, %v, want 0", seq, err)
		}
	}
}

func unreadable(t *testing.T, open func() handoff.Index) {
	records := some(3)
	records[1] = handoff.StoredRecord(2, []byte("no record"))
	if err := open().Apply(t.Context(), records...); err != nil {
		t.Fatal(err)
	}
	page, err := open().Artifacts(t.Context(), handoff.ArtifactQuery{})
	if err != nil || len(page.Artifacts) != 2 || len(page.Damaged) != 1 || page.Damaged[0] != 2 {
		t.Errorf("Artifacts = %d artifacts, damaged %v, %v, want 2 and record 2", len(page.Artifacts), page.Damaged,
			err)
	}
	if seq, err := open().Seq(t.Context()); seq != 3 || err != nil {
		t.Errorf("Seq = %d, %v, want 3", seq, err)
	}
}

func nothingThere(t *testing.T, open func() handoff.Index) {
	x, ctx := open(), t.Context()
	_, err1 := x.Artifact(ctx, "art_0")
	_, err2 := x.Session(ctx, "s")
	_, err3 := x.Work(ctx, "codex", "w")
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, handoff.NotFound) {
			t.Errorf("asked for nothing: %v, want kind NotFound", err)
		}
	}
	if _, err := x.Artifacts(ctx, handoff.ArtifactQuery{Cursor: "?"}); !errors.Is(err, handoff.Invalid) {
		t.Errorf("a bad cursor: %v, want kind Invalid", err)
	}
}

// atOnce lets several writers follow one log, as processes do.
func atOnce(t *testing.T, open func() handoff.Index) {
	const writers, each = 4, 20
	log := &orderedLog{}
	var wg sync.WaitGroup
	for w := range writers {
		x := open()
		wg.Go(func() {
			for i := range each {
				r := Append(t, log, fmt.Sprintf("%d-%d.md", w, i))
				if err := handoff.CatchUp(t.Context(), log, x); err != nil {
					t.Error(err)
				} else if _, err := x.Artifact(t.Context(), r.ID); err != nil {
					t.Errorf("after catching up: %v", err)
				}
			}
		})
	}
	wg.Wait()
	want := NewReference()
	if err := handoff.CatchUp(t.Context(), log, want); err != nil {
		t.Fatal(err)
	}
	CheckAnswers(t, open(), want, Collect(t, log, 0))
}

// A orderedLog is a log in memory, for tests that need no more of one than its order.
type orderedLog struct {
	mu      sync.Mutex
	records [][]byte
}

// Append implements handoff.Log.
func (l *orderedLog) Append(_ context.Context, r handoff.Record) (handoff.Seq, error) {
	b, err := r.JSON()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, b)
	return handoff.Seq(len(l.records)), err
}

// Read implements handoff.Log.
func (l *orderedLog) Read(_ context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	l.mu.Lock()
	records := l.records
	l.mu.Unlock()
	return func(yield func(handoff.Record, error) bool) {
		for seq := after; int(seq) < len(records) && yield(handoff.StoredRecord(seq+1, records[seq]), nil); {
			seq++
		}
	}
}

// Wait implements handoff.Log. It does not wait.
func (l *orderedLog) Wait(context.Context, handoff.Seq) error { return nil }
