package claude_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/claude"
)

var suite = threadtest.Suite{Driver: claude.Driver(), Write: home, Lines: true, Big: big}

func TestSuite(t *testing.T) { threadtest.Run(t, suite) }

func TestStatuses(t *testing.T) { threadtest.CheckStatuses(t, suite) }

// TestRemoved distinguishes a removed transcript from an unknown ID.
func TestRemoved(t *testing.T) {
	dir := t.TempDir()
	home(t, dir)
	const indexed, typed, unknown = "0c4f3c1e-7b1a-4d59-9d0e-0000000000f1", "0c4f3c1e-7b1a-4d59-9d0e-0000000000f2",
		"0c4f3c1e-7b1a-4d59-9d0e-0000000000f3"
	put(t, dir, ".claude", project+"sessions-index.json", `{"entries":[{"sessionId":"`+indexed+`"}]}`)
	put(t, dir, ".claude", "history.jsonl", `{"display":"hello","sessionId":"`+typed+`"}`+"\n")
	threadtest.CheckUnchanged(t, dir)
	set := thread.NewSet([]thread.Driver{claude.Driver()}, func(string) string { return "" }, dir)
	for _, tt := range []struct {
		id, hint string
		kind     handoff.Kind
	}{
		{sweptID, "claude/left1", handoff.Unavailable},
		{indexed, "cleanupPeriodDays", handoff.Unavailable},
		{typed, "cleanupPeriodDays", handoff.Unavailable},
		{unknown, "CLAUDE_CONFIG_DIR", handoff.NotFound},
	} {
		for _, u := range []thread.URI{{Provider: "claude", Thread: tt.id}, {Thread: tt.id}} {
			_, err := set.Open(t.Context(), u)
			e := new(handoff.Error)
			if !errors.As(err, &e) || e.Kind != tt.kind || u.Provider != "" && !strings.Contains(e.Hint.String(), tt.hint) {
				t.Errorf("%s: got %v, want %s and a hint with %s", u, err, tt.kind, tt.hint)
			}
		}
	}
}

// TestRoots checks the directories that are searched.
func TestRoots(t *testing.T) {
	dir := t.TempDir()
	env := ""
	getenv := func(name string) string {
		if name == "CLAUDE_CONFIG_DIR" {
			return env
		}
		return ""
	}
	hello := start(mainID, "", "2.1.140", 0).user("hello").String()
	for i, tt := range []struct{ env, at string }{
		{"", ".claude"},
		{"", ".config/claude"},
		{"", ".config/Claude/local-agent-mode-sessions/account/org/local_1/.claude"},
		{"", "Library/Application Support/Claude/local-agent-mode-sessions/account/local_1/.claude"},
		{"one, two", "two"},
		{"one,", "one"},
	} {
		home := filepath.Join(dir, strconv.Itoa(i))
		put(t, home, tt.at, project+mainID+".jsonl", hello)
		env = ""
		for name := range strings.SplitSeq(tt.env, ",") {
			if name = strings.TrimSpace(name); name != "" {
				env += filepath.Join(home, name) + ","
			}
		}
		set := thread.NewSet([]thread.Driver{claude.Driver()}, getenv, home)
		v, err := set.Open(t.Context(), thread.URI{Thread: mainID})
		if err != nil || !strings.Contains(filepath.ToSlash(v.Thread.Source), tt.at) {
			t.Errorf("%q, %s: got %v", tt.env, tt.at, err)
		}
	}
	// The newer home directory may be a link to the older one.
	home := filepath.Join(dir, "linked")
	put(t, home, ".claude", project+mainID+".jsonl", hello)
	if os.MkdirAll(filepath.Join(home, ".config"), 0o700) != nil ||
		os.Symlink(filepath.Join(home, ".claude"), filepath.Join(home, ".config/claude")) != nil {
		t.Skip("no symbolic links")
	}
	env = ""
	v, err := thread.NewSet([]thread.Driver{claude.Driver()}, getenv, home).Open(t.Context(), thread.URI{Thread: mainID})
	if err != nil || len(v.Thread.Warnings) > 0 {
		t.Errorf("got %v, %v", v, err)
	}
}

// TestFacts checks what the suite does not.
func TestFacts(t *testing.T) {
	dir := t.TempDir()
	home(t, dir)
	p := threadtest.Open(t, claude.Driver(), dir)
	read := func(id string) *thread.Thread { return threadtest.Load(t, p, id) }
	if th := read(mainID); th.Title != "Look into it" || th.Cwd != "/home/u/project" || th.Branch != "main" ||
		th.Version != "2.1.140" || th.Started.IsZero() {
		t.Errorf("got head %+v", th)
	}
	if th := read(askingID); th.State.Waiting != "an answer" {
		t.Errorf("got %+v, want a wait for an answer", th.State)
	}
	if th := read(flatID); th.State.Waiting == "" || !strings.Contains(th.State.Evidence, "does not record") {
		t.Errorf("got %+v, want a question and an inferred end", th.State)
	}
	if th := read(cutID); !strings.Contains(th.Usage.Reason, "1 answers record fewer") ||
		!strings.Contains(th.State.Evidence, "interrupted") {
		t.Errorf("got %+v, %+v", th.Usage, th.State)
	}
	for id, from := range map[string]string{forkID: mainID, copyID: flatID} {
		if th := read(id); th.ForkedFrom != from || th.Inherited.Calls != 1 {
			t.Errorf("%s: got a fork of %q with %+v inherited", id, th.ForkedFrom, th.Inherited)
		}
	}
	agents, err := p.Agents(t.Context(), read(mainID))
	if err != nil || len(agents) != 6 {
		t.Fatalf("got %+v, %v", agents, err)
	}
	for i, want := range []struct{ role, parent string }{{"Explore", mainID}, {"", mainID}, {"Explore", "done1"},
		{"", mainID}, {"compaction", mainID}, {"", mainID}} {
		if a := agents[i]; a.Role != want.role || a.Thread.Parent != want.parent {
			t.Errorf("%s: got role %q of %s, want %q of %s", a.ID, a.Role, a.Thread.Parent, want.role, want.parent)
		}
	}
	var spent thread.Tokens
	err = read(mainID).Read(t.Context(), thread.Tools, func(m thread.Message) error {
		if m.Usage != nil {
			spent.Add(*m.Usage)
		}
		if m.Role == thread.User && m.Usage != nil {
			t.Errorf("message %d of the user has usage %+v", m.N, m.Usage)
		}
		return nil
	})
	if want := read(mainID).Usage.Tokens; err != nil || spent != want {
		t.Errorf("messages have usage %+v, the thread %+v (%v)", spent, want, err)
	}
}

// TestForks checks that a request that was copied between sessions counts once, in
// any order of reading and whichever session continued.
func TestForks(t *testing.T) {
	one := used(10, 0, 0, 0, 1)
	first := start(firstID, "", "2.1.200", 0).user("go").say("a1", "One.", one, "end_turn")
	branch := first.fork(branchID)
	branch.at = branch.at.Add(time.Minute)
	branch.user("another way").say("b1", "Two.", one, "end_turn")
	twig := branch.fork(twigID)
	twig.at = twig.at.Add(time.Minute)
	twig.user("and on").say("c1", "Three.", one, "end_turn")
	idle, busy := first.String(), first.user("go on").say("a2", "Four.", one, "end_turn").String()
	other := start(resumedID, "", "2.1.200", 0).user("go").say("z1", "Five.", one, "end_turn")
	for name, body := range map[string]string{"idle": idle, "continued": busy} {
		dir := t.TempDir()
		put(t, dir, ".claude", project+firstID+".jsonl", body)
		put(t, dir, ".claude", project+branchID+".jsonl", branch.String())
		put(t, dir, ".claude", project+twigID+".jsonl", twig.String())
		put(t, dir, ".claude", project+resumedID+".jsonl", other.String())
		threadtest.CheckUnchanged(t, dir)
		for _, tt := range []struct {
			id, from       string
			own, inherited int
		}{{firstID, "", strings.Count(body, "requestId"), 0}, {branchID, firstID, 1, 1}, {twigID, branchID, 1, 2},
			{resumedID, "", 1, 0}} {
			th := threadtest.Load(t, threadtest.Open(t, claude.Driver(), dir), tt.id)
			if th.ForkedFrom != tt.from || th.Usage.Calls != tt.own || th.Inherited.Calls != tt.inherited {
				t.Errorf("%s: %s: got a fork of %q with %d calls of its own, %d inherited, want %+v", name, tt.id, th.ForkedFrom,
					th.Usage.Calls, th.Inherited.Calls, tt)
			}
		}
		own := 0
		for th, err := range threadtest.Open(t, claude.Driver(), dir).Threads(t.Context()) {
			if err != nil || th.Load(t.Context()) != nil {
				t.Fatal(err)
			}
			own += th.Usage.Calls
		}
		if want := 3 + strings.Count(body, "requestId"); own != want {
			t.Errorf("%s: got %d calls in all, want %d", name, own, want)
		}
	}
}

// TestUnnamed finds the parent of a subagent that no result and no .meta.json file
// names: by the prompt of a call that has not returned, and by the call of another
// subagent.
func TestUnnamed(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, s *script) { put(t, dir, ".claude", project+name, s.String()) }
	write(mainID+".jsonl", start(mainID, "", "2.1.140", 0).user("go").call("m1", "t1", "Agent",
		obj{"description": "first", "prompt": "do the first"}, used(1, 0, 0, 0, 1)))
	write(mainID+"/subagents/agent-one.jsonl", start(mainID, "one", "2.1.140", 2).user("do the first").
		call("c1", "u1", "Agent", obj{"prompt": "do the second"}, used(1, 0, 0, 0, 1)).result("u1", "no",
		obj{"agentId": "two", "status": "failed"}))
	write(mainID+"/subagents/agent-two.jsonl", start(mainID, "two", "2.1.140", 3).user("do the second"))
	p := threadtest.Open(t, claude.Driver(), dir)
	two, err := p.Thread(t.Context(), "agent-two")
	if err != nil || two.Parent != "one" || two.ID != "two" {
		t.Errorf("got %+v, %v, want parent one", two, err)
	}
	main, err := p.Thread(t.Context(), mainID)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		agents, err := p.Agents(t.Context(), main)
		if err != nil || len(agents) != 2 {
			t.Fatalf("got %+v, %v", agents, err)
		}
		if a := agents[0]; a.Name != "first" || len(a.Lifecycle) != 1 || a.State.Status != thread.Running {
			t.Errorf("got %+v", a)
		}
		if a := agents[1]; a.Thread.Parent != "one" || a.State.Status != thread.Errored || a.State.Source != thread.Parent {
			t.Errorf("got %+v", a)
		}
	}
}

// FuzzTranscript reads any bytes as a session and as a subagent of it.
func FuzzTranscript(f *testing.F) {
	dir := f.TempDir()
	home(f, dir)
	threadtest.AddSeeds(f, dir, "*.jsonl")
	f.Add(
		[]byte(
			`{"type":"assistant","message":{"id":"m","usage":{"input_tokens":-5,"output_tokens":9e99,"cache_creation":{"ephemeral_1h_input_tokens":7}}}}`))
	f.Add(
		[]byte(
			`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Agent","input":{"resume":"` +
				mainID + `"}}]}}` + "\n" +
				`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"agentId: fuzz"}]}}`))
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, name := range []string{mainID, flatID, mainID + "/subagents/agent-fuzz"} {
			put(t, home, ".claude", project+name+".jsonl", string(b))
		}
		for _, id := range []string{mainID, "fuzz"} {
			threadtest.CheckThread(t, threadtest.Open(t, claude.Driver(), home), id)
		}
	})
}
