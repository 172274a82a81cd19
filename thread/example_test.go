package thread_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
)

// rollout is a thread of Codex.
const rollout = `{"timestamp":"2026-02-22T20:48:50Z","type":"session_meta","payload":{"id":"019c871c-b1f9-7f60-9c4f-87ed09f13592","timestamp":"2026-02-22T20:48:50Z","cwd":"/home/u/shop"}}
{"timestamp":"2026-02-22T20:48:51Z","type":"event_msg","payload":{"type":"task_started","turn_id":"1"}}
{"timestamp":"2026-02-22T20:48:52Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Why does the build fail?"}]}}
{"timestamp":"2026-02-22T20:48:58Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"A missing import."}]}}
{"timestamp":"2026-02-22T20:48:59Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":100,"output_tokens":20},"last_token_usage":{"input_tokens":100,"output_tokens":20}}}}
{"timestamp":"2026-02-22T20:49:00Z","type":"event_msg","payload":{"type":"task_complete","turn_id":"1"}}
`

// writeRollout writes the rollout to a home directory and returns that.
func writeRollout() string {
	home, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	dir := filepath.Join(home, ".codex", "sessions", "2026", "02", "22")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rollout-2026-02-22T20-48-50-019c871c-b1f9-7f60-9c4f-87ed09f13592.jsonl"),
		[]byte(rollout), 0o600); err != nil {
		log.Fatal(err)
	}
	return home
}

// Read a thread of any tool by its URI.
func ExampleSet_Open() {
	home := writeRollout()
	defer os.RemoveAll(home)
	ctx := context.Background()

	set := thread.NewSet(all.Drivers(), func(string) string { return "" }, home) // usually os.Getenv
	uri, err := thread.ParseURI("codex/019c871c-b1f9-7f60-9c4f-87ed09f13592")
	if err != nil {
		log.Fatal(err)
	}
	view, err := set.Open(ctx, uri)
	if err != nil {
		log.Fatal(err)
	}
	t := view.Thread
	err = t.Read(ctx, thread.Texts, func(m thread.Message) error {
		fmt.Printf("%d %s: %s\n", m.N, m.Role, m.Text)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Cwd, t.State.Status, t.Usage.Total(), t.Usage.Completeness)
	// Output:
	// 1 user: Why does the build fail?
	// 2 assistant: A missing import.
	// /home/u/shop completed 120 exact
}

// List the threads of one tool, newest first.
func ExampleSet_Provider() {
	home := writeRollout()
	defer os.RemoveAll(home)
	ctx := context.Background()

	set := thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	codex, err := set.Provider("codex")
	if err != nil {
		log.Fatal(err)
	}
	for t, err := range codex.Threads(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.URI(), t.Started.Format("2006-01-02"), t.Cwd)
	}
	// Output:
	// agents://codex/019c871c-b1f9-7f60-9c4f-87ed09f13592 2026-02-22 /home/u/shop
}
