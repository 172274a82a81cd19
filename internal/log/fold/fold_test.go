package fold_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
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
	chosen    []edge            // acceptances that count
	compared  []edge            // all acceptances
	accepted  map[string]string // by artifact: the ID of the newest acceptance
}

// An edge states that an artifact was chosen over another one.
type edge struct{ by, over string }

func newOracle(records []handoff.Record) oracle {
	o := oracle{published: map[string]*handoff.ArtifactPublished{}, withdrawn: map[string]bool{},
		reason: map[string]string{}, threads: map[string]string{}, accepted: map[string]string{}}
	keys, seen := map[string]bool{}, map[string]bool{}
	for _, r := range records {
		if seen[r.ID] {
			continue
		}
		seen[r.ID] = true
		switch f := r.Fact.(type) {
		case *handoff.ArtifactAccepted:
			o.accept(r.ID, f)
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

// accept adds an acceptance. Every artifact that it names and that was not published is
// ignored.
func (o *oracle) accept(id string, f *handoff.ArtifactAccepted) {
	if o.published[f.ArtifactID] == nil {
		return
	}
	o.accepted[f.ArtifactID] = id
	for _, over := range f.Over {
		e := edge{f.ArtifactID, over}
		if o.published[over] == nil || over == f.ArtifactID {
			continue
		}
		o.compared = append(o.compared, e)
		if slices.ContainsFunc(o.chosen, func(c edge) bool { return c.by == e.by && c.over == over }) ||
			slices.Contains(o.reachable(f.ArtifactID, o.names), over) {
			continue
		}
		// Take back what was known, on every way from the artifact to the other one.
		on := func(c edge) bool {
			up := append(o.reachable(f.ArtifactID, o.supersedes), f.ArtifactID)
			return slices.Contains(up, c.over) && (c.by == over || slices.Contains(o.reachable(c.by, o.supersedes), over))
		}
		var known, rest []edge
		for _, c := range o.chosen {
			if on(c) && slices.Contains(f.Known, o.accepted[c.by]) {
				known = append(known, c)
			} else {
				rest = append(rest, c)
			}
		}
		o.chosen = rest
		for _, c := range known {
			if !slices.ContainsFunc(o.chosen, func(e edge) bool { return e.by == c.by }) {
				delete(o.accepted, c.by)
			}
		}
		if slices.Contains(o.reachable(f.ArtifactID, o.supersedes), over) {
			rest = nil
			for _, c := range o.chosen {
				if !on(c) {
					rest = append(rest, c)
				}
			}
			o.chosen = rest
			continue
		}
		o.chosen = append(o.chosen, e)
	}
}

// names reports whether b names a in Replaces, and came after it.
func (o oracle) names(b, a string) bool {
	return slices.Index(o.order, b) > slices.Index(o.order, a) && slices.Contains(o.published[b].Replaces, a)
}

// supersedes reports whether b replaces a or was chosen over it.
func (o oracle) supersedes(b, a string) bool { return o.names(b, a) || o.chose(b, a) }

func (o oracle) chose(b, a string) bool {
	return slices.ContainsFunc(o.chosen, func(c edge) bool { return c.by == b && c.over == a })
}

// reachable returns all that is above a, directly or through others.
func (o oracle) reachable(a string, above func(b, a string) bool) (list []string) {
	for todo := []string{a}; len(todo) > 0; todo = todo[1:] {
		for _, b := range o.order {
			if above(b, todo[0]) && !slices.Contains(list, b) {
				list, todo = append(list, b), append(todo, b)
			}
		}
	}
	return list
}

func (o oracle) status(a string) handoff.Status {
	if o.withdrawn[a] {
		return handoff.Withdrawn
	}
	for _, b := range o.reachable(a, o.supersedes) {
		if !o.withdrawn[b] {
			return handoff.Superseded
		}
	}
	if p := o.published[a]; p.Name != "" && o.head(p) != a {
		return handoff.Superseded
	}
	return handoff.Active
}

// head returns the newest revision of a name that is neither withdrawn nor passed over.
func (o oracle) head(p *handoff.ArtifactPublished) string {
	same := func(id string) bool {
		return o.published[id].Name == p.Name && o.published[id].Namespace == p.Namespace
	}
	var passed func(a string) bool
	passed = func(a string) bool {
		return slices.ContainsFunc(o.order, func(b string) bool {
			return same(b) && o.chose(b, a) && !o.withdrawn[b] && !passed(b)
		})
	}
	for _, b := range slices.Backward(o.order) {
		if same(b) && !o.withdrawn[b] && !passed(b) {
			return b
		}
	}
	return ""
}

// family returns all that is joined to a by Replaces, in either direction.
func (o oracle) family(a string) []string { return o.joined(a, o.names) }

func (o oracle) joined(a string, by func(b, a string) bool) []string {
	list := []string{a}
	for i := 0; i < len(list); i++ {
		for _, b := range o.order {
			if (by(b, list[i]) || by(list[i], b)) && !slices.Contains(list, b) {
				list = append(list, b)
			}
		}
	}
	return list
}

// group returns what a is connected with by Replaces or acceptances.
func (o oracle) group(a string) []string {
	return o.joined(a, func(b, a string) bool {
		return o.names(b, a) || slices.ContainsFunc(o.compared, func(c edge) bool { return c.by == b && c.over == a })
	})
}

func (o oracle) competing(a string) []string {
	var list []string
	for _, b := range o.group(a) {
		if b != a && o.status(a) == handoff.Active && o.status(b) == handoff.Active {
			list = append(list, b)
		}
	}
	slices.Sort(list)
	return list
}

// checkAcceptance checks what acceptances say about an artifact.
func (o oracle) checkAcceptance(t tester, a handoff.Artifact) {
	want := ""
	chose := slices.ContainsFunc(o.chosen, func(c edge) bool { return c.by == a.ID })
	if a.Status == handoff.Active || chose {
		want = o.accepted[a.ID]
	}
	got, over := "", []string(nil)
	if a.Acceptance != nil {
		got, over = a.Acceptance.ID, a.Acceptance.Over
	}
	if got != want {
		t.Errorf("acceptance of %s: %q, want %q", a.ID, got, want)
	}
	for _, b := range o.order {
		if want != "" && slices.Contains(over, b) != o.chose(a.ID, b) {
			t.Errorf("%s was chosen over %v; over %s: %v", a.ID, over, b, !slices.Contains(over, b))
		}
	}
	notChosen := slices.ContainsFunc(o.order, func(b string) bool {
		return o.chose(b, a.ID) && (!o.withdrawn[b] || o.status(a.ID) == handoff.Superseded &&
			slices.ContainsFunc(o.reachable(b, o.supersedes), func(c string) bool { return !o.withdrawn[c] }))
	})
	if a.Status == handoff.Superseded && (a.Reason == handoff.NotChosen) != notChosen {
		t.Errorf("%s is superseded with the reason %q; not chosen: %v", a.ID, a.Reason, notChosen)
	}
}

// A tester is a test, or one case of a property.
type tester interface {
	rapid.TB
	Context() context.Context
}

func memoryOf(t tester, records []handoff.Record) *logtest.Reference {
	m := logtest.NewReference()
	if err := m.Apply(t.Context(), records...); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestAcceptanceStays takes back an acceptance that a later one contradicts, and no other one
// of which its author knew.
func TestAcceptanceStays(t *testing.T) {
	publish := func(id string, replaces ...string) handoff.Record {
		return handoff.Record{Version: 1, ID: id, Fact: &handoff.ArtifactPublished{Channel: "patch", Path: id + ".diff",
			Replaces: replaces}}
	}
	accept := func(id, artifact string, over, known []string) handoff.Record {
		return handoff.Record{Version: 1, ID: id,
			Fact: &handoff.ArtifactAccepted{ArtifactID: artifact, Over: over, Known: known}}
	}
	records := logtest.Placed([]handoff.Record{
		publish("art_A"), publish("art_X"), publish("art_Y", "art_X"),
		accept("rec_1", "art_X", []string{"art_A"}, nil), accept("rec_2", "art_Y", nil, nil),
		accept("rec_3", "art_A", []string{"art_Y"}, []string{"rec_1", "rec_2"}),
		{Version: 1, ID: "rec_4", Fact: &handoff.ArtifactWithdrawn{ArtifactID: "art_A"}},
	})
	m, o := memoryOf(t, records), newOracle(records)
	for id, want := range map[string]string{"art_X": "", "art_Y": "rec_2"} {
		a, err := m.Artifact(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		o.checkAcceptance(t, a)
		if a.Acceptance == nil && want != "" || a.Acceptance != nil && a.Acceptance.ID != want {
			t.Errorf("acceptance of %s: got %+v, want %q", id, a.Acceptance, want)
		}
	}
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
			o.checkAcceptance(t, a)
			if want := o.reason[id]; a.Status != handoff.Superseded && a.Reason != want {
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
// produced: an artifact stays after those that it replaces, an acceptance after those that it
// names, and records of which
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
		if f, ok := r.Fact.(*handoff.ArtifactAccepted); ok && other {
			return f.ArtifactID == earlier.ID || slices.Contains(f.Over, earlier.ID)
		}
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
		got := logtest.NewReference()
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
	m := logtest.NewReference()
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
		m := logtest.NewReference()
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
	m := logtest.NewReference()
	if err := m.Apply(t.Context(), logtest.Placed(before)...); err != nil {
		t.Fatal(err)
	}
	if a, err := m.Artifact(t.Context(), before[1].ID); err != nil || a.Path != "a/b.md" {
		t.Errorf("published after the move: the path is %s, %v, want a/b.md", a.Path, err)
	}
}
