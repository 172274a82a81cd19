package threadtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

// A Real is a published transcript in a home directory of its tool.
type Real struct {
	Path     string // relative to HANDOFF_TRANSCRIPTS
	Source   string // absolute path
	Provider thread.Provider
	Sessions map[string]bool // IDs of the threads that the provider lists
	Figures  json.RawMessage // reference values from an independent program
}

// EachReal reads all threads in all home directories of a provider, whose files are
// in dir, and calls check for each transcript with reference values. The home
// directories must not be modified.
func EachReal(t *testing.T, d thread.Driver, dir string, check func(t *testing.T, r Real)) {
	base := Transcripts(t)
	figures := Expected(t, d.Name)
	n := 0
	for _, home := range Homes(t, d.Name, dir) {
		CheckUnchanged(t, home)
		p := Open(t, d, home)
		sessions := map[string]bool{}
		for th, err := range p.Threads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			sessions[th.ID] = true
			CheckThread(t, p, th.ID)
		}
		for path, b := range figures {
			source := filepath.Join(base, filepath.FromSlash(path))
			if strings.HasPrefix(source, filepath.Join(home, filepath.FromSlash(dir))+string(filepath.Separator)) {
				n++
				t.Run(path, func(t *testing.T) { check(t, Real{path, source, p, sessions, b}) })
			}
		}
	}
	if n == 0 {
		t.Error("no transcripts found")
	}
	t.Logf("read %d published transcripts", n)
}

// EachOutside calls check for each transcript with reference values that is not in
// a home directory: old versions and changed schemas.
func EachOutside(t *testing.T, provider, dir string,
	check func(t *testing.T, path, body string, figures json.RawMessage)) {
	base := Transcripts(t)
	for path, b := range Expected(t, provider) {
		if strings.Contains(path, "/"+dir+"/") {
			continue
		}
		body, err := os.ReadFile(filepath.Join(base, filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(path, func(t *testing.T) { check(t, path, string(body), b) })
	}
}

// Figures decodes reference values.
func Figures[F any](t testing.TB, b json.RawMessage) (f F) {
	t.Helper()
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// CheckChild checks that a subagent with a transcript is validated by its parent.
func CheckChild(t testing.TB, p thread.Provider, parent, id string) (a thread.Agent) {
	t.Helper()
	main, err := p.Thread(t.Context(), parent)
	if err != nil {
		t.Errorf("%s: parent: %v", id, err)
		return a
	}
	agents, err := p.Agents(t.Context(), main)
	i := slices.IndexFunc(agents, func(a thread.Agent) bool { return a.ID == id })
	if err != nil || i < 0 || !agents[i].Validated || agents[i].Thread == nil {
		t.Errorf("%s: not a validated child of %s: %+v, %v", id, parent, agents, err)
		return a
	}
	return agents[i]
}

// CheckPhases replays the sessions that were watched while they were recorded, and
// compares their phases with the asserted ones. invisible is the number of phases of
// a scenario that the transcript does not show. It returns the number of additional
// phases by scenario: not every turn has an assertion.
func CheckPhases(t *testing.T, d thread.Driver, invisible map[string]int) (more map[string]int) {
	home := Transcripts(t, d.Name, "ingo-eichhorst+Irrlicht")
	p := Open(t, d, home)
	c := Tally{More: map[string]int{}}
	outside := 0
	for _, s := range Scenarios(t, d.Name) {
		var seen []string
		for _, session := range s.Sessions {
			seen = append(seen, replayed(t, d, p, home, session)...)
		}
		if len(seen) == 0 {
			outside++ // its transcript is not in the home directory
			continue
		}
		c.Count(t, s, seen, invisible[s.Name])
	}
	c.Report(t)
	t.Logf("%d scenarios have no transcript in the home directory", outside)
	return c.More
}

// A Tally counts phases that agree with the asserted ones.
type Tally struct {
	agreed, phases int
	More           map[string]int // additional phases by scenario
}

// Count counts the phases of a scenario, of which some are invisible.
func (c *Tally) Count(t *testing.T, s Scenario, seen []string, invisible int) {
	t.Helper()
	seen = slices.Compact(seen)
	n := Agree(seen, s.Phases)
	c.agreed, c.phases = c.agreed+n, c.phases+len(s.Phases)
	if n != len(s.Phases)-invisible {
		t.Errorf("%s: got %v, want %v without %d of them", s.Name, seen, s.Phases, invisible)
	}
	if len(seen) > n {
		c.More[s.Name] = len(seen) - n
	}
}

// Report logs the result.
func (c *Tally) Report(t *testing.T) {
	t.Helper()
	if c.phases == 0 {
		t.Error("no scenarios")
	}
	more := 0
	for _, n := range c.More {
		more += n
	}
	t.Logf("%d of %d phases agree; %d additional phases", c.agreed, c.phases, more)
}

// replayed returns the phases of a session, none if it has no file of its own.
func replayed(t *testing.T, d thread.Driver, p thread.Provider, home, session string) []string {
	th := find(t, p, session)
	if th == nil {
		return nil
	}
	source, err := filepath.Rel(home, th.Source)
	if err != nil {
		t.Fatal(err)
	}
	return Replay(t, d, home, source, th.ID)
}

// find finds a thread by the watcher's name for it, which ends in its ID or in the
// first eight characters of the ID.
func find(t *testing.T, p thread.Provider, session string) *thread.Thread {
	if th, err := p.Thread(t.Context(),
		session[max(0, len(session)-len("00000000-0000-0000-0000-000000000000")):]); err == nil {
		return th
	}
	for th, err := range p.Threads(t.Context()) {
		if err == nil && len(th.ID) > 8 && strings.HasSuffix(session, "-"+th.ID[:8]) {
			return th
		}
	}
	return nil
}
