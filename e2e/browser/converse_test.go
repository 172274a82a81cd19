package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The IDs of threads.
const (
	conversation = "2823d1df-720a-4c31-ac55-ae8ba7260001"
	another      = "2823d1df-720a-4c31-ac55-ae8ba7260002"
)

type object = map[string]any

// A transcript is one that Claude Code keeps.
type transcript struct {
	w      *workspace
	common object
	lines  []string
	at     time.Time
}

func (x *transcript) add(kind string, wait time.Duration, message object, more object) {
	x.at = x.at.Add(wait)
	r := object{"cwd": x.w.dir, "gitBranch": "retries", "version": "2.1.200", "type": kind, "message": message,
		"uuid": fmt.Sprint("u", len(x.lines)), "timestamp": x.at.UTC().Format(time.RFC3339Nano)}
	for _, fields := range []object{x.common, more} {
		for k, v := range fields {
			r[k] = v
		}
	}
	b, err := json.Marshal(r)
	must(x.w.t, err)
	x.lines = append(x.lines, string(b))
}

func (x *transcript) user(wait time.Duration, content any, more object) {
	x.add("user", wait, object{"role": "user", "content": content}, more)
}

func (x *transcript) answer(wait time.Duration, content ...object) {
	n := fmt.Sprint(len(x.lines))
	for i, block := range content { // each in a record of its own
		if i > 0 {
			wait = time.Second
		}
		x.add("assistant", wait, object{"id": "m" + n, "role": "assistant", "model": "claude-opus-4-1-20250805",
			"content": []object{block},
			"usage": object{"input_tokens": 1200, "output_tokens": 800, "cache_read_input_tokens": 52000,
				"cache_creation_input_tokens": 4100}}, object{"requestId": "r" + n})
	}
}

func (x *transcript) store(name string) {
	name = filepath.Join(filepath.Dir(x.w.dir), ".claude", "projects", "-shop", name)
	must(x.w.t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(x.w.t, os.WriteFile(name, []byte(strings.Join(x.lines, "\n")+"\n"), 0o644))
}

// converse writes two threads that work at the same time, one of them with a
// subagent.
func converse(w *workspace) {
	start := time.Now().Add(-20 * time.Minute)
	text := func(s string) object { return object{"type": "text", "text": s} }
	use := func(id, name string, input object) object {
		return object{"type": "tool_use", "id": id, "name": name, "input": input}
	}
	result := func(id, content string) []object {
		return []object{{"type": "tool_result", "tool_use_id": id, "content": content}}
	}
	file := filepath.Join(w.dir, "pay", "client.go")

	x := &transcript{w: w, common: object{"sessionId": conversation}, at: start}
	x.user(0, "Payments fail for a second at each deploy. Retry them, but not after **timeouts**.", nil)
	x.answer(20*time.Second, object{"type": "thinking", "thinking": "A timeout may hide a payment that was made."},
		text("I look at how the client reports timeouts."),
		use("t1", "Bash", object{"command": "grep -rn 'context.DeadlineExceeded' pay"}))
	x.user(10*time.Second, result("t1", "pay/client.go:12: return ctx.Err()"), nil)
	x.answer(15*time.Second, use("t2", "Agent",
		object{"description": "find every caller", "subagent_type": "scout", "prompt": "Find every caller of Pay."}))
	x.user(4*time.Minute,
		[]object{{"type": "tool_result", "tool_use_id": "t2", "content": "Three callers.\nagentId: scout1"}},
		object{"toolUseResult": object{"status": "completed", "agentId": "scout1"}})
	x.answer(30*time.Second, text("Three callers; none of them retries itself.\n\n| caller | timeout |\n|---|---|\n| "+
		"checkout | 2 s |\n| refunds | 5 s |\n"), use("t3", "Write", object{"file_path": file, "content": "package pay\n"}))
	x.user(10*time.Second, result("t3", "ok"), nil)
	x.answer(time.Minute, use("t4", "Bash", object{"command": "go test ./pay"}))
	x.user(2*time.Minute, []object{{"type": "tool_result", "tool_use_id": "t4", "content": "--- FAIL: TestTimeout",
		"is_error": true}}, nil)
	x.answer(5*time.Minute, text("The tests pass: `ok pay 0.8s`."))
	x.user(time.Minute, "Now describe it in the changelog.", nil)
	x.store(conversation + ".jsonl")

	a := &transcript{w: w, common: object{"sessionId": conversation, "agentId": "scout1", "isSidechain": true},
		at: start.Add(50 * time.Second)}
	a.user(0, "Find every caller of Pay.", nil)
	a.answer(time.Minute, use("s1", "Grep", object{"pattern": "Pay("}))
	a.user(time.Second, result("s1", "checkout.go\nrefunds.go\nadmin.go"), nil)
	a.answer(time.Minute, text("Three callers."))
	a.store(filepath.Join(conversation, "subagents", "agent-scout1.jsonl"))

	y := &transcript{w: w, common: object{"sessionId": another}, at: start.Add(time.Minute)}
	y.user(0, "Add metrics to the payment client.", nil)
	y.answer(3*time.Minute, use("w1", "Write", object{"file_path": file, "content": "package pay\n"}))
	y.user(time.Second, result("w1", "ok"), nil)
	y.answer(12*time.Minute, use("w2", "Bash", object{"command": "go test ./pay"}))
	y.store(another + ".jsonl")
}
