package threadindex_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/agent-handoff/handoff/internal/tool/testdir"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // the tests lack time, not memory
	os.Exit(testdir.Run(m.Run))
}

// A tree is a home directory with invented transcripts, which a test changes at
// random.
type tree struct {
	t     testing.TB
	r     *rand.Rand
	home  string
	count int
	large bool // comparing all queries takes long

	compared int // how often

	open string // ID of a call without a result

	collisions int            // found so far
	calls      map[string]int // rows found so far
}

func newTree(t testing.TB, seed uint64) *tree {
	return &tree{t: t, r: rand.New(rand.NewPCG(seed, 1)), home: t.TempDir(), calls: map[string]int{}}
}

func (tr *tree) set() *thread.Set {
	return thread.NewSet(all.Drivers(), func(string) string { return "" }, tr.home)
}

var vocabulary = strings.Fields("retry cart session größe 会话 parser timeout Retry refactor the-cart internal/cart.go " +
	"go test")

func (tr *tree) words() string {
	list := make([]string, 1+tr.r.IntN(8))
	for i := range list {
		list[i] = vocabulary[tr.r.IntN(len(vocabulary))]
	}
	return strings.Join(list, " ")
}

// prompt returns words, sometimes after the line that a thread which continues another one starts with.
func (tr *tree) prompt() string {
	if tr.count%3 > 0 {
		return tr.words()
	}
	return thread.ContinueLine(thread.URI{Provider: "codex", Thread: fmt.Sprint(tr.count % 9)}) + "\n" + tr.words()
}

func (tr *tree) id() string {
	tr.count++
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", tr.r.Uint32(), tr.count)
}

type object = map[string]any

func line(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

// claudeLine returns a record of a session or of a subagent.
func (tr *tree) claudeLine(session, agent string) string {
	tr.count++
	at := time.Date(2026, 2, 3, 4, 0, tr.count/64, 0, time.UTC).Format(time.RFC3339)
	rec := object{"uuid": tr.id(), "sessionId": session, "timestamp": at, "version": "2.1.100",
		"cwd": "/work/" + fmt.Sprint(tr.r.IntN(3)), "gitBranch": "main"}
	if agent != "" {
		rec["agentId"], rec["isSidechain"] = agent, true
	}
	kind := tr.r.IntN(8)
	if tr.open != "" && tr.r.IntN(4) > 0 {
		kind = 0
	}
	switch kind {
	case 0, 1:
		rec["type"], rec["message"] = "user", object{"role": "user", "content": tr.prompt()}
		if tr.open != "" && tr.r.IntN(3) > 0 {
			rec["message"] = object{"role": "user",
				"content": []object{{"type": "tool_result", "tool_use_id": tr.open, "is_error": tr.r.IntN(3) == 0,
					"content": tr.output()}}}
			tr.open = ""
		}
	case 2:
		rec["type"], rec["aiTitle"] = "ai-title", tr.words()
	default:
		content := []object{{"type": "text", "text": tr.words()}}
		if tr.r.IntN(4) > 0 {
			name := []string{"Edit", "Edit", "Read", "Bash"}[tr.r.IntN(4)]
			input := object{"file_path": fmt.Sprintf("/work/%d/cart.go", tr.r.IntN(3))}
			if name == "Bash" {
				input = object{"command": "go test ./" + tr.words()}
			}
			tr.open = tr.id()
			content = append(content, object{"type": "tool_use", "id": tr.open, "name": name, "input": input})
		}
		rec["type"], rec["message"] = "assistant", object{"id": tr.id(), "role": "assistant", "model": "claude-opus",
			"content": content, "usage": object{"input_tokens": 1 + tr.r.IntN(9), "output_tokens": 2}}
	}
	return line(rec)
}

// The artifacts and commits that invented threads name.
const (
	artifact = "art_01M7Y9N347VXYVC41JFRGRE3M6"
	commit   = "1f0e2d3c4b5a69788796a5b4c3d2e1f001234567"
)

// output returns the output of a command.
func (tr *tree) output() string {
	return []string{"ok", "FAIL\nexit status 1", "published " + artifact, "[main " + commit[:7] + "] cart",
		"commit " + commit, strings.Repeat("long ", 20000)}[tr.r.IntN(6)]
}

func (tr *tree) codexLine() string {
	tr.count++
	at := time.Date(2026, 2, 3, 4, 0, tr.count/64, 0, time.UTC).Format(time.RFC3339)
	payload := object{"type": "message", "role": []string{"user", "assistant"}[tr.r.IntN(2)],
		"content": []object{{"type": "input_text", "text": tr.words()}}}
	kind, result := "response_item", ""
	switch tr.r.IntN(6) {
	case 2:
		tr.open = tr.id()
		payload = object{"type": "function_call", "name": "exec_command", "call_id": tr.open,
			"arguments": line(object{"cmd": "git commit -m " + tr.words()})}
	case 3:
		payload = object{"type": "function_call_output", "call_id": tr.open, "output": tr.output()}
	case 0:
		id := tr.id()
		payload = object{"type": "custom_tool_call", "name": "apply_patch", "call_id": id,
			"input": "*** Begin Patch\n*** Update File: cart.go\n+" + tr.words() + "\n*** End Patch"}
		if tr.r.IntN(4) > 0 {
			result = line(object{"timestamp": at, "type": kind, "payload": object{"type": "custom_tool_call_output",
				"call_id": id, "output": "ok"}})
		}
	case 1:
		kind = "event_msg"
		used := object{"input_tokens": tr.count, "output_tokens": 1, "total_tokens": tr.count + 1}
		payload = object{"type": "token_count", "info": object{"total_token_usage": used, "last_token_usage": used}}
	}
	return line(object{"timestamp": at, "type": kind, "payload": payload}) + result
}

func (tr *tree) write(path, text string) {
	must(tr.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(tr.t, os.WriteFile(path, []byte(text), 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// files returns the transcripts.
func (tr *tree) files() (paths []string) {
	must(tr.t, filepath.WalkDir(tr.home, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	}))
	return paths
}

// create writes a new transcript: a session with or without a subagent, a copy of
// one, or a rollout, which may be a fork or a subagent of another.
func (tr *tree) create() {
	files := tr.files()
	project := filepath.Join(tr.home, ".claude", "projects", fmt.Sprintf("-work-%d", tr.r.IntN(2)))
	id := tr.id()
	switch tr.r.IntN(5) {
	case 0, 1:
		text := ""
		for range 1 + tr.r.IntN(6) {
			text += tr.claudeLine(id, "")
		}
		tr.write(filepath.Join(project, id+".jsonl"), text)
		if tr.r.IntN(2) == 0 {
			tr.write(filepath.Join(project, id, "subagents", "agent-a"+id[:6]+".jsonl"),
				tr.claudeLine(id, "a"+id[:6])+tr.claudeLine(id, "a"+id[:6]))
			tr.write(filepath.Join(project, id, "subagents", "agent-a"+id[:6]+".meta.json"), `{"agentType":"reviewer"}`)
		}
	case 2: // a fork repeats the records of another session
		for _, path := range files {
			if filepath.Dir(path) == project && strings.HasSuffix(path, ".jsonl") {
				b, err := os.ReadFile(path)
				must(tr.t, err)
				tr.write(filepath.Join(project, id+".jsonl"), string(b)+tr.claudeLine(id, ""))
				break
			}
		}
	default:
		meta := object{"id": id, "cwd": "/work/1", "cli_version": "0.130.0", "source": "cli", "git": object{"branch": "main"}}
		for _, i := range rand.New(rand.NewPCG(uint64(tr.count), 2)).Perm(len(files)) {
			path := files[i]
			if other := strings.TrimSuffix(path, ".jsonl"); strings.Contains(other, "rollout-") && other != path {
				switch tr.r.IntN(4) {
				case 0:
					meta["forked_from_id"] = other[len(other)-36:]
				case 1:
					meta["source"] = object{"subagent": object{
						"thread_spawn": object{"parent_thread_id": other[len(other)-36:], "agent_role": "reviewer"}}}
				}
				break
			}
		}
		text := line(object{"timestamp": "2026-02-03T04:00:00Z", "type": "session_meta", "payload": meta})
		for range 1 + tr.r.IntN(6) {
			text += tr.codexLine()
		}
		tr.write(filepath.Join(tr.home, ".codex", "sessions", "2026", "02", "03", "rollout-2026-02-03T04-00-00-"+id+".jsonl"),
			text)
	}
}

// more returns a record that may follow in a transcript.
func (tr *tree) more(path string) string {
	if strings.Contains(path, "rollout-") {
		return tr.codexLine()
	}
	return tr.claudeLine(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "")
}

// change changes one transcript.
func (tr *tree) change() {
	files := slices.DeleteFunc(tr.files(), func(path string) bool { return strings.HasSuffix(path, ".json") })
	if len(files) == 0 {
		return
	}
	path := files[tr.r.IntN(len(files))]
	info, err := os.Stat(path)
	must(tr.t, err)
	b, err := os.ReadFile(path)
	must(tr.t, err)
	plain := strings.HasSuffix(path, ".jsonl")
	codex := strings.Contains(path, "rollout-")
	more := tr.more(path)
	switch op := tr.r.IntN(9); {
	case op == 0:
		must(tr.t, os.Remove(path))
	case op == 1: // set the clock back
		old := info.ModTime().Add(-time.Duration(tr.r.IntN(1000)) * time.Hour)
		must(tr.t, os.Chtimes(path, old, old))
	case op == 2 && codex: // archive
		to := filepath.Join(tr.home, ".codex", "archived_sessions", filepath.Base(path))
		must(tr.t, os.MkdirAll(filepath.Dir(to), 0o755))
		must(tr.t, os.Rename(path, to))
	case op == 2: // move to another project
		to := filepath.Join(tr.home, ".claude", "projects", "-moved", filepath.Base(path))
		must(tr.t, os.MkdirAll(filepath.Dir(to), 0o755))
		must(tr.t, os.Rename(path, to))
	case op == 3 && codex && plain: // compress
		enc, err := zstd.NewWriter(nil)
		must(tr.t, err)
		tr.write(path+".zst", string(enc.EncodeAll(b, nil)))
		must(tr.t, os.Remove(path))
	case op == 4 && plain: // truncate
		must(tr.t, os.Truncate(path, int64(tr.r.IntN(len(b)+1))))
	case op == 5 && plain: // rewrite with the same size and times
		text := strings.NewReplacer("retry", "yrter", "cart", "trac").Replace(string(b))
		tr.write(path, text)
		must(tr.t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	case op == 6 && plain: // half a line
		tr.write(path, string(b)+more[:len(more)/2])
	case plain:
		tr.write(path, string(b)+more)
	}
}
