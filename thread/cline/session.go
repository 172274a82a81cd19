package cline

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const (
	agentPrefix = "agent_"
	suffix      = ".messages.json"
)

// setSession sets that a file with the name of its directory is the session.
func setSession(f *engine.Found) {
	f.Alias = f.Parent + "__" + f.ID
	f.Also = func() []string { return []string{metadata(f.Path)} }
	if f.ID == f.Parent {
		f.Parent, f.Alias = "", ""
		f.Proof = nil
	}
}

// metadata returns the path of the file with the metadata of a session.
func metadata(path string) string {
	dir := filepath.Dir(path)
	return filepath.Join(dir, filepath.Base(dir)+".json")
}

// openSession sets the metadata of a session from its file.
func openSession(w *thread.Walk, f *engine.Found, t *thread.Thread) {
	path := metadata(f.Path)
	var v jsonl.Value
	if w.Stat(path) != nil {
		v = jsonl.Value(append([]byte(nil), w.Head(path, listLen)...))
	}
	t.Cwd, t.Branch = v.Get("cwd").Text(), v.Get("metadata", "git", "branch").Text()
	t.Version = v.Get("metadata", "sessionHistoryOrigin", "version").Text()
	s := session{value: v, main: t.Parent == ""}
	if s.main {
		t.Title, t.Started = firstLine(v.Get("metadata", "title").Text()), v.Get("started_at").Time()
	} else if number, _, ok := strings.Cut(strings.TrimPrefix(f.ID, agentPrefix), "_"); ok {
		ms, _ := strconv.ParseInt(number, 10, 64)
		t.Started = jsonl.Milliseconds(ms)
	}
	t.Reader = &engine.Reader{Unit: "message", Source: engine.Document{Path: f.Path, List: "messages"}.Elements,
		Scatter: f.Also,
		New:     func(scan *engine.Scan) engine.Decoder { return &decodeSession{Scan: scan, session: s} }}
}

// A session is the metadata of one, of which subagents use the directory only.
type session struct {
	value jsonl.Value
	main  bool
}

// A decodeSession decodes the messages of a session.
type decodeSession struct {
	*engine.Scan
	session session
	silent  int // answers without usage
}

// Record implements engine.Decoder.
func (d *decodeSession) Record(n int, v jsonl.Value) {
	at := d.Members.Get("ts").Timestamp()
	d.At(at)
	m := thread.Message{ID: d.Members.Get("id").Text(), Time: at}
	m.Text = engine.Text(d.Members.Get("content"))
	switch role := d.Members.Get("role"); {
	case role.Is("user"):
		d.user(n, m)
	case role.Is("assistant") && d.Members.Get("metadata", "displayRole").Is("error"):
		d.Note("The request failed. "+m.Text, at)
		d.State(thread.Errored, at, "the request failed: %s, message %d", thread.Brief(m.Text), n)
	case role.Is("assistant"):
		d.answer(n, m)
	default:
		d.Unknown("message of role "+role.Text(), v)
	}
}

// user decodes a prompt, or the results of calls.
func (d *decodeSession) user(n int, m thread.Message) {
	for c := d.Members.Get("content").Elements(); c.Next(); {
		if b := c.Value(); b.Get("type").Is("tool_result") {
			d.Result(n, b.Get("tool_use_id").Text(), m.Time, func(c *thread.Call) { setResult(c, b.Get("content")) })
		}
	}
	if _, input, ok := strings.Cut(m.Text, "<user_input"); ok {
		_, input, _ = strings.Cut(input, ">")
		m.Text, _, _ = strings.Cut(input, "</user_input>")
		m.Text = strings.TrimSpace(m.Text)
	}
	if m.Text != "" {
		d.Prompt(n, m)
	}
}

// setResult sets the result of a call: a text, or a list with one for each command or file.
func setResult(c *thread.Call, content jsonl.Value) {
	var texts []string
	add := func(v jsonl.Value) {
		texts = append(texts, cmp.Or(v.Get("result").Plain(), v.Get("error").Plain()))
		if success := v.Get("success"); success.Kind() == jsonl.Bool && !success.True() {
			c.Failed = true
		}
	}
	one := jsonl.Value(content.Text())
	switch {
	case content.Kind() == jsonl.Array:
		for e := content.Elements(); e.Next(); {
			add(e.Value())
		}
	case one.Get("success").Kind() == jsonl.Bool:
		add(one)
	default:
		texts = append(texts, content.Plain())
	}
	c.SetOutput(strings.Join(texts, "\n"))
	if _, code, ok := strings.Cut(c.Output, "[Command exited with code "); ok && len(texts) == 1 {
		code, _, _ = strings.Cut(code, "]")
		if status, err := strconv.Atoi(code); err == nil {
			c.Exit = &status
		}
	} else if c.Name == "run_commands" && !c.Failed {
		c.Exit = new(int)
	}
}

// waits is what a person has to do while a call of a tool is open.
var waits = engine.Waits{{"ask_question", "an answer to its question"}}

// counts are the members of the usage of an answer. Input includes what was read from and
// written to the cache.
var counts = engine.Counts{Input: "inputTokens", CacheRead: "cacheReadTokens", CacheWrite: "cacheWriteTokens",
	Output: "outputTokens", Other: []string{"cost", "totalCost"}}

// answer decodes an answer of the model.
func (d *decodeSession) answer(n int, m thread.Message) {
	content, info := d.Members.Get("content"), d.Members.Get("modelInfo")
	m.Model = info.Get("id").Text()
	for c := content.Elements(); c.Next(); {
		d.Timeline.AddThinking(c.Value().Get("thinking").Text())
	}
	d.Answered(n, m)
	for c := content.Elements(); c.Next(); {
		if b := c.Value(); b.Get("type").Is("tool_use") {
			d.Called(n, thread.Call{ID: b.Get("id").Text(), Name: b.Get("name").Text(), Time: m.Time},
				b.Get("input"), waits)
		}
	}
	usage := d.Members.Get("metrics")
	t, ok := d.Tokens(usage, &counts)
	if !ok {
		d.silent++
	}
	t.Input, t.Cost = max(0, t.Input-t.CacheRead-t.CacheWrite), usage.Get("cost").Amount()
	d.Use(engine.Use{Provider: info.Get("provider").Text(), Model: m.Model, Tokens: t})
}

// Finish implements engine.Decoder. The metadata of a session has its status, and the sum
// of its usage.
func (d *decodeSession) Finish() {
	d.Gaps = []thread.Gap{{N: d.silent, Reason: "%d answers have no recorded usage"}}
	if !d.session.main {
		return
	}
	ended := d.session.value.Get("ended_at").Time()
	switch status := d.session.value.Get("status").Text(); status {
	case "completed":
		if d.Facts.State.Source == thread.Inferred {
			waiting := d.Facts.State.Waiting
			d.State(thread.Completed, later(ended, d.Facts.State.At), "the session has status completed")
			d.Facts.State.Waiting = waiting
		}
	case "failed", "cancelled", "aborted":
		if d.Facts.State.Status != thread.Errored {
			d.State(thread.Errored, later(ended, d.Facts.State.At), "the session has status %s", status)
		}
	}
	var sum [2]int64
	d.session.value.Get("metadata", "usage").Counts([]string{"inputTokens", "outputTokens"}, sum[:])
	if used := d.Meter.Used(); sum[0] > used.Input+used.CacheRead+used.CacheWrite || sum[1] > used.Output {
		d.Gaps = append(d.Gaps, thread.Gap{N: 1, Reason: "the session has used more than its messages record"})
	}
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
