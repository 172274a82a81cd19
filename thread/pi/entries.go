package pi

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// reader returns a reader of a session.
func reader(roots []string, f *engine.Found) *engine.Reader {
	s, file := f.Head.(session), engine.File{Path: f.Path, Start: f.Start}
	return &engine.Reader{
		Source: file.Lines,
		New: func(scan *engine.Scan) engine.Decoder {
			d := &decode{Scan: scan, session: s, file: file, byID: map[string]int{}, calls: map[string]time.Time{},
				inlined: map[string]int{}}
			d.At(s.started)
			if s.from != "" && idOf(s.from) != f.Parent && !exists(roots, s.from) {
				d.original = cmp.Or(idOf(s.from), s.from)
			}
			for _, id := range s.children {
				d.Agent(id).Evidence = []string{"session header names it as a child"}
			}
			return d
		},
	}
}

// exists reports whether there is a session with the file name of path.
func exists(roots []string, path string) bool {
	all, _ := find(context.Background(), thread.NewWalk(context.Background()), roots)
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	return slices.ContainsFunc(all, func(f *engine.Found) bool { return filepath.Base(f.Path) == name && f.Parent == "" })
}

// A decode decodes the entries of a session, of which the branch of the last one, or of
// Scan.Entry, is the thread. All entries count.
type decode struct {
	*engine.Scan
	session  session
	original string // session that this one was forked from and that does not exist, or its file
	file     engine.File

	byID    map[string]int       // index of entries, of the last one with an ID
	parents []int                // of entries, by index; -1 for a root
	calls   map[string]time.Time // when calls were made, by ID
	inlined map[string]int       // names and IDs of subagents without a session

	provider, model string // of the last answer
	last            int    // index of the last entry of the thread
	orphans         int    // entries whose parents are missing
	silent          int    // answers without usage
	interrupted     int    // requests that were interrupted before their usage was known
	summaries       int    // summaries without usage
	inside          bool   // the messages are of a subagent without a session
}

// Record implements engine.Decoder.
func (d *decode) Record(n int, v jsonl.Value) {
	m := &d.Members
	written := m.Get("timestamp").Time()
	kind := string(m.Get("type").Raw())
	switch kind {
	case "session":
		if id := thread.LowerUUID(m.Get("id").Text()); n > 1 && id != d.session.id && id != "" && d.session.id != "" {
			d.Facts.Warn("the file contains another thread from line %d: %s", n, id)
			d.Stopped = true
		}
		return
	case "message", "model_change", "thinking_level_change", "compaction", "branch_summary", "custom", "custom_message",
		"label", "session_info":
	default:
		d.Unknown(kind, v)
		return
	}
	copied := d.session.from != "" && written.Before(d.session.started) && !written.IsZero()
	d.Copied(copied && d.original == "")
	d.At(written)
	message, calls := m.Get("message"), 0
	for _, holder := range []jsonl.Value{message, v} {
		if file := holder.Get("details", "sessionFile").Text(); idOf(file) != "" {
			d.ran(file, holder.Get("details"), written, n)
		}
	}
	switch kind {
	case "message":
		calls = d.message(message, v, written)
		if !copied {
			d.inlines(message, written, n)
		}
	case "compaction", "branch_summary":
		if d.use(m.Get("usage")) == 0 && !m.Get("fromHook").True() && !copied {
			d.summaries++
		}
	default:
		d.use(m.Get("usage"))
	}
	d.keep(v, copied, calls)
}

// keep keeps an entry with its place in the tree.
func (d *decode) keep(v jsonl.Value, copied bool, calls int) {
	// In version 1, and if the parent is missing, that is the entry before it.
	parent := len(d.parents) - 1
	switch of := d.Members.Get("parentId"); of.Kind() {
	case jsonl.Null:
		parent = -1
	case jsonl.String:
		if i, ok := d.byID[of.Text()]; ok {
			parent = i
		} else {
			d.orphans++
		}
	}
	d.Copied(copied)
	i := d.Keep(v, calls)
	d.parents = append(d.parents, parent)
	if id := d.Members.Get("id").Text(); id != "" {
		d.byID[id] = i
	}
}

// message counts the usage and the calls of the message of a record.
func (d *decode) message(v, record jsonl.Value, at time.Time) (calls int) {
	switch role := string(v.Get("role").Raw()); role {
	case "assistant":
		for c := v.Get("content").Elements(); c.Next(); {
			if c.Value().Get("type").Is("toolCall") {
				calls++
				if d.calls != nil {
					d.calls[c.Value().Get("id").Text()] = at
				}
			}
		}
		d.answered(v)
	case "toolResult":
		for c := v.Get("nestedCalls", "calls").Elements(); c.Next(); {
			calls++
		}
		if v.Get("details", "results").Kind() != jsonl.Array { // of subagents, which have their own
			d.use(v.Get("usage"))
		}
	case "user", "bashExecution", "custom", "hookMessage", "branchSummary", "compactionSummary", "system":
		d.use(v.Get("usage"))
	default:
		d.Unknown("message of role "+role, record)
	}
	return calls
}

// counts are the members of a usage. Reasoning is part of output or separate, depending
// on the version; the total shows which.
var counts = engine.Counts{Input: "input", CacheRead: "cacheRead", CacheWrite: "cacheWrite", Output: "output",
	Reasoning: "reasoning", Optional: []string{"cacheRead", "cacheWrite", "reasoning"},
	Other: []string{"totalTokens", "cost", "cacheWrite1h"}}

// tokens returns the tokens of a usage.
func (d *decode) tokens(v jsonl.Value) thread.Tokens {
	t, _ := d.Tokens(v, &counts)
	t.Cost, t.CacheWrite1h = v.Get("cost", "total").Amount(), min(t.CacheWrite, v.Get("cacheWrite1h").Count())
	total := v.Get("totalTokens").Count()
	if (t.Reasoning > 0 && total == t.Total()+t.Reasoning) || t.Reasoning > t.Output {
		t.Output += t.Reasoning
	}
	return t
}

// use counts the usage of what is no answer, and returns its tokens.
func (d *decode) use(usage jsonl.Value) int64 {
	if usage.Kind() != jsonl.Object {
		return 0
	}
	t := d.tokens(usage)
	if t.Total() > 0 {
		d.Use(engine.Use{Provider: d.provider, Model: d.model, Tokens: t, Apart: true})
	}
	return t.Total()
}

// answered counts the usage of an answer.
func (d *decode) answered(v jsonl.Value) {
	d.provider, d.model = v.Get("provider").Text(), v.Get("model").Text()
	t := d.tokens(v.Get("usage"))
	switch stop := v.Get("stopReason"); {
	case t.Total() > 0:
		d.Use(engine.Use{Provider: d.provider, Model: d.model, Tokens: t, Apart: true})
	case d.Timeline.Inherited:
	case stop.Is("aborted"):
		d.interrupted++
	case !stop.Is("error"):
		d.silent++
		d.Use(engine.Use{Provider: d.provider, Model: d.model, Apart: true})
	}
}

// ran reads what an extension records when a subagent ends: its session file and
// its exit code.
func (d *decode) ran(path string, details jsonl.Value, at time.Time, line int) {
	a := d.Agent(idOf(path))
	a.File = path[strings.LastIndexAny(path, `/\`)+1:]
	a.Name = details.Get("name").Text()
	a.Evidence = []string{"parent session names its session file"}
	a.State = thread.ReadState(thread.Running, thread.Parent, at,
		"session file without an exit code, line %d of the parent's session", line)
	event := a.Name
	if code := details.Get("exitCode"); code.Kind() == jsonl.Number {
		status := thread.Completed
		if code.Int() != 0 {
			status = thread.Errored
		}
		a.State = thread.ReadState(status, thread.Parent, at, "exit code %d, line %d", code.Int(), line)
		event = strings.TrimSpace(fmt.Sprintf("%s exited with code %d", a.Name, code.Int()))
	}
	a.AddEvent(at, "subagent", event)
}

// inlines records the subagents in the result of a call, which have no session of their
// own: the tool's example extension leaves their messages there.
func (d *decode) inlines(message jsonl.Value, at time.Time, line int) {
	for c := message.Get("details", "results").Elements(); c.Next(); {
		v := c.Value()
		name, code := v.Get("agent").Text(), v.Get("exitCode")
		if name == "" || code.Kind() != jsonl.Number || v.Get("usage").Kind() != jsonl.Object {
			continue // a result of another tool
		}
		status, reason := thread.Completed, string(v.Get("stopReason").Raw())
		if code.Int() != 0 || reason == "error" || reason == "aborted" {
			status = thread.Errored
		}
		evidence := strings.TrimSpace(fmt.Sprintf("exit code %d %s", code.Int(), reason))
		a := d.Agent(d.inlineID(name))
		a.Name, a.Span = name, d.Span(v)
		a.Called = d.calls[message.Get("toolCallId").Text()]
		a.Evidence = []string{"the result of a call of the parent contains its messages"}
		a.State = thread.ReadState(status, thread.Parent, at, "%s, line %d", evidence, line)
		a.AddEvent(at, "subagent", name+" ended with "+evidence)
		a.Reader = &engine.Reader{Source: d.file.Within(a.Span, "messages"), Unit: "message",
			New: func(s *engine.Scan) engine.Decoder { return &inline{decode{Scan: s, inside: true}, a.State} }}
		if t := v.Get("messages").Elements(); t.Next() {
			a.Started = t.Value().Get("timestamp").Timestamp()
		}
	}
}

// inlineID returns the ID of a subagent without a session: its name, with a number
// from the second one on.
func (d *decode) inlineID(name string) string {
	id := name
	for d.inlined[id] > 0 {
		d.inlined[name]++
		id = fmt.Sprintf("%s-%d", name, d.inlined[name])
	}
	d.inlined[id]++
	return id
}

// Select implements engine.Selector: the entries from the root to the leaf. A parent is
// always before its children, so there is no cycle.
func (d *decode) Select() (branch []int) {
	d.last = len(d.parents) - 1
	if d.Entry != "" {
		i, ok := d.byID[d.Entry]
		if !ok {
			d.Fail(engine.ErrNoEntry)
			return nil
		}
		d.last = i
	}
	for i := d.last; i >= 0; i = d.parents[i] {
		branch = append(branch, i)
	}
	slices.Reverse(branch)
	return branch
}

// Show implements engine.Selector.
func (d *decode) Show(_, n int, _ jsonl.Value) {
	v := &d.Members
	m := thread.Message{ID: v.Get("id").Text(), Time: v.Get("timestamp").Time()}
	switch string(v.Get("type").Raw()) {
	case "message":
		d.state(n, v.Get("message"), m.Time)
		d.show(m, v.Get("message"))
	case "compaction", "branch_summary":
		m.Role, m.Text = thread.Compaction, cmp.Or(strings.TrimSpace(v.Get("summary").Text()), thread.DefaultCompactionText)
		d.Timeline.Add(m)
		if t := d.tokens(v.Get("usage")); t.Total() > 0 {
			d.Timeline.AddUsage(t)
		}
	case "custom_message":
		if show := v.Get("display"); show.Kind() != jsonl.Bool || show.True() {
			m.Role, m.Text = thread.Note, engine.Text(v.Get("content"))
			d.Timeline.Add(m)
		}
	}
}

// show adds a message.
func (d *decode) show(m thread.Message, v jsonl.Value) {
	content := v.Get("content")
	switch string(v.Get("role").Raw()) {
	case "user":
		m.Role, m.Text = thread.User, engine.Text(content)
	case "custom", "hookMessage":
		m.Role, m.Text = thread.Note, engine.Text(content)
	case "branchSummary", "compactionSummary":
		m.Role, m.Text = thread.Compaction, strings.TrimSpace(v.Get("summary").Text())
	case "assistant":
		d.answer(m, v)
		return
	case "toolResult":
		d.result(m, v)
		return
	case "bashExecution":
		d.Timeline.AddCall(thread.Call{
			Name: "bash", Input: thread.Clip(v.Get("command").Text()), Output: thread.Clip(v.Get("output").Text()),
			Failed: v.Get("exitCode").Int() != 0, Time: m.Time,
		})
		return
	}
	d.Timeline.Add(m)
}

// answer adds an answer with its calls.
func (d *decode) answer(m thread.Message, v jsonl.Value) {
	content := v.Get("content")
	for c := content.Elements(); c.Next(); {
		d.Timeline.AddThinking(c.Value().Get("thinking").Text())
	}
	m.Text, m.Model = engine.Text(content), v.Get("model").Text()
	d.Answer(m)
	if v.Get("stopReason").Is("error") {
		m.Role, m.Text = thread.Note, strings.TrimSpace("The request failed. "+v.Get("errorMessage").Text())
		d.Timeline.Add(m)
	}
	for c := content.Elements(); c.Next(); {
		if b := c.Value(); b.Get("type").Is("toolCall") {
			call := thread.Call{ID: b.Get("id").Text(), Name: b.Get("name").Text(), Pending: true, Time: m.Time}
			if d.Timeline.Detail == thread.Tools {
				call.Input = thread.Clip(b.Get("arguments").Compact())
			}
			d.Timeline.AddCall(call)
		}
	}
	if t := d.tokens(v.Get("usage")); t.Total() > 0 {
		d.Timeline.AddUsage(t)
	}
}

// result completes a call, and adds the calls that a script made in it.
func (d *decode) result(m thread.Message, v jsonl.Value) {
	id := v.Get("toolCallId").Text()
	d.Timeline.SetResult(id, func(c *thread.Call) {
		c.Output, c.Failed = thread.Clip(engine.Text(v.Get("content"))), v.Get("isError").True()
		c.End(m.Time)
	})
	for c := v.Get("nestedCalls", "calls").Elements(); c.Next(); {
		b := c.Value()
		call := thread.Call{ID: b.Get("id").Text(), Name: b.Get("name").Text(), Time: m.Time,
			Output: thread.Clip(b.Get("error").Text()), Failed: !b.Get("status").Is("ok")}
		if d.Timeline.Detail == thread.Tools {
			call.Input = thread.Clip(b.Get("arguments").Compact())
		}
		if call.Name == "bash" {
			call.Exit = exitStatus(call)
		}
		d.Nested(id, call)
	}
}

// exitStatus returns the exit status of a command of a script: the tool names it at the
// end of the error, and there is no error if it is 0.
func exitStatus(c thread.Call) *int {
	if !c.Failed {
		return new(int)
	}
	_, code, _ := strings.Cut(c.Output, "Command exited with code ")
	n, err := strconv.Atoi(strings.TrimSpace(code))
	if err != nil {
		return nil
	}
	return &n
}

// state sets the state after a message of the branch.
func (d *decode) state(n int, v jsonl.Value, at time.Time) {
	switch string(v.Get("role").Raw()) {
	case "user":
		d.State(thread.Running, at, "last message is from the user, line %d", n)
	case "toolResult":
		d.State(thread.Running, at, "the result of a call has no answer yet, line %d", n)
	case "assistant":
		status, evidence := outcome(v)
		d.State(status, at, "%s, line %d", evidence, n)
		if status == thread.Completed {
			d.Facts.State.Waiting = thread.WaitingFor(engine.Text(v.Get("content")))
		}
	}
}

// outcome returns the status after an answer.
func outcome(v jsonl.Value) (status thread.Status, evidence string) {
	switch reason := string(v.Get("stopReason").Raw()); reason {
	case "toolUse":
		return thread.Running, "stopReason toolUse"
	case "aborted":
		return thread.Errored, "interrupted: stopReason aborted"
	case "error":
		return thread.Errored, "error: " + thread.Brief(v.Get("errorMessage").Text())
	case "stop", "length":
		return thread.Completed, "stopReason " + reason
	}
	for c := v.Get("content").Elements(); c.Next(); {
		if c.Value().Get("type").Is("toolCall") {
			return thread.Running, "last message has calls"
		}
	}
	return thread.Completed, "an answer without calls"
}

// Finish implements engine.Decoder.
func (d *decode) Finish() {
	if d.orphans > 0 {
		d.Facts.Warn("%d entries have a missing parent; the entry before each is used instead", d.orphans)
	}
	d.Gaps = []thread.Gap{
		{N: d.interrupted, Reason: "%d requests were interrupted before their usage was recorded"},
		{N: d.silent, Reason: "%d answers have no recorded usage"},
		{N: d.summaries, Reason: "%d summaries of the history have no recorded usage"},
	}
	if d.session.id == "" && !d.inside {
		d.Gaps = append(d.Gaps, thread.Gap{N: 1, Reason: "the header of the session is not known"})
	}
	if d.last < len(d.parents)-1 {
		d.Includes = "includes all branches of the session"
	} else if d.original != "" {
		d.Includes = "includes the earlier usage of thread " + d.original + ", from which it was forked and which can't be read"
	}
}

// An inline decodes the messages of a subagent without a session.
type inline struct {
	of    decode
	state thread.State
}

// Record implements engine.Decoder.
func (i *inline) Record(_ int, v jsonl.Value) {
	at := v.Get("timestamp").Timestamp()
	i.of.At(at)
	i.of.message(v, v, at)
	i.of.show(thread.Message{Time: at}, v)
}

// Finish implements engine.Decoder.
func (i *inline) Finish() {
	i.of.last = -1
	i.of.Finish()
	i.of.Facts.State = i.state
}
