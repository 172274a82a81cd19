package threadtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

// CheckStoredUsage checks that the usage of each stored transcript, read alone, is the
// one that loading its threads gives.
func CheckStoredUsage(t testing.TB, p thread.Provider) {
	t.Helper()
	for s, err := range thread.StoredIn(t.Context(), "any", p) {
		if err != nil {
			continue
		}
		if _, ok := s.Opener.(thread.UsageReader); !ok {
			continue
		}
		fast, fastErr := s.LoadUsage(t.Context())
		s.Opener = thread.OpenFunc(s.Open)
		loaded, err := s.LoadUsage(t.Context())
		if fmt.Sprint(fastErr) != fmt.Sprint(err) || len(fast) != len(loaded) {
			t.Errorf("%s: got %d threads, %v, want %d, %v", s.Key, len(fast), fastErr, len(loaded), err)
			continue
		}
		for i, th := range loaded {
			if got, want := usedBy(fast[i]), usedBy(th); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got usage\n%+v, want\n%+v", s.Key, got, want)
			}
		}
	}
}

// usedBy returns what a report of usage needs of a thread.
func usedBy(th *thread.Thread) thread.Thread {
	for i := range th.Requests {
		th.Requests[i].N = 0
	}
	return thread.Thread{ID: th.ID, Source: th.Source, Parent: th.Parent, Subagent: th.Subagent,
		AgentName: th.AgentName, AgentRole: th.AgentRole, Cwd: th.Cwd, Started: th.Started,
		ForkedFrom: th.ForkedFrom, Family: th.Family,
		Facts: thread.Facts{Usage: th.Usage, Inherited: th.Inherited, Requests: th.Requests, Spawned: th.Spawned}}
}

// mutations change the lines of a transcript. Some leave it valid.
var mutations = []func(r *rand.Rand, lines []string, i int) string{
	func(_ *rand.Rand, lines []string, i int) string { return lines[i] + lines[(i+1)%len(lines)] },
	func(_ *rand.Rand, lines []string, i int) string { return lines[i] + " \t" + lines[(i+1)%len(lines)] },
	func(r *rand.Rand, lines []string, i int) string {
		return lines[i][:r.IntN(len(lines[i])+1)] + lines[r.IntN(len(lines))]
	},
	func(r *rand.Rand, lines []string, i int) string { return lines[i][:r.IntN(len(lines[i])+1)] },
	func(r *rand.Rand, lines []string, i int) string { return lines[i][r.IntN(len(lines[i])+1):] },
	func(r *rand.Rand, lines []string, i int) string { return lines[r.IntN(len(lines))] },
	func(_ *rand.Rand, lines []string, i int) string { return lines[i] + "\n" + lines[i] },
	func(_ *rand.Rand, lines []string, i int) string { return strings.ReplaceAll(lines[i], `":`, "\" :\t") },
	func(_ *rand.Rand, lines []string, i int) string { return strings.ReplaceAll(lines[i], `,"`, ` , "`) },
	func(_ *rand.Rand, lines []string, i int) string {
		return strings.ReplaceAll(lines[i], `"usage"`, `"\u0075sage"`)
	},
	func(_ *rand.Rand, lines []string, i int) string {
		return strings.ReplaceAll(lines[i], `"type"`, `"t\u0079pe"`)
	},
	func(_ *rand.Rand, lines []string, i int) string {
		return strings.ReplaceAll(lines[i], `assistant"`, `\u0061ssistant"`)
	},
	func(r *rand.Rand, lines []string, i int) string { // another type, first or last
		kind := []string{"assistant", "user", "event_msg", "progress", "session_meta"}[r.IntN(5)]
		if r.IntN(2) == 0 {
			return `{"type":"` + kind + `",` + strings.TrimPrefix(lines[i], "{")
		}
		return strings.TrimSuffix(lines[i], "}") + `,"type":"` + kind + `"}`
	},
	func(r *rand.Rand, lines []string, i int) string { // members in another order
		parts := strings.Split(lines[i], `,"`)
		r.Shuffle(len(parts), func(a, b int) { parts[a], parts[b] = parts[b], parts[a] })
		return strings.Join(parts, `,"`)
	},
	func(r *rand.Rand, lines []string, i int) string { // one byte
		b := []byte(lines[i])
		if len(b) > 0 {
			b[r.IntN(len(b))] = "\"\\{}[]:,x0\x00\xff"[r.IntN(12)]
		}
		return string(b)
	},
}

// CheckMutatedUsage calls CheckStoredUsage for home directories that write creates,
// after changes of lines in all transcripts.
func CheckMutatedUsage(t *testing.T, d thread.Driver, rounds int, write func(home string)) {
	t.Helper()
	home := t.TempDir()
	write(home)
	originals := map[string][]byte{}
	err := filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".jsonl" {
			originals[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil || len(originals) == 0 {
		t.Fatalf("%d transcripts, %v", len(originals), err)
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		for _, path := range slices.Sorted(maps.Keys(originals)) {
			lines := strings.Split(string(bytes.TrimSuffix(originals[path], []byte("\n"))), "\n")
			if seed%2 == 0 { // more lines than those that describe a thread
				lines = slices.Repeat(lines, 1+40/len(lines))
			}
			for range 1 + r.IntN(3) {
				i := r.IntN(len(lines))
				lines[i] = mutations[r.IntN(len(mutations))](r, lines, i)
			}
			end := []string{"\n", ""}[r.IntN(2)]
			if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+end), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if CheckStoredUsage(t, Open(t, d, home)); t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}
