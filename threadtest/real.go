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

// A Real is a transcript that its owner published and that lies in a home, as
// the tool left it there.
type Real struct {
	Path     string // below the transcripts' folder
	Source   string // of the transcript itself
	Provider thread.Provider
	Sessions map[string]bool // ids of the threads that the provider lists
	Figures  json.RawMessage // what an independent program found in it
}

// EachReal opens every home of a provider, whose folder in it is dir, reads all
// threads that are listed there, and hands the transcripts that figures are
// known of to check. Nothing below a home may change.
func EachReal(t *testing.T, d thread.Driver, dir string, check func(t *testing.T, r Real)) {
	base := Shared(t, "fixtures/transcripts")
	figures := Expected(t, d.Name)
	n := 0
	for _, home := range Homes(t, d.Name, dir) {
		Untouched(t, home)
		p := Open(t, d, home)
		sessions := map[string]bool{}
		for th, err := range p.Threads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			sessions[th.ID] = true
			Sound(t, p, th.ID)
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
		t.Error("no transcripts were read")
	}
	t.Logf("%d real transcripts read", n)
}

// EachStray hands the transcripts that figures are known of and that lie outside
// a home to check, with their content: old versions, drifted schemas.
func EachStray(t *testing.T, provider, dir string, check func(t *testing.T, path, body string, figures json.RawMessage)) {
	base := Shared(t, "fixtures/transcripts")
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

// Figures decodes what the independent program found.
func Figures[F any](t testing.TB, b json.RawMessage) (f F) {
	t.Helper()
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// Child looks for a subagent below its parent, which must know it by its
// transcript and prove that it does.
func Child(t testing.TB, p thread.Provider, parent, id string) (a thread.Agent) {
	t.Helper()
	main, err := p.Thread(t.Context(), parent)
	if err != nil {
		t.Errorf("%s: its parent: %v", id, err)
		return a
	}
	agents, err := p.Agents(t.Context(), main)
	i := slices.IndexFunc(agents, func(a thread.Agent) bool { return a.ID == id })
	if err != nil || i < 0 || !agents[i].Validated || agents[i].Thread == nil {
		t.Errorf("%s: it is no validated child of %s: %+v, %v", id, parent, agents, err)
		return a
	}
	return agents[i]
}

// Statuses replays the sessions that were watched while they were recorded, and
// holds the phases that are seen against those that were expected. Unseen is how
// many phases of a scenario no transcript shows. It returns how many phases were
// seen beyond those, by scenario: what was expected is what somebody thought
// worth asserting, so that a phase too many is a mistake or a turn that nobody
// asserted.
func Statuses(t *testing.T, d thread.Driver, unseen map[string]int) (more map[string]int) {
	home := Shared(t, "fixtures/transcripts/"+d.Name+"/ingo-eichhorst+Irrlicht")
	p := Open(t, d, home)
	c := Tally{More: map[string]int{}}
	apart := 0
	for _, s := range Scenarios(t, d.Name) {
		var seen []string
		for _, session := range s.Sessions {
			seen = append(seen, replayed(t, d, p, home, session)...)
		}
		if len(seen) == 0 {
			apart++ // its transcript lies outside the home
			continue
		}
		c.Count(t, s, seen, unseen[s.Name])
	}
	c.Report(t)
	t.Logf("%d scenarios have no transcript in the home", apart)
	return c.More
}

// A Tally counts how phases that were seen agree with those that were expected.
type Tally struct {
	agreed, phases int
	More           map[string]int // seen and not expected, by scenario
}

// Count counts a scenario, of which so many phases can't be seen.
func (c *Tally) Count(t *testing.T, s Scenario, seen []string, unseen int) {
	t.Helper()
	seen = slices.Compact(seen)
	n := Agree(seen, s.Phases)
	c.agreed, c.phases = c.agreed+n, c.phases+len(s.Phases)
	if n != len(s.Phases)-unseen {
		t.Errorf("%s: saw %v, want %v but %d", s.Name, seen, s.Phases, unseen)
	}
	if len(seen) > n {
		c.More[s.Name] = len(seen) - n
	}
}

// Report says what was counted.
func (c *Tally) Report(t *testing.T) {
	t.Helper()
	if c.phases == 0 {
		t.Error("nothing was replayed")
	}
	more := 0
	for _, n := range c.More {
		more += n
	}
	t.Logf("%d of %d phases agree; %d more were seen", c.agreed, c.phases, more)
}

// replayed returns the phases of a session, none where its records are part of
// another's file.
func replayed(t *testing.T, d thread.Driver, p thread.Provider, home, session string) []string {
	th := called(t, p, session)
	if th == nil {
		return nil
	}
	source, err := filepath.Rel(home, th.Source)
	if err != nil {
		t.Fatal(err)
	}
	return Replay(t, d, home, source, th.ID)
}

// called finds a thread by the watcher's name of it, which ends in its id or in
// the first eight characters of that.
func called(t *testing.T, p thread.Provider, session string) *thread.Thread {
	if th, err := p.Thread(t.Context(), session[max(0, len(session)-len("00000000-0000-0000-0000-000000000000")):]); err == nil {
		return th
	}
	for th, err := range p.Threads(t.Context()) {
		if err == nil && len(th.ID) > 8 && strings.HasSuffix(session, "-"+th.ID[:8]) {
			return th
		}
	}
	return nil
}
