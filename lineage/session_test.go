package lineage_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"unicode"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/lineage"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(name); err != nil || got != string(want) {
		t.Errorf("got\n%s\nwant %s\n%s, %v", got, name, want, err)
	}
}

func TestOfSession(t *testing.T) {
	m := logtest.NewReference()
	var records []handoff.Record
	add := func(f handoff.Fact, typ string) {
		records = append(records, handoff.Record{Version: 1, Type: typ, ID: strconv.Itoa(len(records)), Fact: f})
	}
	for _, id := range []string{"a", "b", "c", "d", "e", "apart"} {
		add(&handoff.SessionOpened{SessionID: id, Agent: handoff.SessionAgent{Name: id},
			Workflow: handoff.SessionWorkflow{Name: "w"}}, "session.opened")
	}
	// e → c → b → a, b → missing; d → b; c, d and e are a cycle: c → d → e
	for _, link := range [][2]string{{"b", "a"}, {"c", "b"}, {"e", "c"}, {"b", "missing"}, {"d", "b"}, {"c", "d"},
		{"d", "e"}} {
		add(&handoff.SessionLinked{SessionID: link[0], To: link[1]}, "session.linked")
	}
	if err := m.Apply(t.Context(), logtest.Placed(records)...); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		id     string
		nodes  []string
		cycles [][]string
	}{
		{"b", []string{"a", "b", "c", "d", "e", "missing"}, [][]string{{"c", "d", "e"}}},
		{"a", []string{"a", "b", "c", "d", "e"}, [][]string{{"c", "d", "e"}}},
		{"apart", []string{"apart"}, nil},
	} {
		g, err := lineage.OfSession(t.Context(), m, tt.id)
		if err != nil {
			t.Fatal(err)
		}
		var nodes []string
		for _, n := range g.Nodes {
			nodes = append(nodes, n.ID)
			if (n.ID == "missing") != (n.Status == "unresolved") {
				t.Errorf("node %s has status %q", n.ID, n.Status)
			}
		}
		slices.Sort(nodes)
		for _, c := range g.Cycles {
			slices.Sort(c)
		}
		if !slices.Equal(nodes, tt.nodes) || !slices.EqualFunc(g.Cycles, tt.cycles, slices.Equal) {
			t.Errorf("OfSession(%s) = nodes %v, cycles %v, want %v, %v", tt.id, nodes, g.Cycles, tt.nodes, tt.cycles)
		}
		seen := map[lineage.Edge]bool{}
		for _, e := range g.Edges {
			if seen[e] || !slices.Contains(nodes, e.From) || !slices.Contains(nodes, e.To) {
				t.Errorf("OfSession(%s): edge %v is duplicate or has an unknown end", tt.id, e)
			}
			seen[e] = true
		}
		golden(t, tt.id+".golden", g.Tree(tt.id)+"\n"+g.DOT()+"\n"+g.Mermaid())
	}
	if _, err := lineage.OfSession(t.Context(), m, "nowhere"); err == nil {
		t.Error("OfSession of an unknown session succeeded")
	}
}

// TestSessionChain checks that time, memory and text are linear in the length of a
// chain of sessions, as a workflow leaves it that runs every night.
func TestSessionChain(t *testing.T) {
	var allocated []uint64
	var printed []int
	for _, n := range []int{500, 1000, 2000} {
		m := logtest.NewReference()
		var records []handoff.Record
		for i := range n {
			id := fmt.Sprintf("night%05d", i)
			opened := &handoff.SessionOpened{SessionID: id}
			records = append(records, handoff.Record{Version: 1, ID: "opened " + id, Fact: opened})
			if i%100 != 0 {
				link := &handoff.SessionLinked{SessionID: id, To: fmt.Sprintf("night%05d", i-1)}
				records = append(records, handoff.Record{Version: 1, ID: "linked " + id, Fact: link})
			} else if i > 0 { // the last hundred sessions build on each other
				ahead := &handoff.SessionLinked{SessionID: fmt.Sprintf("night%05d", i-100), To: fmt.Sprintf("night%05d", i-1)}
				behind := &handoff.SessionLinked{SessionID: id, To: fmt.Sprintf("night%05d", i-1)}
				records = append(records, handoff.Record{Version: 1, ID: "ahead " + id, Fact: ahead},
					handoff.Record{Version: 1, ID: "behind " + id, Fact: behind})
			}
		}
		if err := m.Apply(t.Context(), logtest.Placed(records)...); err != nil {
			t.Fatal(err)
		}
		last := fmt.Sprintf("night%05d", n-1)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		g, err := lineage.OfSession(t.Context(), m, last)
		printed = append(printed, len(g.Tree(last)))
		runtime.ReadMemStats(&after)
		allocated = append(allocated, after.TotalAlloc-before.TotalAlloc)
		if err != nil || len(g.Nodes) != n || len(g.Cycles) != n/100-1 || len(g.Cycles[0]) != 100 {
			t.Fatalf("%d sessions: %d nodes, %d cycles, %v", n, len(g.Nodes), len(g.Cycles), err)
		}
	}
	for i := range 2 {
		if allocated[i+1] > 3*allocated[i] || printed[i+1] > 3*printed[i] {
			t.Errorf("twice the sessions: %d bytes allocated, %d printed; before %d and %d",
				allocated[i+1], printed[i+1], allocated[i], printed[i])
		}
	}
	t.Log(allocated, printed)
}

// TestHostileGraph checks that no text of a record controls the terminal.
func TestHostileGraph(t *testing.T) {
	const bad = "x\x1b]52;c;AAAA\x07\u009b2J\u202e"
	g := lineage.Graph{
		Nodes: []lineage.Node{{ID: bad, Label: bad, Status: bad}, {ID: "a", Label: "a", Status: "completed"}},
		Edges: []lineage.Edge{{From: bad, To: "a", Kind: bad}},
	}
	for format, text := range map[string]string{"tree": g.Tree(bad), "dot": g.DOT(), "mermaid": g.Mermaid()} {
		for _, r := range text {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Errorf("%s has %U: %q", format, r, text)
			}
		}
	}
}
