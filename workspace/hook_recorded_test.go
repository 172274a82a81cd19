package workspace_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
)

// recorded has what the payloads of each program must record: the work by the ID
// of the harness, as its kind, state and thread.
var recorded = map[string]struct {
	harness string
	work    map[string]string
}{
	"claude-2.1.330": {harness: "claude-code", work: map[string]string{
		"36efb5f2-8250-4649-b714-b1df64d64e0d": "session completed agents://claude/36efb5f2-8250-4649-b714-b1df64d64e0d",
		// resumed
		"99999999-9999-4999-8999-999999999999": "session open agents://claude/99999999-9999-4999-8999-999999999999",
		"2e041056-c3c8-453c-a180-cdc0ff866561": "prompt completed agents://claude/36efb5f2-8250-4649-b714-b1df64d64e0d",
		"6957fb8f-c287-4dfb-9413-b0a54cf3f0b4": "prompt completed agents://claude/36efb5f2-8250-4649-b714-b1df64d64e0d",
		"ad15c7b9057e63e69": "task completed " +
			"agents://claude/36efb5f2-8250-4649-b714-b1df64d64e0d/ad15c7b9057e63e69",
	}},
	"codex-0.169.0": {harness: "codex", work: map[string]string{
		"01a1ff9d-dfe1-7db2-8ea7-16f53376d221": "session completed agents://codex/01a1ff9d-dfe1-7db2-8ea7-16f53376d221",
		"01a1ff9d-e02e-73e2-8eee-95adae508d03": "prompt completed agents://codex/01a1ff9d-dfe1-7db2-8ea7-16f53376d221",
		"01a1ff9d-f14b-7b61-8ae5-9ce855451da1": "prompt completed agents://codex/01a1ff9d-f12c-7d90-ab9a-4b4158ae4bc1",
		"01a1ff9d-f12c-7d90-ab9a-4b4158ae4bc1": "task completed agents://codex/01a1ff9d-f12c-7d90-ab9a-4b4158ae4bc1",
	}},
	"gemini-0.61.0": {harness: "gemini-cli", work: map[string]string{
		"6235f1ba-2131-441d-a1d8-a4ef9eb5020a": "session completed " +
			"agents://gemini/6235f1ba-2131-441d-a1d8-a4ef9eb5020a",
		"6235f1ba-2131-441d-a1d8-a4ef9eb5020a#1795290867713": "prompt completed " +
			"agents://gemini/6235f1ba-2131-441d-a1d8-a4ef9eb5020a",
	}},
	"qwen-0.24.4": {harness: "qwen-code", work: map[string]string{
		"1eeb7fae-af26-42ed-aee8-61f075ecacd1":          "session open agents://qwen/1eeb7fae-af26-42ed-aee8-61f075ecacd1",
		"1eeb7fae-af26-42ed-aee8-61f075ecacd1########0": "prompt completed agents://qwen/1eeb7fae-af26-42ed-aee8-61f075ecacd1",
		"general-purpose-call_mwqtkht4000s": "task completed " +
			"agents://qwen/1eeb7fae-af26-42ed-aee8-61f075ecacd1/general-purpose-call_mwqtkht4000s",
	}},
	"copilot-1.0.102": {harness: "copilot-cli", work: map[string]string{
		"95d7fb41-09e5-4215-8235-58a2688ba5d3": "session completed " +
			"agents://copilot/95d7fb41-09e5-4215-8235-58a2688ba5d3",
		"95d7fb41-09e5-4215-8235-58a2688ba5d3#1795291428906": "prompt completed " +
			"agents://copilot/95d7fb41-09e5-4215-8235-58a2688ba5d3",
		"3d56e8f5-ed25-44c5-9cd8-d0f0cfc81636": "task completed " +
			"agents://copilot/95d7fb41-09e5-4215-8235-58a2688ba5d3/3d56e8f5-ed25-44c5-9cd8-d0f0cfc81636",
		"3d56e8f5-ed25-44c5-9cd8-d0f0cfc81636#1795291429317": "prompt completed " +
			"agents://copilot/95d7fb41-09e5-4215-8235-58a2688ba5d3/3d56e8f5-ed25-44c5-9cd8-d0f0cfc81636",
	}},
	"opencode-1.18.33": {harness: "opencode", work: map[string]string{
		"ses_e005916aaffencPGEU4JTsz2NK": "session open agents://opencode/ses_e005916aaffencPGEU4JTsz2NK",
		"msg_1ffa6eb940011a5yrNpZwoPRtt": "prompt completed agents://opencode/ses_e005916aaffencPGEU4JTsz2NK",
		"ses_e0058eb7dffeLqn7rn1FbUIaFR": "task completed agents://opencode/ses_e0058eb7dffeLqn7rn1FbUIaFR",
		"msg_1ffa714a90014T44jQpnQKR40l": "prompt completed agents://opencode/ses_e0058eb7dffeLqn7rn1FbUIaFR",
	}},
	"pi-0.73.1": {harness: "pi", work: map[string]string{
		"01a1ffa5-a870-7316-adf0-e38c6c9391d4":  "session completed agents://pi/01a1ffa5-a870-7316-adf0-e38c6c9391d4",
		"01a1ffa5-a870-7316-adf0-e38c6c9391d4#": "prompt completed agents://pi/01a1ffa5-a870-7316-adf0-e38c6c9391d4",
		"01a1ffb2-bb32-7574-8ee2-a2c879c3e811":  "task completed agents://pi/01a1ffb2-bb32-7574-8ee2-a2c879c3e811",
		"01a1ffb2-bb32-7574-8ee2-a2c879c3e811#": "prompt completed agents://pi/01a1ffb2-bb32-7574-8ee2-a2c879c3e811",
	}},
}

// order is that of events in a session.
var order = []string{"SessionStart", "sessionStart", "event.session.created", "session_start",
	"UserPromptSubmit", "userPromptSubmitted", "BeforeAgent", "chat.message", "agent_start",
	"SubagentStart", "subagentStart", "SubagentStop", "subagentStop", "Stop", "agentStop", "AfterAgent",
	"event.session.idle", "agent_end",
	"session_shutdown", "SessionEnd", "sessionEnd"}

// compareEvents orders the files of payloads. A subagent starts after the main
// agent and ends before it.
func compareEvents(a, b string) int {
	rank := func(file string) int {
		return slices.IndexFunc(order, func(event string) bool { return strings.HasPrefix(filepath.Base(file), event+".") })
	}
	switch {
	case rank(a) != rank(b):
		return rank(a) - rank(b)
	case rank(a) < slices.Index(order, "SubagentStop"):
		return strings.Compare(a, b)
	}
	return strings.Compare(b, a)
}

// passRecorded passes a recorded payload as the hooks, the plugin or the extension
// that handoff installs does.
func (h hooks) passRecorded(client, file string) {
	h.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		h.t.Fatal(err)
	}
	program, _, _ := strings.Cut(client, "-")
	var payload map[string]any
	if err := json.Unmarshal(text, &payload); err != nil {
		h.t.Fatal(err)
	}
	payload["cwd"] = h.dir // which the plugin of OpenCode adds, too
	if program == "pi" && strings.Contains(file, ".subagent.") {
		payload["outerSessionId"] = "01a1ffa5-a870-7316-adf0-e38c6c9391d4"
	}
	text, err = json.Marshal(payload)
	if err != nil {
		h.t.Fatal(err)
	}
	event, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "event."), ".json"), ".subagent")
	h.pass(program, event, string(text))
}

// recordedWork returns the work in the log by its ID: its kind, state and
// thread.
func (h hooks) recordedWork(harness string) map[string]string {
	h.t.Helper()
	newest, err := h.w.Hub().Newest(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	list := map[string]string{}
	for r, err := range h.w.Store().Facts(h.t.Context(), "0") {
		if err != nil {
			h.t.Fatal(err)
		}
		if f, ok := r.Fact.(*handoff.WorkStarted); ok {
			w, id := h.work(harness, f.WorkID), f.WorkID
			if harness == "pi" && w.Kind == "prompt" { // its ID has the time of the hook
				id = strings.TrimRight(id, "0123456789")
			}
			list[id] = fmt.Sprint(w.Kind, " ", cmp.Or(w.Status, "open"), " ", w.Thread)
		}
		if r.Seq == newest {
			break
		}
	}
	return list
}

// TestRecordedHooks passes the payloads that real programs passed to their hooks.
// It skips unless HANDOFF_HOOKS names their directory, which has one for each
// program, with a file for each event.
func TestRecordedHooks(t *testing.T) {
	dir := os.Getenv("HANDOFF_HOOKS")
	if dir == "" {
		t.Skip("HANDOFF_HOOKS is not set: recorded payloads of hooks are not tested")
	}
	for name, tt := range recorded {
		t.Run(name, func(t *testing.T) {
			h := newHooks(t)
			files, err := filepath.Glob(filepath.Join(dir, name, "*.json"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no payloads of %s, %v", name, err)
			}
			slices.SortFunc(files, compareEvents)
			for range 2 {
				for _, file := range files {
					h.passRecorded(name, file)
				}
			}
			if got := h.recordedWork(tt.harness); !maps.Equal(got, tt.work) {
				t.Errorf("recorded\n%v, want\n%v", got, tt.work)
			}
		})
	}
}
