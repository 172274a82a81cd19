package opencode_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/opencode"
	"github.com/agent-handoff/handoff/threadtest"
)

func open(t testing.TB, roots ...string) thread.Provider {
	t.Helper()
	p, err := opencode.Driver().Open(roots)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRealThreads reads every real database that lies in a home: each thread
// that is listed resolves, all that is written is read, and usage is what the
// independent program found.
func TestRealThreads(t *testing.T) {
	base := threadtest.Shared(t, "fixtures/transcripts")
	want := threadtest.Expected(t, "opencode")
	read := 0
	for _, home := range threadtest.Homes(t, "opencode", dataDir) {
		threadtest.Untouched(t, home)
		path := filepath.Join(home, dataDir, "opencode.db")
		rel, err := filepath.Rel(base, path)
		if err != nil {
			t.Fatal(err)
		}
		var f struct {
			Roles  map[string]int   `json:"roles"`
			Models map[string]int   `json:"models"`
			Tables map[string]int   `json:"tables"`
			Tokens map[string]int64 `json:"tokens"`
		}
		if err := json.Unmarshal(want[filepath.ToSlash(rel)], &f); err != nil {
			t.Fatalf("%s: %v", rel, err)
		}
		p := open(t, filepath.Join(home, dataDir))
		sessions, lines := 0, 0
		var got thread.Tokens
		for th, err := range p.Threads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			list := []*thread.Thread{th}
			agents, err := p.Agents(t.Context(), th)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range agents {
				if !a.Validated {
					t.Errorf("%s: %s is not validated", th.ID, a.ID)
				}
				if a.Thread != nil {
					list = append(list, a.Thread)
				}
			}
			for _, th := range list {
				again, err := p.Thread(t.Context(), th.ID)
				if err != nil {
					t.Errorf("%s: %v", th.ID, err)
					continue
				}
				threadtest.Messages(t, again)
				sessions, lines = sessions+1, lines+again.Lines
				got.Add(again.Usage.Tokens)
				for _, m := range again.Usage.Models {
					if _, known := f.Models[m.Provider+"/"+m.Model]; !known {
						t.Errorf("%s: %s/%s was not used", th.ID, m.Provider, m.Model)
					}
				}
			}
		}
		read += sessions
		if sessions != f.Tables["session"] || lines != f.Tables["message"]+f.Tables["part"] {
			t.Errorf("%s: got %d threads with %d rows, want %+v", rel, sessions, lines, f.Tables)
		}
		spent := thread.Tokens{
			Input: f.Tokens["input"], CacheRead: f.Tokens["cache_read"], CacheWrite: f.Tokens["cache_write"],
			Output: f.Tokens["output"] + f.Tokens["reasoning"], Reasoning: f.Tokens["reasoning"], Calls: got.Calls, Cost: float64(f.Tokens["cost"]),
		}
		if got != spent {
			t.Errorf("%s: got %+v, want %+v", rel, got, spent)
		}
	}
	t.Logf("%d real threads read", read)
}

// TestRealFiles reads the real files of before there was a database.
func TestRealFiles(t *testing.T) {
	dir := threadtest.Shared(t, "fixtures/transcripts/opencode/jazzyalex+agent-sessions")
	threadtest.Untouched(t, dir)
	for _, tt := range []struct {
		storage, id string
		messages    []string
		calls       int
		status      thread.Status
	}{
		{"storage_v2", "s_stage0_small", []string{"user: Hello", "assistant: Found 2 files."}, 1, thread.Running},
		{"storage_v2", "s_stage0_large", []string{"user: Step 1", "assistant: [thought]", "compaction: Context was compacted.", "user: Step 2", "assistant: Ok"}, 1, thread.Running},
		{"storage_legacy", "s_stage0_drift", []string{"assistant: Read README and extracted the title."}, 1, thread.Running},
	} {
		root := t.TempDir()
		if err := os.CopyFS(filepath.Join(root, "storage"), os.DirFS(filepath.Join(dir, tt.storage))); err != nil {
			t.Fatal(err)
		}
		th, err := open(t, root).Thread(t.Context(), tt.id)
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

// A recorded part is one as the watcher of a session exported it: with what its
// message says, without its ids.
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

// TestRealStatuses writes the sessions that were watched part by part, and
// looks at each moment where they stand. The messages around the parts were not
// recorded and are made up again: a message ends when its last request does.
func TestRealStatuses(t *testing.T) {
	base := threadtest.Shared(t, "fixtures/transcripts/opencode/ingo-eichhorst+Irrlicht")
	agreed, phases := 0, 0
	for _, s := range threadtest.Scenarios(t, "opencode") {
		b, err := os.ReadFile(filepath.Join(base, "extracted", s.Name, "transcript.jsonl"))
		if err != nil {
			t.Logf("%s: no transcript", s.Name)
			continue
		}
		var list []recorded
		for line := range strings.Lines(string(b)) {
			var r recorded
			if json.Unmarshal([]byte(line), &r.part) != nil {
				t.Fatal(s.Name)
			}
			r.raw = json.RawMessage(strings.TrimSpace(line))
			list = append(list, r)
		}
		seen := []string{"ready"}
		for n := 1; n <= len(list); n++ {
			now := state(t, list[:n])
			phase := "ready"
			if now.Waiting != "" {
				phase = "waiting"
			} else if now.Status == thread.Running {
				phase = "working"
			}
			if seen[len(seen)-1] != phase {
				seen = append(seen, phase)
			}
		}
		n := threadtest.Agree(seen, s.Phases)
		agreed, phases = agreed+n, phases+len(s.Phases)
		if n < len(s.Phases) {
			t.Errorf("%s: saw %v, want %v", s.Name, seen, s.Phases)
		}
	}
	t.Logf("%d of %d phases agree", agreed, phases)
}

// state is where a session with these parts stands.
func state(t *testing.T, parts []recorded) thread.State {
	t.Helper()
	b := session(parentID, "", 0)
	b.at = parts[0].part.At - 1000
	for _, r := range parts {
		p := r.part
		if p.Role == "user" || p.Type == "step-start" || len(b.pages) == 0 {
			b.pages = append(b.pages, page{id: "msg_" + string(rune('a'+len(b.pages))), at: p.At, data: obj{"role": p.Role, "time": obj{"created": p.At}}})
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
	b.files(t, filepath.Join(root, "storage"), func(m string, i int) string { return filepath.Join(m, strings.Repeat("p", i+1)+".json") })
	th, err := open(t, root).Thread(t.Context(), parentID)
	if err == nil {
		err = th.Load(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return th.State
}
