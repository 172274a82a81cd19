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

// Shared returns the path of real transcripts, or of what other readers made of
// them, which lie beside the repository where there are any. It skips the test
// where there are none.
func Shared(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("not inside the module")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(filepath.Dir(dir), "shared", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no real transcripts here: %v", err)
	}
	return path
}

// Expected reads the figures that an independent program found in the real
// transcripts of one provider, by path below the transcripts' folder.
func Expected(t testing.TB, provider string) map[string]json.RawMessage {
	t.Helper()
	b, err := os.ReadFile(Shared(t, "fixtures/transcripts/EXPECTED.json"))
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

// Homes returns the folders of real transcripts of one provider that hold a
// directory of this name, as a user's home does.
func Homes(t testing.TB, provider, dir string) []string {
	t.Helper()
	var homes []string
	err := filepath.WalkDir(Shared(t, "fixtures/transcripts/"+provider), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && filepath.Base(path) == filepath.Base(dir) && strings.HasSuffix(filepath.ToSlash(path), "/"+dir) {
			homes = append(homes, strings.TrimSuffix(path, string(filepath.Separator)+filepath.FromSlash(dir)))
		}
		return err
	})
	if err != nil || len(homes) == 0 {
		t.Fatalf("no homes: %v", err)
	}
	return homes
}

// A Scenario is a session that was watched while it was recorded.
type Scenario struct {
	Name     string
	Sessions []string // the ids that were seen, as the watcher called them
	Phases   []string // ready, working or waiting, in order, each different from the one before
}

// Scenarios reads what a correct reader must say at each moment of the sessions
// that were watched.
func Scenarios(t testing.TB, provider string) []Scenario {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(Shared(t, "fixtures/transcripts/"+provider), "*", "_truth", "*"))
	if err != nil || len(dirs) == 0 {
		t.Skipf("no session was watched: %v", err)
	}
	var list []Scenario
	for _, dir := range dirs {
		s := Scenario{Name: filepath.Base(dir)}
		eachLine(t, filepath.Join(dir, "expected.jsonl"), func(v map[string]any) {
			if state, _ := v["expected_state"].(string); state != "" && (len(s.Phases) == 0 || s.Phases[len(s.Phases)-1] != state) {
				s.Phases = append(s.Phases, state)
			}
		})
		eachLine(t, filepath.Join(dir, "events.jsonl"), func(v map[string]any) {
			if id, _ := v["session_id"].(string); id != "" && !strings.HasPrefix(id, "proc-") && !slices.Contains(s.Sessions, id) {
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

// Replay writes the transcript source, a path below home, again below another
// home, line by line, and returns the phases that a watcher would see.
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

// Phase says a state in the watchers' words.
func Phase(s thread.State) string {
	switch {
	case s.Waiting != "":
		return "waiting"
	case s.Status == thread.Running:
		return "working"
	}
	return "ready"
}

// Agree returns how many of the phases that were expected were seen in order.
// A phase that was seen and not expected is not counted.
func Agree(seen, expected []string) int {
	n := 0
	for _, s := range seen {
		if n < len(expected) && expected[n] == s {
			n++
		}
	}
	return n
}
