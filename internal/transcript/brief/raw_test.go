package brief_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/transcript/brief"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
)

// raw is what a transcript has, as a reader of its file alone finds it.
type raw struct {
	prompts []string
	files   []string
	failed  []string // commands that were not run again with success
	open    map[string]string
	before  []string        // calls that were open at the last prompt
	ended   map[string]bool // those of them that are not open since the agent answered
	plan    []string        // steps that are not done
	calls   map[string]rawCall
	unread  bool // the file has branches or several threads, or was made unrecognizable
	seen    map[string]bool
	events  []string // prompts in the events of Codex
}

type rawCall struct{ name, command, files string }

func (r *raw) prompt(text string) {
	if strings.TrimSpace(text) != "" {
		r.prompts, r.before = append(r.prompts, text), slices.Collect(maps.Keys(r.open))
	}
}

// answer ends the calls of the turns before the last prompt.
func (r *raw) answer() {
	for _, id := range r.before {
		r.ended[id] = true
	}
}

func (r *raw) call(id, name string, input map[string]any) {
	if _, known := r.calls[id]; known {
		return
	}
	c := rawCall{name: name}
	for _, key := range []string{"command", "cmd"} {
		switch v := input[key].(type) {
		case string:
			c.command = v
		case []any:
			var words []string
			for _, w := range v {
				word, _ := w.(string)
				words = append(words, word)
			}
			c.command = strings.Join(words, " ")
		}
	}
	if slices.Contains([]string{"Write", "Edit", "MultiEdit", "write", "edit", "write_file", "replace", "create"}, name) {
		for _, key := range []string{"file_path", "path"} {
			if path, ok := input[key].(string); ok {
				c.files = path
			}
		}
	}
	patch, _ := input["patch"].(string)
	header := regexp.MustCompile(`(?m)^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$`)
	for _, text := range []string{patch, c.command} {
		for _, m := range header.FindAllStringSubmatch(text, -1) {
			if strings.Contains(text, "*** Begin Patch") {
				c.files += "\n" + strings.TrimSpace(m[1])
			}
		}
	}
	r.calls[id], r.open[id] = c, name
	steps, ok := input["todos"].([]any)
	if name == "update_plan" {
		steps, ok = input["plan"].([]any)
	}
	if !ok {
		return
	}
	r.plan = nil
	for _, s := range steps {
		one, _ := s.(map[string]any)
		text, _ := one["content"].(string)
		if text == "" {
			text, _ = one["step"].(string)
		}
		if one["status"] != "completed" {
			r.plan = append(r.plan, text)
		}
	}
}

func (r *raw) result(id string, failed bool) {
	c, known := r.calls[id]
	if _, open := r.open[id]; !known || !open {
		return
	}
	delete(r.open, id)
	if c.command != "" {
		r.failed = slices.DeleteFunc(r.failed, func(o string) bool { return o == c.command })
		if failed {
			r.failed = append(r.failed, c.command)
		}
	}
	for name := range strings.SplitSeq(c.files, "\n") {
		if name != "" && (!failed || c.command != "") {
			r.files = append(slices.DeleteFunc(r.files, func(o string) bool { return o == name }), name)
		}
	}
}

type record = map[string]any

func get(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(record)
		v = m[name]
	}
	return v
}

func str(v any, path ...string) string {
	s, _ := get(v, path...).(string)
	return s
}

func texts(content any) string {
	if s, ok := content.(string); ok {
		return s
	}
	list, _ := content.([]any)
	var all []string
	for _, c := range list {
		if kind := str(c, "type"); kind == "text" || kind == "input_text" {
			all = append(all, str(c, "text"))
		}
	}
	return strings.Join(all, "\n")
}

func claudeLine(r *raw, v record) {
	content := get(v, "message", "content")
	list, _ := content.([]any)
	switch str(v, "type") {
	case "assistant":
		r.answer()
		for _, c := range list {
			if str(c, "type") == "tool_use" {
				input, _ := get(c, "input").(record)
				r.call(str(c, "id"), str(c, "name"), input)
			}
		}
	case "user":
		for _, c := range list {
			if str(c, "type") == "tool_result" {
				r.result(str(c, "tool_use_id"), get(c, "is_error") == true)
			}
		}
		text := texts(content)
		tool := regexp.MustCompile(`^(<(local-command|bash-std|user-prompt|user-memory|command-args|task-notification)|Caveat: |` +
			`\[Request interrupted|This session is being continued)`)
		if m := regexp.MustCompile(`<command-name>(.*?)</command-name>`).FindStringSubmatch(text); m != nil {
			text = m[1]
		}
		if get(v, "isMeta") != true && get(v, "isCompactSummary") != true && !tool.MatchString(text) &&
			str(v, "origin", "kind") != "task-notification" && !r.seen[str(v, "uuid")] {
			r.prompt(text)
		}
		r.seen[str(v, "uuid")] = true // a resumed session can repeat its records
	case "system":
		if strings.HasPrefix(str(v, "content"), "<command-name>") && get(v, "isMeta") != true {
			r.prompt(str(v, "content"))
		}
	case "attachment":
		text := texts(get(v, "attachment", "prompt"))
		if str(v, "attachment", "type") == "queued_command" && !strings.HasPrefix(text, "<task") {
			r.prompt(text)
		}
	}
}

var codexExit = regexp.MustCompile(`(?i)(?:exited with code |exit code:? |"exit_code":\s?)(\d+)`)

func codexLine(r *raw, v record) {
	p := get(v, "payload")
	switch str(p, "type") {
	case "user_message":
		r.events = append(r.events, str(p, "message"))
	case "message":
		text := texts(get(p, "content"))
		r.unread = r.unread || strings.HasPrefix(text, "/redacted/")
		if str(p, "role") == "assistant" {
			r.answer()
		}
		if str(p, "role") == "user" && !strings.HasPrefix(text, "<") && !strings.HasPrefix(text, "# AGENTS.md") {
			r.prompt(text)
		}
	case "function_call":
		var input record
		_ = json.Unmarshal([]byte(str(p, "arguments")), &input)
		r.call(str(p, "call_id"), str(p, "name"), input)
	case "custom_tool_call":
		r.call(str(p, "call_id"), str(p, "name"), record{"patch": str(p, "input")})
	case "function_call_output", "custom_tool_call_output":
		output := str(p, "output")
		m := codexExit.FindStringSubmatch(output)
		r.result(str(p, "call_id"), m != nil && m[1] != "0")
	}
}

func piLine(r *raw, v record) {
	if r.unread = r.unread || str(v, "type") == "session" && r.seen["session"]; str(v, "type") == "session" {
		r.seen["session"] = true
	}
	m := get(v, "message")
	list, _ := get(m, "content").([]any)
	switch str(m, "role") {
	case "user":
		r.prompt(texts(get(m, "content")))
	case "assistant":
		r.answer()
		for _, c := range list {
			if str(c, "type") == "toolCall" {
				input, _ := get(c, "arguments").(record)
				r.call(str(c, "id"), str(c, "name"), input)
			}
		}
	case "toolResult":
		r.result(str(m, "toolCallId"), get(m, "isError") == true)
	}
}

func qwenLine(r *raw, v record) {
	parts, _ := get(v, "message", "parts").([]any)
	said := ""
	if str(v, "type") == "assistant" {
		r.answer()
	}
	for _, p := range parts {
		if id := str(p, "functionCall", "id"); id != "" {
			input, _ := get(p, "functionCall", "args").(record)
			r.call(id, str(p, "functionCall", "name"), input)
		}
		if id := str(p, "functionResponse", "id"); id != "" {
			output := str(p, "functionResponse", "response", "output")
			m := regexp.MustCompile(`(?i)exit code: ?(\d+)`).FindStringSubmatch(output)
			r.result(id, get(p, "functionResponse", "response", "error") != nil || (m != nil && m[1] != "0"))
		}
		said += str(p, "text")
	}
	if str(v, "type") == "user" && str(v, "subtype") != "notification" {
		r.prompt(regexp.MustCompile(`(?s)<qwen:[a-z-]+>.*?</qwen:[a-z-]+>`).ReplaceAllString(said, ""))
	}
}

func copilotLine(r *raw, v record) {
	data := get(v, "data")
	if str(v, "agentId") != "" {
		return // of a subagent
	}
	switch str(v, "type") {
	case "session.start":
		r.unread, r.seen["start"] = r.unread || r.seen["start"], true
	case "session.snapshot_rewind":
		r.unread = true
	case "user.message":
		r.prompt(str(data, "content"))
	case "assistant.message":
		r.answer()
	case "tool.execution_start":
		input, _ := get(data, "arguments").(record)
		r.call(str(data, "toolCallId"), str(data, "toolName"), input)
	case "tool.execution_complete":
		m := regexp.MustCompile(`(?i)exit code:? ?(\d+)`).FindStringSubmatch(str(data, "result", "content"))
		r.result(str(data, "toolCallId"), get(data, "success") == false || (m != nil && m[1] != "0"))
	}
}

func geminiLine(r *raw, v record) {
	set, _ := get(v, "$set", "messages").([]any)
	again := str(v, "sessionId") != "" && r.seen["start"]
	r.seen["start"] = r.seen["start"] || str(v, "sessionId") != ""
	r.unread = r.unread || again || get(v, "$rewindTo") != nil || (set != nil && len(r.prompts) > 0)
	for _, m := range append(set, v) {
		list, _ := get(m, "content").([]any)
		said := ""
		for _, c := range list {
			said += str(c, "text")
		}
		if str(m, "type") == "user" && !r.seen[str(m, "id")] && !strings.HasPrefix(said, "<session_context>") {
			r.prompt(said)
		}
		r.seen[str(m, "id")] = true // the log repeats a message that has changed
		if str(m, "type") != "gemini" {
			continue
		}
		r.answer()
		calls, _ := get(m, "toolCalls").([]any)
		for _, c := range calls {
			input, _ := get(c, "args").(record)
			r.call(str(c, "id"), str(c, "name"), input)
			b, _ := json.Marshal(get(c, "result"))
			exit := regexp.MustCompile(`(?i)exit code: ?(\d+)`).FindStringSubmatch(string(b))
			r.result(str(c, "id"), str(c, "status") == "error" || (exit != nil && exit[1] != "0"))
		}
	}
}

// TestRaw compares briefs of published transcripts, each complete and cut at two more points, with
// what a reader of the file alone finds in it: the brief has each prompt, file, failed command, open
// call and step, or counts it, and no other.
func TestRaw(t *testing.T) {
	dir := os.Getenv("HANDOFF_TRANSCRIPTS")
	if dir == "" {
		t.Skip("HANDOFF_TRANSCRIPTS is not set: published transcripts are not compared")
	}
	for program, line := range map[string]func(*raw, record){
		"claude": claudeLine, "codex": codexLine, "pi": piLine, "qwen": qwenLine, "copilot": copilotLine,
		"gemini": geminiLine,
	} {
		t.Run(program, func(t *testing.T) {
			compared := 0
			err := filepath.WalkDir(filepath.Join(dir, program), func(name string, d fs.DirEntry, err error) error {
				if err == nil && strings.HasSuffix(name, ".jsonl") && !strings.Contains(name, "/subagents/") {
					compared += compareRaw(t, filepath.Join(dir, program), name, line)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if t.Logf("%d briefs compared", compared); compared < 10 {
				t.Errorf("compared %d briefs, want at least 10", compared)
			}
		})
	}
}

// compareRaw compares the briefs of a transcript, and returns how many.
func compareRaw(t *testing.T, base, name string, line func(*raw, record)) (compared int) {
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	rel, _ := filepath.Rel(base, name)
	parts := strings.Split(filepath.ToSlash(rel), "/")
	at := slices.IndexFunc(parts, func(p string) bool { return strings.HasPrefix(p, ".") })
	lines := bytes.SplitAfter(b, []byte("\n"))
	if at < 0 || len(lines) < 6 {
		return 0 // not in a home directory of the program
	}
	for _, n := range []int{len(lines) / 3, len(lines) * 2 / 3, len(lines)} {
		want := raw{open: map[string]string{}, ended: map[string]bool{}, calls: map[string]rawCall{}, seen: map[string]bool{}}
		previous := ""
		for _, l := range lines[:n] {
			var v record
			if json.Unmarshal(l, &v) != nil {
				continue
			}
			if parent := str(v, "parentId"); parent != "" && parent != previous && previous != "" {
				want.unread = true
			}
			if id := str(v, "id"); id != "" {
				previous = id
			}
			line(&want, v)
		}
		home := t.TempDir()
		file := filepath.Join(home, filepath.Join(parts[at:]...))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, bytes.Join(lines[:n], nil), 0o644); err != nil {
			t.Fatal(err)
		}
		if len(want.prompts) == 0 {
			want.prompts = want.events
		}
		compared += compareHome(t, home, rel+" of "+strconv.Itoa(n)+" lines", want)
	}
	return compared
}

func compareHome(t *testing.T, home, name string, want raw) (compared int) {
	set := thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	for _, provider := range set.Names() {
		p, err := set.Provider(provider)
		if err != nil {
			t.Fatal(err)
		}
		for found, err := range p.Threads(t.Context()) {
			if err != nil {
				continue
			}
			v, err := set.Open(t.Context(), found.URI())
			if err != nil || want.unread || v.Thread.IsAgent() || v.Thread.ForkedFrom != "" {
				continue
			}
			v.Thread.Cwd, v.Agents = "", []thread.Agent{} // directories of other machines, and files of others
			for _, tokens := range []int{500, 2000, 8000} {
				b, err := brief.Source{}.Make(t.Context(), v, tokens)
				if err != nil {
					t.Fatal(err)
				}
				if b.Tokens > tokens {
					t.Errorf("%s: got %d tokens, want at most %d", name, b.Tokens, tokens)
				}
				compareText(t, name, b.Text, want)
				compared++
			}
		}
	}
	return compared
}

var heading = regexp.MustCompile(`(?m)^## ([^#(,\n]+?)(?:, #M\d+)?(?:, not run again with success|, without a result)?` +
	`(?: \((at least )?(\d+) more\))?$`)

// compareText checks that a brief has the newest of each kind, and as many as there are.
func compareText(t *testing.T, name, text string, want raw) {
	t.Helper()
	sections := heading.FindAllStringSubmatchIndex(text, -1)
	check := func(title string, list []string) {
		t.Helper()
		body, count := "", 0
		for i, m := range sections {
			if text[m[2]:m[3]] != title {
				continue
			}
			end := len(text)
			if i+1 < len(sections) {
				end = sections[i+1][0]
			}
			body = text[m[1]:end]
			for line := range strings.Lines(body) {
				if strings.HasPrefix(line, "- ") && !strings.HasPrefix(line, "- [x]") &&
					!strings.HasPrefix(line, "- proposed") {
					count++
				}
			}
			if m[6] >= 0 {
				more, _ := strconv.Atoi(text[m[6]:m[7]])
				count += more
			}
			if m[4] >= 0 {
				count = min(count, len(list)) // at least
			}
		}
		if count != len(list) {
			t.Errorf("%s: %s: got %d, want %d: %.200q in\n%s", name, title, count, len(list), list, body)
			return
		}
		if len(list) == 0 {
			return
		}
		plain := func(s string) string {
			s = strings.ReplaceAll(s, `\n`, " ") // as a code span has a line break
			return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
				return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
			}), " ")
		}
		newest := plain(list[len(list)-1])
		if newest = newest[:min(len(newest), 12)]; !strings.Contains(plain(body), newest) {
			t.Errorf("%s: %s: %q is missing in\n%s", name, title, newest, body)
		}
	}
	check("Prompts of the person", want.prompts)
	check("Files changed", baseNames(want.files))
	check("Failed commands", want.failed)
	var open []string
	for id, name := range want.open {
		if !want.ended[id] {
			open = append(open, name)
		}
	}
	slices.Sort(open)
	check("In flight", open[:min(len(open), 50)])
	slices.Reverse(want.plan)
	check("Plan", want.plan)
	slices.Reverse(want.plan)
}

func baseNames(list []string) (names []string) {
	for _, f := range list {
		names = append(names, filepath.Base(f))
	}
	return names
}
