package pi_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/pi"
)

var suite = threadtest.Suite{Driver: pi.Driver(), Write: home, Lines: true, Big: big}

func TestSuite(t *testing.T) { threadtest.Run(t, suite) }

func TestStatuses(t *testing.T) { threadtest.CheckStatuses(t, suite) }

func TestXurl(t *testing.T) {
	threadtest.Xurl(t, pi.Driver(), "PI_CODING_AGENT_DIR", intended)
}

func provider(t testing.TB, home string) thread.Provider {
	t.Helper()
	return threadtest.Open(t, pi.Driver(), home)
}

// TestFork checks that the entries a fork copied are inherited.
func TestFork(t *testing.T) {
	dir := t.TempDir()
	home(t, dir)
	th := threadtest.Load(t, provider(t, dir), forkID)
	if th.ForkedFrom != treeID || th.Inherited != took(100, 1) {
		t.Errorf("got a fork of %q that inherited %+v", th.ForkedFrom, th.Inherited)
	}
	var inherited []bool
	err := th.Read(t.Context(), thread.Texts, func(m thread.Message) error {
		inherited = append(inherited, m.Inherited)
		return nil
	})
	if want := []bool{true, true, false, false, false}; err != nil || !slices.Equal(inherited, want) {
		t.Errorf("got %v, %v, want %v", inherited, err, want)
	}
}

// TestForkOfMissing has a fork whose original does not exist: what it copied counts.
func TestForkOfMissing(t *testing.T) {
	dir := t.TempDir()
	home(t, dir)
	p := provider(t, dir)
	own := threadtest.Load(t, p, forkID).Usage.Tokens
	if err := os.Remove(threadtest.Load(t, p, treeID).Source); err != nil {
		t.Fatal(err)
	}
	th := threadtest.Load(t, p, forkID)
	own.Add(took(100, 1))
	if th.Usage.Tokens != own || th.Usage.Completeness != thread.SessionTotal || th.Inherited != (thread.Tokens{}) ||
		th.ForkedFrom != treeID || !strings.Contains(th.Usage.Reason, treeID) {
		t.Errorf("got %+v, inherited %+v, want %+v", th.Usage, th.Inherited, own)
	}
}

// TestNames finds a session by the ID in its header and by the one in its name, with a
// warning if they differ.
func TestNames(t *testing.T) {
	home := t.TempDir()
	put(t, home, project+named("2026-05-24T23:39:56Z", lostID),
		begin(treeID, "2026-05-24T23:39:56Z", nil).user("hi").String())
	p := provider(t, home)
	for _, id := range []string{lostID, treeID} {
		if th := threadtest.Load(t, p, id); th.ID != treeID || len(th.Warnings) != 1 {
			t.Errorf("%s: got %s, %q", id, th.ID, th.Warnings)
		}
	}
}

// TestOpensFew checks that sessions are not opened if their names show that they are
// not the thread, or not its subagents.
func TestOpensFew(t *testing.T) {
	home := t.TempDir()
	const at, older, later, younger = "2026-05-24T23:39:56Z", "2026-05-24T23:39:55Z", "2026-05-24T23:50:00Z",
		"2999-05-24T23:39:56Z"
	put(t, home, project+named(at, treeID), begin(treeID, at, nil).user("one").String())
	put(t, home, project+"other.jsonl", begin(treeID, at, nil).user("one").String())
	for id, begun := range map[string]string{scoutID: older, hintedID: later, lostID: younger} {
		put(t, home, project+named(begun, id), begin(id, begun, obj{"parentSessionId": treeID}).user("two").String())
	}
	p := provider(t, home)
	th := threadtest.Load(t, p, treeID)
	if len(th.Warnings) != 0 {
		t.Errorf("searched for another copy: %q", th.Warnings)
	}
	agents, err := p.Agents(t.Context(), th)
	if err != nil || len(agents) != 1 || agents[0].ID != hintedID {
		t.Errorf("got %+v, %v, want %s", agents, err, hintedID)
	}
}

// TestRoots checks the variables that name directories.
func TestRoots(t *testing.T) {
	d := pi.Driver()
	env := map[string]string{"PI_CODING_AGENT_SESSION_DIR": filepath.FromSlash("/s"),
		"PI_CODING_AGENT_DIR": filepath.FromSlash("/a")}
	got := d.Roots(func(name string) string { return env[name] }, "/home/u")
	if want := []string{filepath.FromSlash("/s"), filepath.FromSlash("/a/sessions")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	dir := t.TempDir()
	put(t, dir, "x/"+named("2026-05-24T23:39:56Z", treeID), begin(treeID, "2026-05-24T23:39:56Z", nil).user("hi").String())
	p, err := d.Open([]string{filepath.Join(dir, ".pi/agent/sessions/x")})
	if err != nil {
		t.Fatal(err)
	}
	threadtest.Load(t, p, treeID)
}

// TestOddTrees reads entries with missing and cyclic parents.
func TestOddTrees(t *testing.T) {
	entry := func(id, parent, text string) string {
		return `{"type":"message","id":"` + id + `","parentId":` + parent + `,"message":{"role":"user","content":"` + text +
			`"}}` + "\n"
	}
	for name, tt := range map[string]struct {
		body string
		want []string
		warn bool
	}{
		"missing parent": {entry("a", "null", "one") + entry("c", `"b"`, "two"), []string{"user: one", "user: two"}, true},
		"itself":         {entry("a", `"a"`, "one"), []string{"user: one"}, true},
		"a circle":       {entry("a", `"b"`, "one") + entry("b", `"a"`, "two"), []string{"user: one", "user: two"}, true},
		"the same id": {entry("a", "null", "one") + entry("a", `"a"`, "two") + entry("b", `"a"`, "three"),
			[]string{"user: one", "user: two", "user: three"}, false},
		"two roots": {entry("a", "null", "one") + entry("b", "null", "two"), []string{"user: two"}, false},
	} {
		home := t.TempDir()
		put(t, home, project+named("2026-05-24T23:39:56Z", treeID),
			begin(treeID, "2026-05-24T23:39:56Z", nil).String()+tt.body)
		th := threadtest.Load(t, provider(t, home), treeID)
		if got, _ := threadtest.Messages(t, th); !slices.Equal(got, tt.want) || len(th.Warnings) > 0 != tt.warn {
			t.Errorf("%s: got %q, %q, want %q", name, got, th.Warnings, tt.want)
		}
	}
}

// TestSeveralInOneFile reads two sessions that were concatenated.
func TestSeveralInOneFile(t *testing.T) {
	home := t.TempDir()
	const at = "2026-05-24T23:39:56Z"
	put(t, home, project+named(at, treeID), begin(treeID, at, nil).user("one").answer("stop", "first", 1).String()+
		begin(forkID, at, nil).user("two").answer("stop", "second", 2).String())
	p := provider(t, home)
	for id, want := range map[string]string{treeID: "first", forkID: "second"} {
		th := threadtest.Load(t, p, id)
		if said, _ := threadtest.Messages(t, th); len(said) != 2 || !strings.HasSuffix(said[1], want) || th.Usage.Calls != 1 {
			t.Errorf("%s: got %q, %+v", id, said, th.Usage)
		}
	}
	n := 0
	for _, err := range p.Threads(t.Context()) {
		if n++; err != nil {
			t.Error(err)
		}
	}
	if n != 2 {
		t.Errorf("got %d threads, want 2", n)
	}
}

// TestBranch reads the branch of an entry.
func TestBranch(t *testing.T) {
	dir := t.TempDir()
	home(t, dir)
	threadtest.CheckUnchanged(t, dir)
	set := thread.NewSet([]thread.Driver{pi.Driver()}, func(string) string { return "" }, dir)
	for entry, want := range map[string]string{"00000002": "user: one", "00000006": "assistant: First.",
		"00000008": "assistant: Lost."} {
		v, err := set.Open(t.Context(), thread.URI{Provider: "pi", Thread: treeID, Agent: entry})
		if err != nil || v.Agent != nil {
			t.Fatalf("%s: got %+v, %v", entry, v, err)
		}
		said, _ := threadtest.Messages(t, v.Thread)
		if len(said) == 0 || said[len(said)-1] != want || v.Thread.Usage.Completeness != thread.SessionTotal {
			t.Errorf("%s: got %q, %+v, want %q at the end", entry, said, v.Thread.Usage, want)
		}
	}
}

// FuzzSession reads any bytes as a session.
func FuzzSession(f *testing.F) {
	dir := f.TempDir()
	home(f, dir)
	threadtest.AddSeeds(f, dir, "*.jsonl")
	f.Add(
		[]byte(
			`{"type":"session","id":"a","parentSession":"a_b","timestamp":"2026-01-01T00:00:00Z","childIds":[1]}{"type":"message","id":"x","parentId":"x","message":{"role":"assistant","usage":{"input":-5,"output":9e99,"reasoning":1e400}}}`))
	f.Add(
		[]byte(
			"{\"type\":\"label\",\"id\":\"a\",\"parentId\":\"b\"}\n{\"type\":\"label\",\"id\":\"b\",\"parentId\":\"a\",\"details\":{\"sessionFile\":\"/\"}}"))
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		put(t, home, project+named("2026-05-24T23:39:56Z", treeID), string(b))
		p := provider(t, home)
		for th, err := range p.Threads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			threadtest.CheckThread(t, p, th.ID)
		}
	})
}

// intended are the differences from xurl, which docs/threads.md explains.
var intended = map[string]string{
	"pi-head mode":       "entries are not listed, so there is no index of them",
	"pi-read mode":       "entries are not listed, so there is no index of them",
	"real-pi-head mode":  "entries are not listed, so there is no index of them",
	"real-pi-read mode":  "entries are not listed, so there is no index of them",
	"pi-entry mode":      "a branch is shown as the thread is",
	"pi-entry-head mode": "a branch is shown as the thread is",
	"pi-child lifecycle": "a relation in a header is evidence, not an event",
	"pi-entry-missing":   "an unknown entry or subagent has status notFound",

	"pi-entry-head subagent 72b3a4a8-4f08-40af-8d7f-8b2c77584e89": "subagents are listed with a branch too",
	"pi-entry-head subagent b200f2f0-5291-4b89-a1e7-7c6a95f11011": "subagents are listed with a branch too",
	"pi-entry subagent 72b3a4a8-4f08-40af-8d7f-8b2c77584e89":      "subagents are listed with a branch too",
	"pi-entry subagent b200f2f0-5291-4b89-a1e7-7c6a95f11011":      "subagents are listed with a branch too",
}
