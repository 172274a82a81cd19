package pi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/pi"
)

// TestDefects has a session for each known mistake of other readers.
func TestDefects(t *testing.T) {
	const at = "2026-05-24T23:39:56Z"
	long := strings.Repeat("wörter ", 300_000)
	start := func() *script { return begin(treeID, at, nil) }
	for name, tt := range map[string]struct {
		session  string
		said     []string
		status   thread.Status
		warnings int
	}{
		"an earlier error is not the end": {
			session: start().user("one").answer("error", "", 0).answer("stop", "two", 1).String(),
			said:    []string{"user: one", "note: The request failed.", "assistant: two"}, status: thread.Completed,
		},
		"an earlier answer is not the end": {
			session: start().user("one").answer("stop", "two", 1).user("three").String(),
			said:    []string{"user: one", "assistant: two", "user: three"}, status: thread.Running,
		},
		"a call is not the end of a turn": {
			session: start().user("one").answer("toolUse", "two", 1, "ls").result("ls", "x", nil).String(),
			said:    []string{"user: one", "assistant: two"}, status: thread.Running,
		},
		"line before the header": {
			session: `{"type":"title","title":"a name"}` + "\n" + start().user("one").String(), said: []string{
				"user: one"}, status: thread.Running,
		},
		"incomplete last line": {
			session: start().user("one").String() + `{"type":"message","id":"`, said: []string{
				"user: one"}, status: thread.Running, warnings: 1,
		},
		"invalid byte": {
			session: strings.Replace(start().user("on@e").String(), "@", "\xff", 1), said: []string{
				"user: on\uFFFDe"}, status: thread.Running,
		},
		"empty session": {status: thread.PendingInit, warnings: 1},
		"long line": {
			session: start().user(long).String(), said: []string{"user: " + strings.TrimSpace(long)}, status: thread.Running,
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			put(t, home, project+named(at, treeID), tt.session)
			threadtest.CheckUnchanged(t, home)
			p := provider(t, home)
			said, th := threadtest.CheckThread(t, p, treeID), threadtest.Load(t, p, treeID)
			if !slices.Equal(said, tt.said) || th.State.Status != tt.status || len(th.Warnings) != tt.warnings {
				t.Errorf("got %.200q, %+v, %q, want %.200q, %s, %d warnings", said, th.State, th.Warnings, tt.said, tt.status,
					tt.warnings)
			}
		})
	}
}

// TestUnknownEntry checks that Branch finds the entries of a session and no others.
func TestUnknownEntry(t *testing.T) {
	dir := t.TempDir()
	home(t, dir)
	p := provider(t, dir)
	main, err := p.Thread(t.Context(), treeID)
	if err != nil {
		t.Fatal(err)
	}
	for entry, want := range map[string]string{"00000002": "00000002", "0000000A": "0000000a", "ffffffff": ""} {
		th, leaf, err := p.(thread.Brancher).Branch(t.Context(), main, entry)
		if err != nil || (th != nil) != (want != "") || th != nil && leaf != want {
			t.Errorf("%s: got %+v, %q, %v, want entry %q", entry, th, leaf, err, want)
		}
	}
	set := thread.NewSet([]thread.Driver{pi.Driver()}, func(string) string { return "" }, dir)
	v, err := set.Open(t.Context(), thread.URI{Provider: "pi", Thread: treeID, Agent: "ffffffff"})
	if err != nil || v.Agent == nil || v.Agent.State.Status != thread.NotFound {
		t.Errorf("got %+v, %v, want an agent that was not found", v, err)
	}
}

// TestInlineUsage checks the usage of a subagent whose messages are in the parent's
// session: it is that of the subagent, not of the parent.
func TestInlineUsage(t *testing.T) {
	dir := t.TempDir()
	home(t, dir)
	p := provider(t, dir)
	agents, err := p.Agents(t.Context(), threadtest.Load(t, p, inlineID))
	if err != nil || len(agents) != 2 {
		t.Fatalf("got %+v, %v", agents, err)
	}
	threadtest.CheckUsage(t, agents[0].Thread, took(10, 2), thread.Exact, "")
	threadtest.CheckUsage(t, agents[1].Thread, thread.Tokens{}, thread.NoUsage, "no usage")
	if a := agents[0]; a.Name != "reviewer" || !a.Validated || a.Thread.ToolCalls != 1 {
		t.Errorf("got %+v", a)
	}
}
