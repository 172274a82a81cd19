package threadtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

// A Ledger is the answers of a scripted server, by number.
type Ledger map[int]thread.Tokens

// Clients returns a path in the directory of the homes of real clients. It skips the
// test if HANDOFF_CLIENTS is not set.
func Clients(t testing.TB, path ...string) string {
	t.Helper()
	return optional(t, "HANDOFF_CLIENTS", "homes of real clients", path)
}

// Ledgers returns a path of a client in the directory of homes that newer versions of
// the programs left, which is beside that of Clients. There each client has a home
// beside its ledger. It skips the test if there is none.
func Ledgers(t testing.TB, client string, path ...string) string {
	t.Helper()
	dir := filepath.Dir(Clients(t))
	found, err := filepath.Glob(filepath.Join(dir, "*", client, "home"))
	if err != nil || len(found) == 0 {
		t.Skipf("no home of %s in a directory of %s: newer clients are not tested", client, dir)
	}
	return filepath.Join(append([]string{filepath.Dir(found[0])}, path...)...)
}

// Client returns the home directory that a real client left when a scripted server
// answered it, and the server's ledger.
func Client(t testing.TB, client string) (home string, l Ledger) {
	t.Helper()
	home = Clients(t, client)
	b, err := os.ReadFile(filepath.Join(home, "ledger.json"))
	if err != nil {
		t.Fatal(err)
	}
	var entries []struct {
		N     string
		Usage struct{ In, Cr, Cw, Out, Think int64 }
	}
	if err := json.Unmarshal(b, &entries); err != nil {
		t.Fatal(err)
	}
	l = Ledger{}
	for _, e := range entries {
		n, err := strconv.Atoi(e.N)
		if err != nil {
			t.Fatal(err)
		}
		l[n] = thread.Tokens{Input: e.Usage.In, CacheRead: e.Usage.Cr, CacheWrite: e.Usage.Cw, Output: e.Usage.Out,
			Reasoning: e.Usage.Think, Calls: 1}
	}
	return home, l
}

// Sum returns the tokens of the entries with these numbers.
func (l Ledger) Sum(n ...int) (sum thread.Tokens) {
	for _, n := range n {
		sum.Add(l[n])
	}
	return sum
}

// CheckLedger checks the thread of a real client, and its only subagent if there is
// one, against the entries of the ledger.
func CheckLedger(t *testing.T, p thread.Provider, l Ledger, id string, status thread.Status, main, sub []int) {
	t.Helper()
	th := Load(t, p, id)
	if th.Usage.Tokens != l.Sum(main...) || th.State.Status != status {
		t.Errorf("%s: got %+v, %+v, want %s, %+v", id, th.State, th.Usage, status, l.Sum(main...))
	}
	agents, err := p.Agents(t.Context(), th)
	if err != nil || (len(agents) != 0) != (len(sub) > 0) {
		t.Fatalf("%s: got agents %+v, %v", id, agents, err)
	}
	for _, a := range agents {
		if !a.Validated || a.Thread == nil || a.Thread.Usage.Tokens != l.Sum(sub...) ||
			a.State.Status != thread.Completed {
			t.Errorf("%s: got agent %+v, %+v, want %+v", id, a, a.Thread, l.Sum(sub...))
		}
	}
}

// CheckTruncated copies the transcript of a thread to an empty home directory and
// truncates it after each line and within each line, or after about 200 lines unless
// HANDOFF_LONG is set. It must be readable, and must not be completed if it ends within
// a line. It returns the number of truncations.
func CheckTruncated(t *testing.T, d thread.Driver, home string, th *thread.Thread) (n int) {
	t.Helper()
	content, err := os.ReadFile(th.Source)
	if err != nil {
		t.Fatal(err)
	}
	source, err := filepath.Rel(home, th.Source)
	if err != nil {
		t.Fatal(err)
	}
	alone := t.TempDir()
	WriteFile(t, "", alone, filepath.ToSlash(source))
	p, path := Open(t, d, alone), filepath.Join(alone, source)
	ends := []int{0}
	for i, c := range content {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	step := 1 + len(ends)/200
	if os.Getenv("HANDOFF_LONG") != "" {
		step = 1
	}
	for i := 1; i < len(ends); i += step {
		n += 2
		stateOf(t, p, th.ID, path, content[:ends[i]])
		torn := reread(t, p, th.ID, path, content[:(ends[i-1]+ends[i])/2])
		another := slices.ContainsFunc(torn.Warnings,
			func(w string) bool { return strings.Contains(w, "another thread") })
		if torn.State.Status == thread.Completed && !another {
			t.Errorf("%s: within line %d: got %s", th.ID, i, describe(torn.State))
		}
	}
	return n
}

// CheckAllTruncated calls CheckTruncated for every published thread whose file is in
// dir, and logs the numbers.
func CheckAllTruncated(t *testing.T, d thread.Driver, dir string) {
	t.Helper()
	threads, truncations := 0, 0
	for _, home := range Homes(t, d.Name, dir) {
		for th, err := range Open(t, d, home).Threads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			threads++
			truncations += CheckTruncated(t, d, home, th)
		}
	}
	t.Logf("%d transcripts truncated at %d points", threads, truncations)
}
