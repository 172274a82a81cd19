package amp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/amp"
)

func TestSuite(t *testing.T) {
	threadtest.Run(t, threadtest.Suite{Driver: amp.Driver(), Write: home})
}

func provider(t testing.TB, home string) thread.Provider {
	t.Helper()
	return threadtest.Open(t, amp.Driver(), home)
}

func TestID(t *testing.T) {
	for in, want := range map[string]string{mainID: mainID, strings.ToUpper(mainID): mainID,
		strings.ToLower(mainID): mainID, mainID[2:]: "", "T-1": "", "": ""} {
		if got, ok := amp.Driver().ID(in); ok != (want != "") || ok && got != want {
			t.Errorf("ID(%q) = %q, %v, want %q", in, got, ok, want)
		}
	}
}

// TestTruncated truncates a document at every byte. It must be read and must not have
// ended.
func TestTruncated(t *testing.T) {
	dir := t.TempDir()
	home(t, dir)
	path := filepath.Join(dir, ".local/share/amp/threads", mainID+".json")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := provider(t, dir)
	for n := range len(whole) {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		th, err := p.Thread(t.Context(), mainID)
		if err == nil {
			err = th.Load(t.Context())
		}
		if err != nil || len(th.Warnings) == 0 || th.State.Status.Ended() {
			t.Fatalf("%d bytes: got %v, %+v", n, err, th.Facts)
		}
	}
}

// TestRealThreads reads the published threads and compares their usage with that of
// another decoder.
func TestRealThreads(t *testing.T) {
	read := 0
	for _, home := range threadtest.Homes(t, "amp", ".local/share/amp") {
		threadtest.CheckUnchanged(t, home)
		p := provider(t, home)
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
					want.Add(thread.Tokens{Input: u.InputTokens, Output: u.OutputTokens, CacheWrite: u.CacheCreationInputTokens,
						CacheRead: u.CacheReadInputTokens, Calls: 1})
				}
			}
			read++
			said, calls := threadtest.Messages(t, th)
			if len(said) < 2 || len(calls) < 2 || th.Usage.Tokens != want || th.State.Status != thread.Completed ||
				th.State.Source != thread.Child || th.Commit == "" || th.Cwd == "" || th.Title == "" {
				t.Errorf("%s: got %d messages, %d calls, %+v, want usage %+v", th.ID, len(said), len(calls), th, want)
			}
			again, err := p.Thread(t.Context(), th.ID)
			if err != nil || again.Source != th.Source {
				t.Errorf("%s: %v", th.ID, err)
			}
		}
	}
	t.Logf("read %d published threads", read)
}

func TestXurl(t *testing.T) {
	const word = "child_rollout is the term in the design of the URIs"
	threadtest.Xurl(t, amp.Driver(), "XDG_DATA_HOME", map[string]string{
		"amp-bad-child":            "an invalid ID is an unknown agent, as for every provider",
		"amp-detail status_source": word,
		"amp-head status_source":   word,
		"amp-read status_source":   word,
	})
}

// FuzzDocument reads any bytes as a thread.
func FuzzDocument(f *testing.F) {
	dir := f.TempDir()
	home(f, dir)
	threadtest.AddSeeds(f, dir, "*.json")
	f.Add([]byte(`{"messages":[{"role":"assistant","usage":{"inputTokens":-5,"outputTokens":1e300},"content":[[[`))
	alone := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		threadtest.WriteFile(t, string(b), alone, ".local/share/amp/threads", mainID+".json")
		p := provider(t, alone)
		for _, err := range p.Threads(t.Context()) {
			if err != nil {
				t.Error(err)
			}
		}
		threadtest.CheckThread(t, p, mainID)
	})
}
