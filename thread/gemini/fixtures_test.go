package gemini_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/gemini"
	"github.com/agent-handoff/handoff/threadtest"
)

// figures are what the independent program found in one chat.
type figures struct {
	ID       string           `json:"id"`
	Bad      int              `json:"bad"`
	Tokens   map[string]int64 `json:"tokens"`
	Tools    map[string]int   `json:"tools"`
	Models   map[string]int   `json:"models"`
	Messages map[string]int   `json:"messages"`
}

// tookBack is what was spent on messages that are no longer part of a chat: one
// was taken back, one was replaced by a summary. The independent program leaves
// it out. We leave it out of messages, and count it for the thread: it was paid.
var tookBack = map[string]int64{
	"ca28c1ad-71ff-409f-bd58-7f61ce1fc818": 11625,
	"6fa49bec-41c1-4a7f-802e-eeb343ba34ad": 11693,
}

// compare holds a thread against the figures.
func compare(t *testing.T, path string, th *thread.Thread, f figures) {
	t.Helper()
	var shown thread.Tokens
	calls := 0
	err := th.Read(t.Context(), thread.Tools, func(m thread.Message) error {
		calls += len(m.Tools)
		if m.Usage != nil {
			shown.Add(*m.Usage)
		}
		return nil
	})
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	want := tokens{f.Tokens["input"], f.Tokens["output"], f.Tokens["cached"], f.Tokens["thoughts"], f.Tokens["tool"]}.want(shown.Calls)
	if shown != want {
		t.Errorf("%s: got %+v, want %+v", path, shown, want)
	}
	if got := th.Usage.Total() - shown.Total(); got != tookBack[th.ID] {
		t.Errorf("%s: %d tokens were spent on what was taken back, want %d", path, got, tookBack[th.ID])
	}
	tools := 0
	for _, n := range f.Tools {
		tools += n
	}
	if calls != tools || th.ToolCalls != tools || th.BadLines != f.Bad {
		t.Errorf("%s: got %d calls (%d) and %d bad lines, want %d and %d", path, calls, th.ToolCalls, th.BadLines, tools, f.Bad)
	}
	for _, m := range th.Usage.Models {
		if f.Models[m.Model] == 0 && tookBack[th.ID] == 0 {
			t.Errorf("%s: model %q was not used", path, m.Model)
		}
	}
}

// TestRealThreads reads every real chat that lies in a home.
func TestRealThreads(t *testing.T) {
	base := threadtest.Shared(t, "fixtures/transcripts")
	want := threadtest.Expected(t, "gemini")
	read := 0
	for _, home := range threadtest.Homes(t, "gemini", ".gemini") {
		threadtest.Untouched(t, home)
		p := provider(t, home)
		sessions := map[string]bool{}
		for th, err := range p.Threads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			sessions[th.ID] = true
			if said, _ := threadtest.Messages(t, th); len(said) == 0 {
				t.Errorf("%s: nothing was read", th.Source)
			}
		}
		for path, b := range want {
			if !strings.HasPrefix(filepath.Join(base, path), filepath.Join(home, ".gemini")) {
				continue
			}
			var f figures
			if err := json.Unmarshal(b, &f); err != nil {
				t.Fatal(err)
			}
			th, err := p.Thread(t.Context(), f.ID)
			if err != nil || !sessions[f.ID] {
				t.Errorf("%s: %v, listed %v", path, err, sessions[f.ID])
				continue
			}
			read++
			compare(t, path, th, f)
			if agents, err := p.Agents(t.Context(), th); err != nil || len(agents) > 0 {
				t.Errorf("%s: got agents %v, %v", path, agents, err)
			}
		}
	}
	t.Logf("%d real threads read", read)
}

// TestRealFormats reads chats that lie outside a home: old and drifted ones.
func TestRealFormats(t *testing.T) {
	base := threadtest.Shared(t, "fixtures/transcripts")
	for path, b := range threadtest.Expected(t, "gemini") {
		var f figures
		if err := json.Unmarshal(b, &f); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(path, "/.gemini/") {
			continue
		}
		body, err := os.ReadFile(filepath.Join(base, path))
		if err != nil {
			t.Fatal(err)
		}
		home := t.TempDir()
		put(t, home, "p/chats/session-2026-01-01T10-00-"+filepath.Base(path), string(body))
		id := f.ID
		if id == "" {
			id = strings.TrimSuffix("session-2026-01-01T10-00-"+filepath.Base(path), ".json")
		}
		th, err := provider(t, home).Thread(t.Context(), id)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		compare(t, path, th, f)
		t.Logf("%s: %d messages, %s, usage %s", path, th.Messages, th.State.Status, th.Usage.Completeness)
	}
}

// TestRealStatuses replays the sessions that were watched.
func TestRealStatuses(t *testing.T) {
	home := filepath.Join(threadtest.Shared(t, "fixtures/transcripts"), "gemini", "ingo-eichhorst+Irrlicht")
	p := provider(t, home)
	agreed, phases := 0, 0
	for _, s := range threadtest.Scenarios(t, "gemini") {
		phases += len(s.Phases)
		var seen []string
		for _, session := range s.Sessions {
			_, short, _ := strings.Cut(strings.TrimPrefix(session, "session-"), "T")
			id := ""
			for th, err := range p.Threads(t.Context()) {
				if err == nil && len(short) > 6 && strings.HasPrefix(th.ID, short[6:]) {
					id = th.ID
				}
			}
			if id == "" {
				continue
			}
			th, err := p.Thread(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			source, err := filepath.Rel(home, th.Source)
			if err != nil {
				t.Fatal(err)
			}
			for _, phase := range threadtest.Replay(t, gemini.Driver(), home, source, id) {
				if len(seen) == 0 || seen[len(seen)-1] != phase {
					seen = append(seen, phase)
				}
			}
		}
		n := threadtest.Agree(seen, s.Phases)
		agreed += n
		if n < len(s.Phases) {
			t.Errorf("%s: saw %v, want %v", s.Name, seen, s.Phases)
		}
	}
	t.Logf("%d of %d phases agree", agreed, phases)
}
