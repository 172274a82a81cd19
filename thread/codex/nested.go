package codex

import (
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/cmdline"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// In code mode the model calls one tool, exec, with a script that calls the others. Their
// calls are in records of their own, with IDs that begin so, and not with the ID of the script.
const nested = "exec-"

// The first lines of the output of a script. Unless it completed, its calls may not have
// been made.
const (
	scriptCompleted = "Script completed"
	scriptFailed    = "Script failed"
)

// A script is a call of exec.
type script struct {
	ID    string
	Ended bool
	Calls []thread.Call   // that its text has
	Made  map[string]bool // IDs of the calls that have records
}

// itemizes reports whether a version is known to record the calls of scripts in rollouts
// with pages, which have all items.
func itemizes(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(minor)
	const first = 171
	return err == nil && (n >= first || major != "0")
}

// scripted notes a script.
func (d *decode) scripted(id, text string) {
	d.Scripts = slices.DeleteFunc(d.Scripts, func(s script) bool { return s.Ended })
	s := script{ID: id}
	if !d.meta.itemized {
		s.Calls = callsOf(text, d.meta.cwd)
	}
	d.Scripts = append(d.Scripts, s)
}

// running returns the script that runs: the first one without a result, or the last one,
// which may run on after it.
func (d *decode) running() *script {
	if len(d.Scripts) == 0 {
		d.Scripts = []script{{Ended: true}} // it is in no record
	}
	for i := range d.Scripts {
		if !d.Scripts[i].Ended {
			return &d.Scripts[i]
		}
	}
	return &d.Scripts[len(d.Scripts)-1]
}

// made adds a call of a script that has a record. A later record of it completes one
// without a result.
func (d *decode) made(c thread.Call) {
	s := d.running()
	if c.Within = s.ID; s.Made[c.ID] {
		d.Timeline.SetResult(c.ID, func(known *thread.Call) { *known = c })
		return
	}
	if s.Made == nil {
		s.Made = map[string]bool{}
	}
	s.Made[c.ID] = true
	d.Nested(s.ID, c)
}

// ended adds the calls that the text of a script has when it ends, unless it has records of
// calls. If only other scripts have, another version may have continued the rollout.
func (d *decode) ended(id string, output jsonl.Value) {
	i := slices.IndexFunc(d.Scripts, func(s script) bool { return s.ID == id && !s.Ended })
	if i < 0 {
		return
	}
	s := &d.Scripts[i]
	s.Ended = true
	unsure := d.Itemized
	if len(s.Calls) > 0 && d.Timeline.Detail == thread.Tools {
		unsure = unsure || !strings.HasPrefix(result(output), scriptCompleted)
	}
	for _, c := range s.Calls {
		if len(s.Made) > 0 {
			break
		}
		c.ID, c.Time = id+c.ID, d.at()
		c.Inferred = c.Inferred || unsure
		d.Nested(id, c)
	}
	s.Calls = nil
}

// completed decodes an item_completed. It repeats a response_item, except for plans and
// for the calls of a script.
func (d *decode) completed() {
	v := d.payload.Get("item")
	d.item.Parse(v)
	m := &d.item
	id := m.Get("id").Text()
	switch kind := string(m.Get("type").Raw()); kind {
	case "UserMessage":
		d.shown(thread.User, m.Get("content"))
	case "AgentMessage":
		d.shown(thread.Assistant, m.Get("content"))
	case "Plan":
		d.Turn.Plan = d.own()
	case "ContextCompaction":
		d.compacted(nil)
	case "SubAgentActivity":
		d.activity(m)
		if m.Get("kind").Is("started") {
			d.ran(kind, id, m)
		}
	case "CommandExecution", "FileChange", "McpToolCall", "CollabAgentToolCall", "DynamicToolCall":
		d.ran(kind, id, m)
	case "WebSearch", "ImageView", "ImageGeneration", "Extension":
		d.ran(kind, id, m)
		d.Unread("item "+kind, v)
	case "Reasoning", "Sleep", "HookPrompt", "EnteredReviewMode", "ExitedReviewMode":
		d.Unread("item "+kind, v)
	default:
		d.Unknown("item "+kind, d.record)
	}
}

// ran adds a call of a script that has its own record.
func (d *decode) ran(kind, id string, m *jsonl.Members) {
	if !strings.HasPrefix(id, nested) {
		return
	}
	c := thread.Call{}
	switch kind {
	case "CommandExecution":
		c = command(m)
	case "FileChange":
		c = change(m)
	case "McpToolCall":
		c = toolCall(m.Get("server").Text(), m)
	case "SubAgentActivity":
		c = thread.Call{Name: spawnAgent, Agent: m.Get("agent_thread_id").Text()}
	case "CollabAgentToolCall":
		c = toolCall("", m)
		c.Agent = d.collaborated(c.Name, m) // also if only usage is read
	default:
		c = toolCall("", m)
		if c.Name == "" {
			c.Name = kind
		}
	}
	d.Itemized = true
	c.ID, c.Time = id, d.at()
	if at := d.payload.Get("started_at_ms"); at.Kind() == jsonl.Number {
		c.Time = jsonl.Milliseconds(at.Int())
		c.End(d.at())
	}
	switch status := m.Get("status"); status.Text() {
	case "completed":
	case "failed", "declined":
		c.Failed = true
	default:
		c.Pending = status.Kind() != jsonl.Absent || kind == "FileChange"
	}
	d.made(c)
}

// command returns the call of a command.
func command(m *jsonl.Members) thread.Call {
	v := m.Get("command")
	var args []string
	for c := v.Elements(); c.Next(); {
		args = append(args, c.Value().Text())
	}
	input := map[string]any{"cmd": v.Text()}
	if line, ok := cmdline.Script(args); ok {
		input["cmd"] = line
	} else if len(args) > 0 {
		input["cmd"] = args
	}
	c := thread.Call{Name: "exec_command", Input: encode(input), Exit: number(m.Get("exit_code")),
		Dir: directory(m.Get("cwd").Text())}
	c.SetOutput(m.Get("aggregated_output").Text())
	return c
}

// directory returns the path of a directory, which may be a URL.
func directory(text string) string {
	if u, err := url.Parse(text); err == nil && u.Scheme == "file" {
		return filepath.FromSlash(u.Path)
	}
	return text
}

// change returns the call that changed files, with a patch of what it did.
func change(m *jsonl.Members) thread.Call {
	c := thread.Call{Name: applyPatch, Input: thread.Clip(patch(m.Get("changes")))}
	c.SetOutput(m.Get("stdout").Text() + m.Get("stderr").Text())
	return c
}

// patch returns changes of files in the format of apply_patch.
func patch(changes jsonl.Value) string {
	var b strings.Builder
	lines := func(text, prefix string) {
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, `\ No newline`) {
				b.WriteString(prefix + strings.TrimSuffix(line, "\n") + "\n")
			}
		}
	}
	b.WriteString("*** Begin Patch\n")
	for c := changes.Members(); c.Next(); {
		path, v := c.Key(), c.Value()
		if strings.Contains(path+v.Get("move_path").Text(), "\n") {
			continue // which the format does not have
		}
		switch v.Get("type").Text() {
		case "add":
			b.WriteString("*** Add File: " + path + "\n")
			lines(v.Get("content").Text(), "+")
		case "delete":
			b.WriteString("*** Delete File: " + path + "\n")
		case "update":
			b.WriteString("*** Update File: " + path + "\n")
			if to := v.Get("move_path").Text(); to != "" {
				b.WriteString("*** Move to: " + to + "\n")
			}
			lines(v.Get("unified_diff").Text(), "")
		}
	}
	return b.String() + "*** End Patch\n"
}

// toolCall returns the call of a tool of a server, or of a tool with arguments.
func toolCall(server string, m *jsonl.Members) thread.Call {
	c := thread.Call{Name: m.Get("tool").Text(), Input: thread.Clip(m.Get("arguments").Compact())}
	if server != "" {
		c.Name = "mcp__" + strings.ReplaceAll(server, "-", "_") + "__" + c.Name
	}
	c.SetOutput(engine.Output(m.Get("result", "content")))
	if text := m.Get("error", "message").Text(); text != "" {
		c.SetOutput(text)
	}
	c.Failed = m.Get("result", "isError").True()
	return c
}

// encode returns v as JSON.
func encode(v any) string {
	b, err := jsonl.Encode(v, "")
	if err != nil {
		return ""
	}
	return thread.Clip(string(b))
}
