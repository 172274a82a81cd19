package amp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/amp"
	"github.com/agent-handoff/handoff/threadtest"
)

func TestSuite(t *testing.T) {
	threadtest.Run(t, threadtest.Suite{Driver: amp.Driver(), Write: home})
}

func open(t testing.TB, home string) thread.Provider {
	t.Helper()
	d := amp.Driver()
	p, err := d.Open(d.Roots(func(string) string { return "" }, home))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestID(t *testing.T) {
	for in, want := range map[string]string{mainID: mainID, strings.ToUpper(mainID): mainID, strings.ToLower(mainID): mainID, mainID[2:]: "", "T-1": "", "": ""} {
		if got, ok := amp.Driver().ID(in); ok != (want != "") || ok && got != want {
			t.Errorf("ID(%q) = %q, %v, want %q", in, got, ok, want)
		}
	}
}

// TestCutOff cuts a document at every byte: what is before is read, and it is
// never said to have ended.
func TestCutOff(t *testing.T) {
	dir := t.TempDir()
	home(t, dir)
	path := filepath.Join(dir, ".local/share/amp/threads", mainID+".json")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, dir)
	for n := range len(whole) {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		th, err := p.Thread(t.Context(), mainID)
		if err == nil {
			err = th.Load(t.Context())
		}
		if err != nil || len(th.Warnings) == 0 || th.State.Status.Ended() {
			t.Fatalf("cut at %d: got %v, %+v", n, err, th.Facts)
		}
	}
}

// TestRealThreads reads the real threads. Their usage is added up again here,
// from a decoder that shares nothing with the reader.
func TestRealThreads(t *testing.T) {
	read := 0
	for _, home := range threadtest.Homes(t, "amp", ".local/share/amp") {
		threadtest.Untouched(t, home)
		p := open(t, home)
		for th, err := range p.Threads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(th.Source)
			if err != nil {
				t.Fatal(err)
			}
			var doc struct {
				Messages []struct {
					Usage *struct{ InputTokens, OutputTokens, CacheCreationInputTokens, CacheReadInputTokens int64 }
				}
			}
			if err := json.Unmarshal(b, &doc); err != nil {
				t.Fatal(err)
			}
			var want thread.Tokens
			for _, m := range doc.Messages {
				if u := m.Usage; u != nil {
					want.Add(thread.Tokens{Input: u.InputTokens, Output: u.OutputTokens, CacheWrite: u.CacheCreationInputTokens, CacheRead: u.CacheReadInputTokens, Calls: 1})
				}
			}
			read++
			said, calls := threadtest.Messages(t, th)
			if len(said) < 2 || len(calls) < 2 || th.Usage.Tokens != want || th.State.Status != thread.Completed || th.State.Source != thread.Child || th.Commit == "" || th.Cwd == "" || th.Title == "" {
				t.Errorf("%s: got %d messages, %d calls, %+v, want usage %+v", th.ID, len(said), len(calls), th, want)
			}
			again, err := p.Thread(t.Context(), th.ID)
			if err != nil || again.Source != th.Source {
				t.Errorf("%s: %v", th.ID, err)
			}
		}
	}
	t.Logf("%d real threads read", read)
}

var command = regexp.MustCompile(`^\$ XDG_DATA_HOME=(\S+) xurl (.*)`)

// intended are the cases in which we answer otherwise than xurl, and why.
var intended = map[string]string{
	"amp-bad-child": "what looks like no id is an agent without a trace, as with every provider",
}

// TestXurl holds our answers against those of xurl, for the same threads.
func TestXurl(t *testing.T) {
	dir := threadtest.Shared(t, "peers/xurl")
	names, err := filepath.Glob(filepath.Join(dir, "golden", "amp-*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range names {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(name, "query") || intended[name] != "" {
			continue
		}
		n++
		t.Run(name, func(t *testing.T) { compare(t, strings.ReplaceAll(string(b), "$TREES", filepath.Join(dir, "trees"))) })
	}
	t.Logf("%d answers compared", n)
}

func compare(t *testing.T, golden string) {
	m := command.FindStringSubmatch(golden)
	if m == nil {
		t.Fatal("no command")
	}
	words := strings.Fields(strings.ReplaceAll(m[2], "'", ""))
	var code int
	_, rest, _ := strings.Cut(golden, "\n")
	fmt.Sscanf(rest, "# exit %d", &code)
	_, want, _ := strings.Cut(golden, "--- stdout\n")
	want, _, _ = strings.Cut(want, "--- stderr\n")
	want = strings.ReplaceAll(want, "child_thread'", "child_rollout'")

	set := thread.NewSet([]thread.Driver{amp.Driver()}, func(string) string { return m[1] }, "")
	var b bytes.Buffer
	u, err := thread.ParseURI(words[len(words)-1])
	if err == nil {
		err = set.Write(t.Context(), &b, u, thread.Options{Head: words[0] == "-I"})
	}
	if (err == nil) != (code == 0) {
		t.Fatalf("got %v, want exit code %d", err, code)
	}
	ours, theirs := threadtest.Frontmatter(t, b.String()), threadtest.Frontmatter(t, want)
	for _, key := range []string{"uri", "provider", "session_id", "thread_source", "mode", "agent_id", "subagent_uri", "status", "status_source", "child_thread_id", "child_thread_source", "child_last_updated_at"} {
		if theirs[key] != nil && ours[key] != theirs[key] {
			t.Errorf("%s: got %v, want %v", key, ours[key], theirs[key])
		}
	}
	a, _ := ours["subagents"].([]any)
	o, _ := theirs["subagents"].([]any)
	if len(a) != len(o) {
		t.Fatalf("got %d subagents, want %d", len(a), len(o))
	}
	for i := range a {
		for _, key := range []string{"agent_id", "uri", "status", "status_source", "last_update", "thread_source"} {
			if got, want := a[i].(map[string]any)[key], o[i].(map[string]any)[key]; got != want {
				t.Errorf("subagent %d: %s: got %v, want %v", i+1, key, got, want)
			}
		}
	}
	for _, line := range strings.Split(want, "\n") {
		if m := event.FindString(line); m != "" {
			line = m
		}
		if told := strings.HasPrefix(line, "- Evidence: ") || strings.HasPrefix(line, "- `2026") || strings.HasPrefix(line, "- Relation: "); told && !strings.Contains(b.String(), line) {
			t.Errorf("missing: %s", line)
		}
	}
	if got, want := entries(b.String()), entries(want); got != want {
		t.Errorf("got messages\n%s\nwant\n%s", got, want)
	}
}

// event matches what an event says besides its words.
var event = regexp.MustCompile("^- `2026[^`]*` `[^`]*`")

var entry = regexp.MustCompile(`(?m)^#{2,3} \d+\. `)

func entries(page string) string {
	list := entry.Split(page, -1)[1:]
	for i, e := range list {
		list[i] = strings.TrimSpace(e)
	}
	return strings.Join(list, "\n\n")
}

// FuzzDocument reads any bytes as a thread.
func FuzzDocument(f *testing.F) {
	dir := f.TempDir()
	home(f, dir)
	path := filepath.Join(dir, ".local/share/amp/threads", mainID+".json")
	for _, id := range []string{mainID, waitID, plainID, stopID} {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(path), id+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"messages":[{"role":"assistant","usage":{"inputTokens":-5,"outputTokens":1e300},"content":[[[`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		p := open(t, dir)
		for _, err := range p.Threads(t.Context()) {
			if err != nil {
				t.Error(err)
			}
		}
		th, err := p.Thread(t.Context(), mainID)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = th.Read(t.Context(), thread.Tools, func(m thread.Message) error {
			if m.N > 0 {
				n++
			}
			if m.N > 0 && m.N != n {
				t.Errorf("message %d has number %d", n, m.N)
			}
			return nil
		})
		if err != nil || n != th.Messages || th.State.Status == "" || th.State.Evidence == "" {
			t.Errorf("got %d messages, %v, %+v", n, err, th.Facts)
		}
		if u := th.Usage.Tokens; u.Input < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.Output < 0 {
			t.Errorf("got usage %+v", u)
		}
		if _, err := p.Agents(t.Context(), th); err != nil && !errors.Is(err, handoff.Unavailable) {
			t.Error(err)
		}
	})
}
