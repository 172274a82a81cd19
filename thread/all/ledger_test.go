package all_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
)

// A sent is one answer of a scripted server.
type sent struct {
	N     string
	Model string
	Usage struct{ In, Cr, Cw, Out int64 }
	Extra struct {
		Iterations []struct {
			Type       string
			Model      string
			Input      int64 `json:"input_tokens"`
			Output     int64 `json:"output_tokens"`
			CacheRead  int64 `json:"cache_read_input_tokens"`
			CacheWrite int64 `json:"cache_creation_input_tokens"`
		}
	}
	Tools []string
}

// uses returns what the answer used, by model.
func (s sent) uses() []thread.ModelUsage {
	list := []thread.ModelUsage{{Model: s.Model, Tokens: thread.Tokens{Input: s.Usage.In, CacheRead: s.Usage.Cr,
		CacheWrite: s.Usage.Cw, Output: s.Usage.Out, Calls: 1}}}
	for _, i := range s.Extra.Iterations {
		if i.Type == "advisor_message" {
			list = append(list, thread.ModelUsage{Model: i.Model, Tokens: thread.Tokens{Input: i.Input,
				CacheRead: i.CacheRead, CacheWrite: i.CacheWrite, Output: i.Output, Calls: 1}})
		}
	}
	return list
}

// A ledger is the answers of one scripted server, by number.
type ledger map[int]sent

func readLedger(t *testing.T, home string) ledger {
	b, err := os.ReadFile(threadtest.Ledgers(t, home, "ledger.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []sent
	if err := json.Unmarshal(b, &list); err != nil || len(list) == 0 {
		t.Fatalf("%s: %d answers, %v", home, len(list), err)
	}
	l := ledger{}
	for _, s := range list {
		n, err := strconv.Atoi(s.N)
		if err != nil {
			t.Fatal(err)
		}
		l[n] = s
	}
	return l
}

// A recorded is what a thread of a home must be.
type recorded struct {
	thread     string // its URI without the scheme
	status     thread.Status
	answers    []int             // of the ledger, which the thread's records have
	unrecorded []int             // which belong to it, but are in no record of their own
	agents     []string          // IDs of its subagents
	calls      map[string]string // by ID: "failed", the exit status, or "" if it succeeded
	model      string            // how the program names the model, if not as its server does
	noWrites   bool              // the protocol of its provider has no cache writes
}

// TestLedgers compares threads of newer versions of the programs with what a scripted
// server sent them.
func TestLedgers(t *testing.T) {
	homes, threads := 0, 0
	for home, list := range homesWithLedger() {
		l, used := readLedger(t, home), map[int]bool{}
		root := threadtest.Ledgers(t, home, "home")
		threadtest.CheckUnchanged(t, root)
		set := thread.NewSet(all.Drivers(), func(string) string { return "" }, root)
		homes++
		for _, want := range list {
			threads++
			t.Run(home+" "+want.thread, func(t *testing.T) {
				if diff := want.differences(t, set, l); len(diff) > 0 {
					t.Error(strings.Join(diff, "\n"))
				}
			})
			for _, n := range slices.Concat(want.answers, want.unrecorded) {
				if used[n] {
					t.Errorf("%s: answer %d belongs to two threads", home, n)
				}
				used[n] = true
			}
		}
		if len(used) != len(l) {
			t.Errorf("%s: %d answers belong to threads, want %d", home, len(used), len(l))
		}
	}
	t.Logf("compared %d threads of %d homes", threads, homes)
}

// differences returns how the thread that is read differs from w.
func (w recorded) differences(t *testing.T, set *thread.Set, l ledger) []string {
	u, err := thread.ParseURI(w.thread)
	if err != nil {
		t.Fatal(err)
	}
	v, err := set.Open(t.Context(), u)
	if err != nil {
		return []string{err.Error()}
	}
	read := v.Thread
	if v.Agent != nil {
		read = v.Agent.Thread
	}
	if read == nil {
		return []string{"no transcript"}
	}
	var calls []thread.Call
	err = read.Read(t.Context(), thread.Tools, func(m thread.Message) error {
		if !m.Inherited {
			calls = append(calls, m.Tools...)
		}
		return nil
	})
	if err == nil {
		err = v.LoadAgents(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	state := read.State
	if v.Agent != nil {
		state = v.Agent.State
	}
	diff := append(w.compareUsage(read.Usage, l), w.compareCalls(calls, l)...)
	if state.Status != w.status {
		diff = append(diff, fmt.Sprintf("status: got %s (%s), want %s", state.Status, state.Evidence, w.status))
	}
	var agents []string
	for _, a := range v.Agents {
		agents = append(agents, a.ID)
	}
	slices.Sort(agents)
	if want := slices.Sorted(slices.Values(w.agents)); v.Agent == nil && !slices.Equal(agents, want) {
		diff = append(diff, fmt.Sprintf("subagents: got %q, want %q", agents, want))
	}
	return diff
}

// compareUsage returns how got differs from the answers of l. Only a usage that has all
// of them may be exact.
func (w recorded) compareUsage(got thread.Usage, l ledger) []string {
	var inRecords, all thread.Usage
	for _, n := range w.answers {
		w.add(&inRecords, l[n])
		w.add(&all, l[n])
	}
	for _, n := range w.unrecorded {
		w.add(&all, l[n])
	}
	got = plain(got)
	if sameUsage(got, all) {
		return nil
	}
	if len(w.unrecorded) > 0 && sameUsage(got, inRecords) && got.Completeness != thread.Exact {
		return nil
	}
	return []string{fmt.Sprintf("usage: got %s %+v, want %+v, of which %d requests are in no record", got.Completeness,
		got.Models, all.Models, len(w.unrecorded))}
}

// add adds what an answer used to u.
func (w recorded) add(u *thread.Usage, s sent) {
	for _, m := range s.uses() {
		if w.noWrites {
			m.CacheWrite = 0
		}
		if w.model != "" {
			m.Model = w.model
		}
		u.Add("", m.Model, m.Tokens)
	}
}

// plain returns u with what the ledger has: models without a provider or a tier, and no
// costs.
func plain(u thread.Usage) thread.Usage {
	p := thread.Usage{Completeness: u.Completeness}
	for _, m := range u.Models {
		m.Cost = 0
		m.CacheWrite1h = 0
		m.Reasoning = 0
		p.Add("", strings.TrimSuffix(m.Model, "-priority"), m.Tokens)
	}
	return p
}

// sameUsage reports whether two usages have the same tokens and requests of the same
// models.
func sameUsage(a, b thread.Usage) bool {
	byModel := func(x, y thread.ModelUsage) int { return strings.Compare(x.Model, y.Model) }
	return slices.Equal(slices.SortedFunc(slices.Values(a.Models), byModel), slices.SortedFunc(slices.Values(b.Models),
		byModel))
}

// compareCalls returns how the calls of a thread differ from the tools that the server
// called, and from w.calls.
func (w recorded) compareCalls(got []thread.Call, l ledger) (diff []string) {
	names, byID := map[string]int{}, map[string]thread.Call{}
	for _, c := range got {
		names[c.Name]++
		byID[c.ID] = c
	}
	for _, n := range w.answers {
		for _, name := range l[n].Tools {
			if names[name]--; names[name] < 0 {
				diff = append(diff, fmt.Sprintf("call of %s in answer %d: not read", name, n))
			}
		}
	}
	for id, want := range w.calls {
		c, ok := byID[id]
		switch {
		case !ok:
			diff = append(diff, fmt.Sprintf("call %s: not read", id))
		case want == "failed" && !c.Failed && (c.Exit == nil || *c.Exit == 0), want == "" && c.Failed:
			diff = append(diff, fmt.Sprintf("call %s: got failed %t, want %q", id, c.Failed, want))
		case want != "failed" && want != "" && (c.Exit == nil || strconv.Itoa(*c.Exit) != want):
			diff = append(diff, fmt.Sprintf("call %s: got exit status %v, want %s", id, c.Exit, want))
		}
	}
	slices.Sort(diff)
	return diff
}
