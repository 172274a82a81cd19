package opencode_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/opencode"
)

func provider(t testing.TB, roots ...string) thread.Provider {
	t.Helper()
	p, err := opencode.Driver().Open(roots)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// figures are the reference values of one database, from an independent program.
type figures struct {
	Models map[string]int   `json:"models"`
	Tables map[string]int   `json:"tables"`
	Tokens map[string]int64 `json:"tokens"`
}

// TestRealThreads checks that each thread and subagent of a database resolves, that
// subagents are validated and not listed, that every row is read, and that usage equals
// the reference values.
func TestRealThreads(t *testing.T) {
	threadtest.EachReal(t, opencode.Driver(), dataDir, func(t *testing.T, r threadtest.Real) {
		f := threadtest.Figures[figures](t, r.Figures)
		threads, lines := 0, 0
		var got thread.Tokens
		var read func(id string)
		read = func(id string) {
			th := threadtest.Load(t, r.Provider, id)
			threads, lines = threads+1, lines+th.Lines
			got.Add(th.Usage.Tokens)
			for _, m := range th.Usage.Models {
				if _, known := f.Models[m.Provider+"/"+m.Model]; !known {
					t.Errorf("%s: %s/%s was not used", id, m.Provider, m.Model)
				}
			}
			if th.Parent != "" {
				return
			}
			agents, err := r.Provider.Agents(t.Context(), th)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range agents {
				if r.Sessions[a.ID] {
					t.Errorf("%s is a subagent and is listed", a.ID)
				}
				if threadtest.CheckChild(t, r.Provider, id, a.ID); a.Thread != nil {
					read(a.ID)
				}
			}
		}
		for id := range r.Sessions {
			read(id)
		}
		if threads != f.Tables["session"] || lines != f.Tables["message"]+f.Tables["part"] {
			t.Errorf("got %d threads with %d rows, want %+v", threads, lines, f.Tables)
		}
		want := thread.Tokens{
			Input: f.Tokens["input"], CacheRead: f.Tokens["cache_read"], CacheWrite: f.Tokens["cache_write"],
			Output: f.Tokens["output"] + f.Tokens["reasoning"], Reasoning: f.Tokens["reasoning"], Calls: got.Calls,
			Cost: float64(f.Tokens["cost"]),
		}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// TestRealFiles reads published files of versions without a database.
func TestRealFiles(t *testing.T) {
	dir := threadtest.Transcripts(t, "opencode/jazzyalex+agent-sessions")
	threadtest.CheckUnchanged(t, dir)
	for _, tt := range []struct {
		storage, id string
		messages    []string
		calls       int
		status      thread.Status
	}{
		{"storage_v2", "s_stage0_small", []string{"user: Hello", "assistant: Found 2 files."}, 1, thread.Running},
		{"storage_v2", "s_stage0_large", []string{"user: Step 1", "assistant: [thought]",
			"compaction: Context was compacted.", "user: Step 2", "assistant: Ok"}, 1, thread.Running},
		{"storage_legacy", "s_stage0_drift", []string{"assistant: Read README and extracted the title."}, 1, thread.Running},
	} {
		root := t.TempDir()
		if err := os.CopyFS(filepath.Join(root, "storage"), os.DirFS(filepath.Join(dir, tt.storage))); err != nil {
			t.Fatal(err)
		}
		th, err := provider(t, root).Thread(t.Context(), tt.id)
		if err != nil {
			t.Errorf("%s: %v", tt.id, err)
			continue
		}
		got, calls := threadtest.Messages(t, th)
		for i := range got {
			got[i] = strings.Replace(got[i], "Investigating failing command.", "[thought]", 1)
		}
		if !slices.Equal(got, tt.messages) || len(calls) != tt.calls || th.State.Status != tt.status {
			t.Errorf("%s: got %q, %q, %+v", tt.id, got, calls, th.State)
		}
	}
}

// A recorded part is one that the watcher of a session exported: with data of its
// message, without IDs.
type recorded struct {
	part jsonPart
	raw  json.RawMessage
}

type jsonPart struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
	Role   string `json:"_role"`
	At     int64  `json:"_ts"`
	Error  any    `json:"_error"`
}

// TestRealStatuses writes the watched sessions part by part and compares their phases.
// The messages were not recorded and are reconstructed: a message ends when its last
// request ends.
func TestRealStatuses(t *testing.T) {
	base := threadtest.Transcripts(t, "opencode/ingo-eichhorst+Irrlicht")
	c := threadtest.Tally{More: map[string]int{}}
	for _, s := range threadtest.Scenarios(t, "opencode") {
		b, err := os.ReadFile(filepath.Join(base, "extracted", s.Name, "transcript.jsonl"))
		if err != nil {
			t.Logf("%s: no transcript", s.Name)
			continue
		}
		var list []recorded
		seen := []string{"ready"}
		for line := range strings.Lines(string(b)) {
			list = append(list, recorded{threadtest.Figures[jsonPart](t, json.RawMessage(line)),
				json.RawMessage(strings.TrimSpace(line))})
			seen = append(seen, threadtest.Phase(state(t, list)))
		}
		c.Count(t, s, seen, 0)
	}
	c.Report(t)
	want := map[string]int{
		"1-1_session-start":           2, // a turn without an assertion
		"1-2_session-end":             2, // a turn without an assertion
		"1-4_session-resume":          2, // the turn after the session was resumed, without an assertion of its phase
		"5-1_token-accounting":        2, // a third turn
		"5-3_model-switch-midsession": 1, // the end of the last turn
	}
	if !maps.Equal(c.More, want) {
		t.Errorf("got additional phases %v, want %v", c.More, want)
	}
}

// state returns the state of a session with these parts.
func state(t *testing.T, parts []recorded) thread.State {
	t.Helper()
	b := session(parentID, "", 0)
	b.at = parts[0].part.At - 1000
	for _, r := range parts {
		p := r.part
		if p.Role == "user" || p.Type == "step-start" || len(b.pages) == 0 {
			b.pages = append(b.pages, page{id: "msg_" + string(rune('a'+len(b.pages))), at: p.At,
				data: obj{"role": p.Role, "time": obj{"created": p.At}}})
		}
		m := &b.pages[len(b.pages)-1]
		var part obj
		if err := json.Unmarshal(r.raw, &part); err != nil {
			t.Fatal(err)
		}
		m.parts = append(m.parts, part)
		if p.Type == "step-finish" {
			m.data["finish"], m.data["time"] = p.Reason, obj{"created": m.at, "completed": p.At}
		}
		if p.Error != nil {
			m.data["error"] = p.Error
		}
	}
	root := t.TempDir()
	for i := range b.pages {
		b.pages[i].id = strings.Repeat("m", i+1) // in order
	}
	b.files(t, filepath.Join(root, "storage"), func(m string, i int) string {
		return filepath.Join(m, strings.Repeat("p", i+1)+".json")
	})
	return threadtest.Load(t, provider(t, root), parentID).State
}
