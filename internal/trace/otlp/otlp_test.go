package otlp

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// example is a session with a run, a main agent with a subagent, work without a thread, and
// artifacts.
func example() []Session {
	const main = "agents://claude/2823d1df-720a-4c31-ac55-ae8ba7260001"
	at := func(s int) time.Time { return time.Date(2026, 9, 20, 9, 0, s, 0, time.UTC) }
	request := func(s int, model string, input int64) thread.Request {
		return thread.Request{At: at(s), ModelUsage: thread.ModelUsage{Model: model,
			Tokens: thread.Tokens{Input: input, CacheRead: 1000, CacheWrite: 10, Output: 20, Calls: 1}}}
	}
	artifact := func(id, channel string, s int) handoff.Artifact {
		var a handoff.Artifact
		a.ID, a.CreatedAt, a.Channel, a.Title, a.Status = id, at(s), channel, "a secret title", "active"
		a.Digest, a.SizeBytes = handoff.Digest{Algorithm: "sha256", Value: strings.Repeat("ab", 32)}, new(int64(7))
		return a
	}
	var used trace.Usage
	used.Input, used.CacheRead, used.CacheWrite = new(int64(300)), new(int64(2000)), new(int64(20))
	used.Output, used.Cost = new(int64(40)), new(0.25)
	s := Session{Root: "s1", Session: handoff.Session{ID: "s1", Title: "a secret title", Status: "completed",
		OpenedAt: at(0), ClosedAt: at(50), Agent: handoff.SessionAgent{Name: "alex"},
		Workflow: handoff.SessionWorkflow{Name: "fix"}},
		Tasks: []trace.Task{
			{Thread: main, Agent: "builder", Models: []string{"claude-opus-4-8"}, Status: "completed",
				StartedAt: at(1), EndedAt: at(30), Usage: used, Artifacts: []string{"art_1"}},
			{Thread: main + "/a1b2c3", Agent: "explorer", Models: []string{"claude-haiku-4-5"}, Status: "failed",
				StartedAt: at(10), EndedAt: at(20)},
			{Work: "prompt-1", Agent: "checker", Status: "completed", EndedAt: at(40)},
		},
		Artifacts: []handoff.Artifact{artifact("art_1", "patch", 25), artifact("art_2", "design", 45)},
		Threads: map[string]Thread{
			main: {Requests: []thread.Request{request(5, "claude-opus-4-8", 100), request(21, "claude-opus-4-8", 200)},
				Calls: []Call{{ID: "toolu_1", Name: "Write", Start: at(5), End: at(6)},
					{ID: "toolu_2", Name: "Bash", Failed: true, Start: at(6), End: at(20)}}},
			main + "/a1b2c3": {By: main, Requests: []thread.Request{request(15, "claude-haiku-4-5", 100)}},
		}}
	run := Session{Root: "s1", Session: handoff.Session{ID: "r1", Parent: "s1", Status: "failed", OpenedAt: at(41),
		ClosedAt: at(42)}}
	return []Session{s, run}
}

func TestGolden(t *testing.T) {
	const file = "testdata/traces.json"
	got := Encode(example())
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s%v", got, want, err)
	}
	if !json.Valid(got) || strings.Contains(string(got), "secret") {
		t.Errorf("not valid, or with contents:\n%s", got)
	}
}

// TestSend checks that a request that is not accepted in full is an error.
func TestSend(t *testing.T) {
	answer, status, sent := "{}", 200, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := new(bytes.Buffer)
		b.ReadFrom(r.Body)
		sent = r.Method + " " + r.Header.Get("Content-Type") + " " + b.String()
		w.Header().Set("Location", "/other")
		w.WriteHeader(status)
		w.Write([]byte(answer))
	}))
	defer s.Close()
	for _, tt := range []struct {
		answer string
		status int
		want   string // a part of the error
	}{
		{"{}", 200, ""}, {"", 202, ""}, {`{"partialSuccess":{}}`, 200, ""}, {`{"partialSuccess":{"rejectedSpans":"0"}}`, 200, ""},
		{`{"partialSuccess":{"rejectedSpans":"2","errorMessage":"no"}}`, 200, "rejected 2 spans"}, {"", 400, "400"},
		{"", 302, "302"}, {"", 503, "503"},
	} {
		answer, status = tt.answer, tt.status
		err := Send(t.Context(), s.URL+"/v1/traces", []byte("{}"))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d %s: got %v, want %q", tt.status, tt.answer, err, tt.want)
		}
		if sent != "POST application/json {}" {
			t.Errorf("got request %q", sent)
		}
	}
	for _, url := range []string{"", "file:///etc/passwd", "localhost:4318", "http://"} {
		if err := Send(t.Context(), url, nil); err == nil {
			t.Errorf("%q: got no error", url)
		}
	}
	s.Close()
	if err := Send(t.Context(), s.URL, nil); err == nil {
		t.Error("a closed receiver: got no error")
	}
}
