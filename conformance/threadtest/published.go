package threadtest

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// Transcripts returns a path in the directory of published transcripts. It skips the
// test if HANDOFF_TRANSCRIPTS is not set.
func Transcripts(t testing.TB, path ...string) string {
	t.Helper()
	return optional(t, "HANDOFF_TRANSCRIPTS", "published transcripts", path)
}

// optional returns a path in the directory that an environment variable names. The
// path must exist.
func optional(t testing.TB, env, what string, path []string) string {
	t.Helper()
	dir := os.Getenv(env)
	if dir == "" {
		t.Skipf("%s is not set: %s are not tested", env, what)
	}
	name := filepath.Join(append([]string{dir}, path...)...)
	if _, err := os.Stat(name); err != nil {
		t.Fatalf("%s: %v", env, err)
	}
	return name
}

// Expected reads the reference values of the transcripts of a provider, by path
// relative to HANDOFF_TRANSCRIPTS.
func Expected(t testing.TB, provider string) map[string]json.RawMessage {
	t.Helper()
	b, err := os.ReadFile(Transcripts(t, "EXPECTED.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(all, func(path string, _ json.RawMessage) bool { return !strings.HasPrefix(path, provider+"/") })
	return all
}

// Homes returns the directories of published transcripts of a provider that contain
// a directory of this name, as a user's home directory does.
func Homes(t testing.TB, provider, dir string) []string {
	t.Helper()
	var homes []string
	err := filepath.WalkDir(Transcripts(t, provider), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && filepath.Base(path) == filepath.Base(dir) &&
			strings.HasSuffix(filepath.ToSlash(path), "/"+dir) {
			homes = append(homes, strings.TrimSuffix(path, string(filepath.Separator)+filepath.FromSlash(dir)))
		}
		return err
	})
	if err != nil || len(homes) == 0 {
		t.Fatalf("no home directories: %v", err)
	}
	return homes
}

// A Scenario is a session that was watched while it was recorded.
type Scenario struct {
	Name     string
	Sessions []string // the watcher's names of the sessions
	Phases   []string // ready, working or waiting, in order, without repetitions
}

// Scenarios reads the asserted phases of the sessions that were watched.
func Scenarios(t testing.TB, provider string) []Scenario {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(Transcripts(t, provider), "*", "_truth", "*"))
	if err != nil || len(dirs) == 0 {
		t.Skipf("no watched sessions: %v", err)
	}
	var list []Scenario
	for _, dir := range dirs {
		s := Scenario{Name: filepath.Base(dir)}
		eachLine(t, filepath.Join(dir, "expected.jsonl"), func(v map[string]any) {
			if state, _ := v["expected_state"].(string); state != "" &&
				(len(s.Phases) == 0 || s.Phases[len(s.Phases)-1] != state) {
				s.Phases = append(s.Phases, state)
			}
		})
		eachLine(t, filepath.Join(dir, "events.jsonl"), func(v map[string]any) {
			if id, _ := v["session_id"].(string); id != "" && !strings.HasPrefix(id, "proc-") &&
				!slices.Contains(s.Sessions, id) {
				s.Sessions = append(s.Sessions, id)
			}
		})
		if len(s.Phases) > 0 {
			list = append(list, s)
		}
	}
	return list
}

func eachLine(t testing.TB, path string, do func(map[string]any)) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var v map[string]any
		if json.Unmarshal([]byte(line), &v) == nil {
			do(v)
		}
	}
}

// Replay copies a transcript line by line from one home directory to another and
// returns the phases after each line. source is its path relative to home.
func Replay(t testing.TB, d thread.Driver, home, source, id string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(home, source))
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	path := filepath.Join(copied, source)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	phases := []string{"ready"}
	for line := range strings.Lines(string(b)) {
		if _, err := f.WriteString(line); err != nil {
			t.Fatal(err)
		}
		p, err := d.Open(d.Roots(func(string) string { return "" }, copied))
		if err != nil {
			t.Fatal(err)
		}
		th, err := p.Thread(t.Context(), id)
		if errors.Is(err, handoff.NotFound) {
			continue
		}
		if err == nil {
			err = th.Load(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if now := Phase(th.State); phases[len(phases)-1] != now {
			phases = append(phases, now)
		}
	}
	return phases
}

// Phase returns the watcher's word for a state.
func Phase(s thread.State) string {
	switch {
	case s.Waiting != "":
		return "waiting"
	case s.Status == thread.Running:
		return "working"
	}
	return "ready"
}

// Agree returns how many of the expected phases were seen, in order. Additional
// phases are ignored.
func Agree(seen, expected []string) int {
	n := 0
	for _, s := range seen {
		if n < len(expected) && expected[n] == s {
			n++
		}
	}
	return n
}
