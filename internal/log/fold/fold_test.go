package fold_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"pgregory.net/rapid"
)

// The oracle implements the rules of families without regard to speed: it follows
// every chain for each question.
type oracle struct {
	order     []string // IDs in the order of the log
	published map[string]*handoff.ArtifactPublished
	withdrawn map[string]bool
	reason    map[string]string
	threads   map[string]string // of the producers
}

func newOracle(records []handoff.Record) oracle {
	o := oracle{published: map[string]*handoff.ArtifactPublished{}, withdrawn: map[string]bool{},
		reason: map[string]string{}, threads: map[string]string{}}
	keys := map[string]bool{}
	for _, r := range records {
		switch f := r.Fact.(type) {
		case *handoff.ArtifactPublished:
			if o.published[r.ID] != nil || f.Key != "" && keys[f.Key] {
				continue
			}
			keys[f.Key] = true
			o.published[r.ID], o.threads[r.ID] = f, r.Producer.Thread
			o.order = append(o.order, r.ID)
		case *handoff.ArtifactWithdrawn:
			if !o.withdrawn[f.ArtifactID] {
				o.withdrawn[f.ArtifactID], o.reason[f.ArtifactID] = true, f.Reason
			}
		case *handoff.RecordRedacted:
			if o.withdrawn[f.ArtifactID] && f.RecordID != f.ArtifactID {
				o.reason[f.ArtifactID] = handoff.RedactReason(o.reason[f.ArtifactID], f.Replaced)
			}
		}
	}
	return o
}

// names reports whether b names a in Replaces, and came after it.
func (o oracle) names(b, a string) bool {
	return slices.Index(o.order, b) > slices.Index(o.order, a) && slices.Contains(o.published[b].Replaces, a)
}

// above returns all that replaces a, directly or through others.
func (o oracle) above(a string) []string {
	var list []string
	for _, b := range o.order {
		if o.names(b, a) {
			list = append(list, b)
			list = append(list, o.above(b)...)
		}
	}
	return list
}

func (o oracle) status(a string) handoff.Status {
	if o.withdrawn[a] {
		return handoff.Withdrawn
	}
	for _, b := range o.above(a) {
		if !o.withdrawn[b] {
			return handoff.Superseded
		}
	}
	p := o.published[a]
	for _, b := range o.order[slices.Index(o.order, a)+1:] {
		q := o.published[b]
		if p.Name != "" && q.Name == p.Name && q.Namespace == p.Namespace && !o.withdrawn[b] {
			return handoff.Superseded
		}
	}
	return handoff.Active
}

// family returns all that is joined to a by Replaces, in either direction.
func (o oracle) family(a string) []string {
	list := []string{a}
	for i := 0; i < len(list); i++ {
		for _, b := range o.order {
			if (o.names(b, list[i]) || o.names(list[i], b)) && !slices.Contains(list, b) {
				list = append(list, b)
			}
		}
	}
	return list
}

func (o oracle) competing(a string) []string {
	var list []string
	for _, b := range o.family(a) {
		if b != a && o.status(a) == handoff.Active && o.status(b) == handoff.Active {
			list = append(list, b)
		}
	}
	slices.Sort(list)
	return list
}

func memoryOf(t *rapid.T, records []handoff.Record) *fold.Memory {
	m := fold.NewMemory()
	if err := m.Apply(t.Context(), records...); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFamilies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := logtest.DrawRecords(t)
		m, o := memoryOf(t, records), newOracle(records)
		for _, id := range o.order {
			a, err := m.Artifact(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(a.Competing)
			if want := o.status(id); a.Status != want {
				t.Errorf("status of %s = %s, want %s", id, a.Status, want)
			}
			if want := o.reason[id]; a.Reason != want {
				t.Errorf("%s: reason of the withdrawal %q, want %q", id, a.Reason, want)
			}
			if want := o.competing(id); !slices.Equal(a.Competing, want) {
				t.Errorf("%s competes with %v, want %v", id, a.Competing, want)
			}
			if (a.Status == handoff.Superseded) != (len(a.ReplacedBy) > 0) && a.Status != handoff.Withdrawn {
				t.Errorf("%s is %s and replaced by %v", id, a.Status, a.ReplacedBy)
			}
			for _, by := range a.ReplacedBy {
				if o.withdrawn[by] {
					t.Errorf("%s is replaced by %s, which was withdrawn", id, by)
				}
			}
		}
		page, err := m.Artifacts(t.Context(), handoff.ArtifactQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := len(page.Artifacts)+page.HiddenCount, len(o.order); got != want {
			t.Errorf("%d artifacts shown or hidden, want %d", got, want)
		}
	})
}

// TestOrderOfArrival shuffles a log into an order that other writers could have
// produced: an artifact stays after those that it replaces, and records of which
// the first or newest counts keep their order. The answers must not change.
func TestOrderOfArrival(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := slices.DeleteFunc(logtest.DrawRecords(t), func(r handoff.Record) bool {
			p, ok := r.Fact.(*handoff.ArtifactPublished)
			return ok && (p.Name != "" || p.Key != "")
		})
		shuffled := logtest.Placed(shuffle(t, records))
		one, two := memoryOf(t, logtest.Placed(records)), memoryOf(t, shuffled)
		for _, r := range records {
			a, errA := one.Artifact(t.Context(), r.ID)
			b, errB := two.Artifact(t.Context(), r.ID)
			if (errA == nil) != (errB == nil) {
				t.Fatalf("%s: %v, shuffled %v", r.ID, errA, errB)
			}
			for _, list := range [][]string{a.Competing, b.Competing, a.ReplacedBy, b.ReplacedBy} {
				slices.Sort(list)
			}
			if a.Status != b.Status || !slices.Equal(a.Competing, b.Competing) || !slices.Equal(a.ReplacedBy, b.ReplacedBy) {
				t.Errorf("%s = %s %v %v, shuffled %s %v %v", r.ID, a.Status, a.Competing, a.ReplacedBy, b.Status, b.Competing,
					b.ReplacedBy)
			}
		}
	})
}

// shuffle draws an order in which every artifact follows what it replaces.
func shuffle(t *rapid.T, records []handoff.Record) []handoff.Record {
	rest := slices.Clone(records)
	var out []handoff.Record
	for len(rest) > 0 {
		var ready []int
		for i, r := range rest {
			if !slices.ContainsFunc(rest[:i], func(earlier handoff.Record) bool { return mustFollow(r, earlier) }) {
				ready = append(ready, i)
			}
		}
		i := rapid.SampledFrom(ready).Draw(t, "next")
		out = append(out, rest[i])
		rest = slices.Delete(rest, i, i+1)
	}
	return out
}

func mustFollow(r, earlier handoff.Record) bool {
	p, published := r.Fact.(*handoff.ArtifactPublished)
	if !published {
		_, other := earlier.Fact.(*handoff.ArtifactPublished)
		_, withdrawn := r.Fact.(*handoff.ArtifactWithdrawn)
		return !withdrawn && !other
	}
	return slices.Contains(p.Replaces, earlier.ID) || r.ID == earlier.ID
}

// TestApplyTwice checks that an index applies each record once, however often and
// in whatever batches it receives them.
func TestApplyTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := logtest.DrawRecords(t)
		want := memoryOf(t, records)
		got := fold.NewMemory()
		for i := range records {
			from := rapid.IntRange(0, i).Draw(t, "from")
			if err := got.Apply(t.Context(), records[from:i+1]...); err != nil {
				t.Fatal(err)
			}
		}
		a, errA := got.Artifacts(t.Context(), handoff.ArtifactQuery{IncludeInactive: true})
		b, errB := want.Artifacts(t.Context(), handoff.ArtifactQuery{IncludeInactive: true})
		if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%+v, %v\nwant %+v, %v", a, errA, b, errB)
		}
	})
}

func TestLate(t *testing.T) {
	artifact := func(id, session, run string) handoff.Record {
		return handoff.Record{Version: 1, Type: "artifact.published", ID: id,
			Producer: handoff.Producer{Session: session, RunID: run},
			Fact:     &handoff.ArtifactPublished{Channel: "design", Path: "a.md", TargetType: "file"}}
	}
	closed := func(id, session string) handoff.Record {
		return handoff.Record{Version: 1, Type: "session.closed", ID: id,
			Fact: &handoff.SessionClosed{SessionID: session, Status: "completed"}}
	}
	m := fold.NewMemory()
	err := m.Apply(t.Context(), logtest.Placed([]handoff.Record{
		artifact("before", "s", ""), closed("c1", "r"), artifact("run over", "s", "r"), artifact("session goes on", "s", ""),
		closed("c2", "s"), artifact("session over", "s", ""), artifact("other run", "s", "r2"), artifact("unknown run", "s",
			"r3"), closed("c3", "r2"),
	})...)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{"before": false, "run over": true, "session goes on": false,
		"session over": true, "other run": false, "unknown run": true} {
		if a, err := m.Artifact(t.Context(), id); err != nil || a.Late != want {
			t.Errorf("%s: late = %v, %v, want %v", id, a.Late, err, want)
		}
	}
}

// TestMoved follows a file through the moves of its directories that come after
// its record, in the order of the log.
func TestMoved(t *testing.T) {
	file := func(path string) handoff.Fact {
		return &handoff.ArtifactPublished{Channel: "design", Path: path, TargetType: "file"}
	}
	moved := func(from, to string) handoff.Fact { return &handoff.PathMoved{From: from, To: to} }
	for name, tt := range map[string]struct {
		facts []handoff.Fact // the first is the artifact
		want  string
	}{
		"not at all":     {[]handoff.Fact{file("a/b.md"), moved("a/b", "c"), moved("b.md", "c")}, "a/b.md"},
		"itself":         {[]handoff.Fact{file("a/b.md"), moved("a/b.md", "a/c.md")}, "a/c.md"},
		"its directory":  {[]handoff.Fact{file("a/b/c.md"), moved("a", "z")}, "z/b/c.md"},
		"on":             {[]handoff.Fact{file("a/b.md"), moved("a", "z/a"), moved("z", "y")}, "y/a/b.md"},
		"there and back": {[]handoff.Fact{file("a/b.md"), moved("a", "z"), moved("z", "a")}, "a/b.md"},
		"twice":          {[]handoff.Fact{file("a/b.md"), moved("a", "z"), moved("z", "a"), moved("a", "y")}, "y/b.md"},
		// the second a is another directory
		"only the first": {[]handoff.Fact{file("a/b.md"), moved("a", "z"), moved("a", "y")}, "z/b.md"},
		"to itself":      {[]handoff.Fact{file("a/b.md"), moved("a", "a")}, "a/b.md"},
		"into itself":    {[]handoff.Fact{file("a/b.md"), moved("a", "a/a")}, "a/a/b.md"},
		"out of it": {[]handoff.Fact{file("a/b.md"), moved("a", "../z"), moved("a", "/z"), moved("a", "z/../../y"),
			moved("a", ".")}, "a/b.md"},
		"no path": {[]handoff.Fact{file(""), moved("a", "z")}, ""},
		"nowhere": {[]handoff.Fact{file("a/b.md"), moved("a", ""), moved("", "z")}, "a/b.md"},
	} {
		m := fold.NewMemory()
		var records []handoff.Record
		for i, f := range tt.facts {
			records = append(records, handoff.Record{Version: 1, ID: fmt.Sprintf("art_%026d", i), Fact: f})
		}
		if err := m.Apply(t.Context(), logtest.Placed(records)...); err != nil {
			t.Fatal(err)
		}
		if a, err := m.Artifact(t.Context(), records[0].ID); err != nil || a.Path != tt.want {
			t.Errorf("%s: the path is %s, %v, want %s", name, a.Path, err, tt.want)
		}
	}
	before := []handoff.Record{{Version: 1, ID: "rec_1", Fact: moved("a", "z")},
		{Version: 1, ID: "art_00000000000000000000000001", Fact: file("a/b.md")}}
	m := fold.NewMemory()
	if err := m.Apply(t.Context(), logtest.Placed(before)...); err != nil {
		t.Fatal(err)
	}
	if a, err := m.Artifact(t.Context(), before[1].ID); err != nil || a.Path != "a/b.md" {
		t.Errorf("published after the move: the path is %s, %v, want a/b.md", a.Path, err)
	}
}
