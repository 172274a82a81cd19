package threadtest

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

// Open opens a provider for a home directory, without environment variables.
func Open(t testing.TB, d thread.Driver, home string) thread.Provider {
	t.Helper()
	p, err := d.Open(d.Roots(func(string) string { return "" }, home))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Load finds a thread and loads it.
func Load(t testing.TB, p thread.Provider, id string) *thread.Thread {
	t.Helper()
	th, err := p.Thread(t.Context(), id)
	if err == nil {
		err = th.Load(t.Context())
	}
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	return th
}

// Calls returns the calls of a thread.
func Calls(t testing.TB, p thread.Provider, id string) (calls []thread.Call) {
	t.Helper()
	err := Load(t, p, id).Read(t.Context(), thread.Tools, func(m thread.Message) error {
		calls = append(calls, m.Tools...)
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	return calls
}

// WriteFile writes a file and creates its directories. The elements of its path are
// joined and may contain forward slashes.
func WriteFile(t testing.TB, body string, path ...string) {
	t.Helper()
	name := filepath.FromSlash(filepath.Join(path...))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	os.Remove(name) // overwriting a file is slow on some file systems
	if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
}

// CheckThread reads a thread with any transcript, and its subagents. There must be no
// error, no gap in the numbers of messages, no negative count and no missing status.
// It returns the messages as "role: text".
func CheckThread(t testing.TB, p thread.Provider, id string) []string {
	t.Helper()
	th, err := p.Thread(t.Context(), id)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	said, calls := Messages(t, th)
	if len(said) != th.Messages || len(calls) < th.ToolCalls {
		t.Errorf("%s: got %d messages and %d calls, want %d and %d or more", id, len(said), len(calls), th.Messages,
			th.ToolCalls)
	}
	if th.State.Status == "" || th.State.Evidence == "" || th.Usage.Completeness == "" {
		t.Errorf("%s: got %+v", id, th.Facts)
	}
	sums := []thread.Tokens{th.Usage.Tokens, th.Inherited}
	for _, m := range th.Usage.Models {
		sums = append(sums, m.Tokens)
	}
	for _, u := range sums {
		if slices.Min([]int64{u.Input, u.CacheRead, u.CacheWrite, u.CacheWrite1h, u.Output, u.Reasoning,
			int64(u.Calls)}) < 0 || u.Cost < 0 {
			t.Errorf("%s: got usage %+v", id, u)
		}
	}
	checkRequests(t, th)
	agents, err := p.Agents(t.Context(), th)
	if err != nil {
		t.Errorf("%s: agents: %v", id, err)
	}
	for _, a := range agents {
		if a.ID == "" || a.State.Status == "" || a.State.Evidence == "" {
			t.Errorf("%s: got agent %+v", id, a)
		}
	}
	return said
}

// checkRequests checks that the requests of a thread add up to its usage.
func checkRequests(t testing.TB, th *thread.Thread) {
	t.Helper()
	type model struct{ provider, name string }
	left := map[model]thread.Tokens{}
	for _, m := range th.Usage.Models {
		left[model{m.Provider, m.Model}] = m.Tokens
	}
	for i, r := range th.Requests {
		if r.N < 0 || r.N > th.Messages || (i > 0 && r.N < th.Requests[i-1].N) {
			t.Errorf("%s: request %d has message %d of %d", th.ID, i, r.N, th.Messages)
		}
		of := model{r.Provider, r.Model}
		rest := left[of]
		rest.Add(thread.Tokens{Input: -r.Input, CacheRead: -r.CacheRead, CacheWrite: -r.CacheWrite,
			CacheWrite1h: -r.CacheWrite1h,
			Output:       -r.Output, Reasoning: -r.Reasoning, Calls: -r.Calls, Cost: -r.Cost})
		left[of] = rest
	}
	for of, rest := range left {
		if math.Abs(rest.Cost) < 1e-6 {
			rest.Cost = 0 // the order of additions
		}
		if rest != (thread.Tokens{}) {
			t.Errorf("%s: the requests to %s add up to the usage except %+v", th.ID, of.name, rest)
		}
	}
}

// AddSeeds adds every file in dir whose name matches pattern to the corpus of a fuzz
// target with one argument, without very long lines.
func AddSeeds(f *testing.F, dir, pattern string) {
	f.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ok, _ := filepath.Match(pattern, filepath.Base(path)); err != nil || d.IsDir() || !ok {
			return err
		}
		const long = 4 << 10
		b, err := os.ReadFile(path)
		var seed []byte
		for line := range bytes.Lines(b) {
			if len(line) <= long {
				seed = append(seed, line...)
			}
		}
		f.Add(seed)
		n++
		return err
	})
	if err != nil || n == 0 {
		f.Fatalf("%d seeds, %v", n, err)
	}
}

// CheckUsage checks the usage of a thread that has been loaded. reason is part of
// the reason why the usage is not exact.
func CheckUsage(t testing.TB, th *thread.Thread, want thread.Tokens, complete thread.Completeness, reason string) {
	t.Helper()
	if u := th.Usage; u.Tokens != want || u.Completeness != complete || !strings.Contains(u.Reason, reason) ||
		reason == "" != (u.Reason == "") {
		t.Errorf("got usage %+v, %s: %q, want %+v, %s: %q", u.Tokens, u.Completeness, u.Reason, want, complete, reason)
	}
}

// ReadFile reads a file.
func ReadFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
