package gemini_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/gemini"
)

var suite = threadtest.Suite{Driver: gemini.Driver(), Write: home, Lines: true, Big: big}

func TestSuite(t *testing.T) { threadtest.Run(t, suite) }

func TestStatuses(t *testing.T) { threadtest.CheckStatuses(t, suite) }

func TestXurl(t *testing.T) {
	threadtest.Xurl(t, gemini.Driver(), "GEMINI_CLI_HOME", map[string]string{
		"gemini-head subagent 62f9f98d-c578-4d3a-b4bf-3aaed19889d6": "a session after /resume is not a subagent",
		"gemini-read subagent 62f9f98d-c578-4d3a-b4bf-3aaed19889d6": "a session after /resume is not a subagent",
		"gemini-detail status_source":                               "no record ends a turn, so the end is inferred",
		"gemini-head status_source":                                 "no record ends a turn, so the end is inferred",
		"gemini-read status_source":                                 "no record ends a turn, so the end is inferred",
		"gemini-detail lifecycle":                                   "events are records of the parent's chat, which has none",
		"gemini-detail-missing lifecycle":                           "events are records of the parent's chat, which has none",
	})
}

func provider(t testing.TB, home string) thread.Provider {
	t.Helper()
	return threadtest.Open(t, gemini.Driver(), home)
}

// TestSeveralInOneFile reads two logs that were concatenated.
func TestSeveralInOneFile(t *testing.T) {
	home := t.TempDir()
	first := begin(logID, nil).user("u1", "one").model("m1", "first", tokens{10, 1, 0, 0, 0})
	second := begin(cancelledID, nil).user("u1", "two").model("m1", "second", tokens{20, 2, 0, 0, 0})
	put(t, home, "p/chats/session-2026-06-12T10-00-"+logID[:8]+".jsonl", first.String()+second.String())
	threadtest.CheckUnchanged(t, home)
	p := provider(t, home)
	for id, want := range map[string]string{logID: "first", cancelledID: "second"} {
		th, err := p.Thread(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		said, _ := threadtest.Messages(t, th)
		if !slices.Contains(said, "assistant: "+want) || len(said) != 2 || th.Usage.Calls != 1 {
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

// TestCopies checks that the log of a continued document is preferred, with a warning.
func TestCopies(t *testing.T) {
	home := t.TempDir()
	put(t, home, "p/chats/session-2026-06-12T10-00-"+logID[:8]+".json", begin(logID, nil).user("u1", "one").document(nil))
	put(t, home, "p/chats/session-2026-06-12T10-00-"+logID[:8]+".jsonl",
		begin(logID, nil).user("u1", "one").user("u2", "two").String())
	p := provider(t, home)
	th, err := p.Thread(t.Context(), logID)
	if err != nil {
		t.Fatal(err)
	}
	if said, _ := threadtest.Messages(t, th); len(said) != 2 || len(th.Warnings) != 1 ||
		!strings.HasSuffix(th.Source, ".jsonl") {
		t.Errorf("got %q from %s, %q", said, th.Source, th.Warnings)
	}
	n := 0
	for range p.Threads(t.Context()) {
		n++
	}
	if n != 1 {
		t.Errorf("got %d threads, want 1", n)
	}
}

// TestOpensFew checks that chats are not opened if their names show that they are not
// the thread, or not its subagents.
func TestOpensFew(t *testing.T) {
	home := t.TempDir()
	main, named := begin(logID, nil).user("u", "one").String(), obj{"parentSessionId": logID}
	put(t, home, "p/chats/session-2026-06-12T10-00-"+logID[:8]+".jsonl", main)
	put(t, home, "p/chats/session-2026-06-12T10-00-other.jsonl", main)
	put(t, home, "p/chats/session-2026-06-12T09-59-"+doneID[:8]+".jsonl", begin(doneID, named).user("u", "older").String())
	put(t, home, "p/chats/session-2999-06-12T10-00-"+failedID[:8]+".jsonl",
		begin(failedID, named).user("u", "much younger").String())
	put(t, home, "p/chats/session-2026-06-12T10-00-"+childID[:8]+".jsonl",
		begin(childID, named).user("u", "started during it").String())
	p := provider(t, home)
	th := threadtest.Load(t, p, logID)
	if len(th.Warnings) != 0 {
		t.Errorf("searched for another copy: %q", th.Warnings)
	}
	agents, err := p.Agents(t.Context(), th)
	if err != nil || len(agents) != 1 || agents[0].ID != childID {
		t.Errorf("got %+v, %v, want %s", agents, err, childID)
	}
}

// TestRemoved distinguishes a removed chat from an unknown ID.
func TestRemoved(t *testing.T) {
	home := t.TempDir()
	put(t, home, "p/logs.json", `[{"sessionId":"`+logID+`","messageId":0,"type":"user","message":"hello"}]`)
	if _, err := provider(t, home).Thread(t.Context(), logID); !errors.Is(err, handoff.Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	if _, err := provider(t, home).Thread(t.Context(), cancelledID); !errors.Is(err, handoff.NotFound) {
		t.Errorf("got %v, want not found", err)
	}
}

// TestTruncatedDocument reads truncated and damaged documents.
func TestTruncatedDocument(t *testing.T) {
	home := t.TempDir()
	body := begin(documentID, nil).user("u1", "one").model("m1", "two", tokens{3, 1, 0, 0, 0}).user("u2",
		strings.Repeat("three ", 2000)).document(nil)
	for name, cut := range map[string]string{"half": body[:len(body)/2], "no end": strings.TrimRight(body, "}\n] "),
		"noise": strings.Replace(body, `"messages": [`, `"messages": [ 7, "x", [[]], {}, `, 1), "empty": "", "other": "[1]",
		"wrong": `{"sessionId":"` + documentID + `","messages":{"a":1}}`} {
		put(t, home, "p/chats/session-2026-06-12T10-00-"+documentID[:8]+".json", cut)
		th, err := provider(t, home).Thread(t.Context(), documentID)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		said, _ := threadtest.Messages(t, th)
		if want := []string{"user: one", "assistant: two"}; len(cut) > 1000 &&
			(len(said) < 2 || !slices.Equal(said[:2], want)) {
			t.Errorf("%s: got %q", name, said)
		}
		if len(th.Warnings) == 0 && name != "wrong" {
			t.Errorf("%s: got no warning", name)
		}
	}
}

// TestCwdPipe reads a chat whose directory has a pipe in place of a file of the tool.
func TestCwdPipe(t *testing.T) {
	dir := t.TempDir()
	home(t, dir)
	name := filepath.Join(dir, ".gemini/tmp/other/.project_root")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	go func() {
		if w, err := os.OpenFile(name, os.O_WRONLY, 0); err == nil {
			w.WriteString("/piped")
			w.Close()
		}
	}()
	th, err := provider(t, dir).Thread(t.Context(), misnamedID)
	if err != nil || th.Cwd == "/piped" {
		t.Errorf("got %q, %v, want the pipe not to be read", th.Cwd, err)
	}
	if r, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
		r.Close() // ends the writer
	}
}

// TestCwd checks each source of the working directory.
func TestCwd(t *testing.T) {
	dir := t.TempDir()
	home(t, dir)
	p := provider(t, dir)
	for id, cwd := range map[string]string{documentID: "/home/u/project", misnamedID: "/home/u/other"} {
		th, err := p.Thread(t.Context(), id)
		if err != nil || th.Cwd != cwd {
			t.Errorf("%s: got %q, %v, want %q", id, th.Cwd, err, cwd)
		}
	}
	th, err := p.Thread(t.Context(), documentID)
	if err != nil || th.Title != "what was done" {
		t.Errorf("got title %q, %v", th.Title, err)
	}
}

// FuzzChat reads any bytes as a log and as a document.
func FuzzChat(f *testing.F) {
	dir := f.TempDir()
	home(f, dir)
	threadtest.AddSeeds(f, dir, "*.json*")
	f.Add(
		[]byte(
			`{"$set":{"messages":[{"type":"user","content":"a"},{"id":"x","type":"gemini","tokens":{"input":-5,"cached":9e99,"output":1e400}}]}}{"$rewindTo":"x"}`))
	f.Add(
		[]byte(
			`{"messages":[{"id":"x","type":"user"},{"id":"x","type":"gemini","toolCalls":[{"agentId":"a"},{"agentId":"a","result":[[[{}]]]}]}],"sessionId":""`))
	homes := map[string]string{".json": f.TempDir(), ".jsonl": f.TempDir()}
	f.Fuzz(func(t *testing.T, b []byte) {
		for ext, home := range homes {
			put(t, home, "p/chats/session-2026-06-12T10-00-"+logID[:8]+ext, string(b))
			p := provider(t, home)
			for th, err := range p.Threads(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				threadtest.CheckThread(t, p, th.ID)
			}
		}
	})
}

func put(t testing.TB, home, name, body string) {
	t.Helper()
	threadtest.WriteFile(t, body, home, ".gemini/tmp", name)
}
