package gemini_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/gemini"
)

// figures are the reference values of one chat, from an independent program.
type figures struct {
	ID       string           `json:"id"`
	Bad      int              `json:"bad"`
	Tokens   map[string]int64 `json:"tokens"`
	Tools    map[string]int   `json:"tools"`
	Models   map[string]int   `json:"models"`
	Messages map[string]int   `json:"messages"`
}

// removed is the usage of messages that were rewound or replaced by a summary. The
// reference values do not include it. It is not in the messages, but in the usage of
// the thread.
var removed = map[string]int64{
	"ca28c1ad-71ff-409f-bd58-7f61ce1fc818": 11625,
	"6fa49bec-41c1-4a7f-802e-eeb343ba34ad": 11693,
}

// compare compares a thread with the reference values.
func compare(t *testing.T, th *thread.Thread, f figures) {
	t.Helper()
	var shown thread.Tokens
	calls, tools := 0, 0
	err := th.Read(t.Context(), thread.Tools, func(m thread.Message) error {
		calls += len(m.Tools)
		if m.Usage != nil {
			shown.Add(*m.Usage)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := tokens{f.Tokens["input"], f.Tokens["output"], f.Tokens["cached"], f.Tokens["thoughts"],
		f.Tokens["tool"]}.want(shown.Calls)
	if shown != want {
		t.Errorf("got %+v, want %+v", shown, want)
	}
	if got := th.Usage.Total() - shown.Total(); got != removed[th.ID] {
		t.Errorf("got %d tokens of removed messages, want %d", got, removed[th.ID])
	}
	for _, n := range f.Tools {
		tools += n
	}
	if calls != tools || th.ToolCalls != tools || th.BadLines != f.Bad {
		t.Errorf("got %d calls (%d) and %d bad lines, want %d and %d", calls, th.ToolCalls, th.BadLines, tools, f.Bad)
	}
	for _, m := range th.Usage.Models {
		if f.Models[m.Model] == 0 && removed[th.ID] == 0 {
			t.Errorf("model %q was not used", m.Model)
		}
	}
}

// TestRealThreads checks that each ID resolves and is listed, that none has a subagent,
// and that usage and calls equal the reference values.
func TestRealThreads(t *testing.T) {
	threadtest.EachReal(t, gemini.Driver(), ".gemini", func(t *testing.T, r threadtest.Real) {
		f := threadtest.Figures[figures](t, r.Figures)
		th := threadtest.Load(t, r.Provider, f.ID)
		if !r.Sessions[f.ID] {
			t.Error("it is not listed")
		}
		compare(t, th, f)
		if agents, err := r.Provider.Agents(t.Context(), th); err != nil || len(agents) > 0 {
			t.Errorf("got agents %v, %v", agents, err)
		}
	})
}

// TestRealFormats reads chats outside a home directory: old versions and changed
// schemas.
func TestRealFormats(t *testing.T) {
	threadtest.EachOutside(t, "gemini", ".gemini", func(t *testing.T, path, body string, b json.RawMessage) {
		f := threadtest.Figures[figures](t, b)
		home := t.TempDir()
		name := "session-2026-01-01T10-00-" + filepath.Base(path)
		put(t, home, "p/chats/"+name, body)
		if f.ID == "" {
			f.ID = strings.TrimSuffix(name, ".json")
		}
		compare(t, threadtest.Load(t, provider(t, home), f.ID), f)
	})
}

// TestRealStatuses compares the recorded phases. A call is recorded when it has
// returned; until then the text before it looks like the last message.
func TestRealStatuses(t *testing.T) {
	want := map[string]int{
		"1-1_session-start":              2, // a turn without an assertion
		"1-6_checkpoint-rewind":          2, // the turn that was rewound
		"2-10_mid-turn-message-queued":   2, // the queued message's own turn
		"2-16_oversized-transcript-line": 5, // three calls, see above; the recording ends within the turn
	}
	if got := threadtest.CheckPhases(t, gemini.Driver(), nil); !maps.Equal(got, want) {
		t.Errorf("got additional phases %v, want %v", got, want)
	}
}

func TestRealTruncated(t *testing.T) { threadtest.CheckAllTruncated(t, gemini.Driver(), ".gemini") }
