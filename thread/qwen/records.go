package qwen

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A decode decodes the records of a chat.
type decode struct {
	*engine.Scan
	subagent bool
	agents   string        // directory of the transcripts of its subagents
	asides   []aside       // requests that have no answer in the chat
	uuid     string        // of the answer that is read, which may have several records
	model    string        // of that answer
	tokens   thread.Tokens // of that answer
	silent   int           // answers without usage
}

// Record implements engine.Decoder.
func (d *decode) Record(n int, v jsonl.Value) {
	m := &d.Members
	at, kind := m.Get("timestamp").Time(), string(m.Get("type").Raw())
	if kind != "assistant" || d.uuid == "" || m.Get("uuid").Text() != d.uuid {
		d.count() // at the time of the last answer, as all of it is known
	}
	d.At(at)
	switch kind {
	case "user":
		d.user(n, at)
	case "assistant":
		d.answer(n, at)
	case "tool_result":
		d.results(n, at)
	case "system":
		d.system(n, at, v)
	default:
		d.Unknown(kind, v)
	}
}

// user decodes a message of the user, or one that the tool reports as such.
func (d *decode) user(n int, at time.Time) {
	m := &d.Members
	text := strings.TrimSpace(m.Get("systemPayload", "displayText").Text())
	if text == "" {
		text = parts(m.Get("message", "parts"))
	}
	switch string(m.Get("subtype").Raw()) {
	case "", "mid_turn_user_message":
		d.Prompt(n, thread.Message{ID: m.Get("uuid").Text(), Text: text, Time: at})
	default:
		d.Note(text, at)
	}
}

// answer decodes an answer of the model, or a further part of the last one.
func (d *decode) answer(n int, at time.Time) {
	m := &d.Members
	uuid, list := m.Get("uuid").Text(), m.Get("message", "parts")
	d.uuid = uuid
	if model := m.Get("model").Text(); model != "" {
		d.model = model
	}
	if used := m.Get("usageMetadata"); used.Kind() == jsonl.Object {
		d.tokens = d.used(used, &counts) // of all parts so far
	}
	for c := list.Elements(); c.Next(); {
		if p := c.Value(); p.Get("thought").True() {
			d.Timeline.AddThinking(p.Get("text").Text())
		}
	}
	d.Answered(n, thread.Message{ID: uuid, Text: parts(list), Model: d.model, Time: at})
	for c := list.Elements(); c.Next(); {
		if f := c.Value().Get("functionCall"); f.Kind() == jsonl.Object {
			d.Called(n, thread.Call{ID: f.Get("id").Text(), Name: f.Get("name").Text(), Time: at}, f.Get("args"), waits)
		}
	}
}

// waits is what a person has to do while a call of a tool is open.
var waits = engine.Waits{
	{"ask_user_question", "an answer to its question"},
	{"exit_plan_mode", "approval of its plan"},
}

// results decodes the results of calls.
func (d *decode) results(n int, at time.Time) {
	result := d.Members.Get("toolCallResult")
	status := string(result.Get("status").Raw())
	for c := d.Members.Get("message", "parts").Elements(); c.Next(); {
		f := c.Value().Get("functionResponse")
		id := f.Get("id").Text()
		d.Result(n, id, at, func(c *thread.Call) {
			response := f.Get("response")
			output := response.Get("output")
			if output.Kind() == jsonl.Absent {
				output = response.Get("error")
			}
			c.Output = thread.Clip(engine.Output(output))
			c.Failed = status == "error" || status == "cancelled" || result.Get("resultDisplay", "exitCode").Int() != 0
		})
		if display := result.Get("resultDisplay"); display.Get("type").Is("task_execution") {
			d.ran(n, id, display, at)
		}
	}
	if status == "cancelled" {
		d.State(thread.Errored, at, "interrupted: a call was cancelled, line %d", n)
	}
}

// ran decodes the result of a call that ran a subagent.
func (d *decode) ran(n int, call string, display jsonl.Value, at time.Time) {
	kind := display.Get("subagentName").Text()
	a := d.Agent(kind + "-" + call)
	a.Name, a.Aliases = kind, []string{call}
	a.Evidence = []string{"the result of a call names it"}
	status, end := string(display.Get("status").Raw()), display.Get("terminateReason").Text()
	state := thread.Errored
	switch {
	case status == "running":
		state = thread.Running
	case status == "completed" && (end == "GOAL" || end == ""):
		state = thread.Completed
	}
	a.State = thread.ReadState(state, thread.Parent, at, "the call of %s has status %q, ended with %q, line %d", kind,
		status, end, n)
	a.AddEvent(at, "run_"+kind, status)
}

// unread are the subtypes of records of the tool that are not shown.
const unread = " session_notes slash_command at_command attribution_snapshot notification background_task_completed " +
	"cron custom_title parent_session session_source session_execution_engine omni_recall session_model " +
	"session_approval_mode agent_bootstrap agent_launch_prompt agent_retry agent_session_ready file_history_snapshot " +
	"user_text_elements session_artifact_event session_artifact_snapshot session_sources_snapshot branch_checkpoint " +
	"goal_state goal_runtime goal_turn_end realtime_message turn_result "

// system decodes a record of the tool.
func (d *decode) system(n int, at time.Time, v jsonl.Value) {
	switch kind := d.Members.Get("subtype").Text(); kind {
	case "ui_telemetry":
		d.telemetry(n, at, d.Members.Get("systemPayload", "uiEvent"))
	case "chat_compression":
		d.Compacted("", at)
		d.Unread(kind, v)
	case "rewind":
		d.Note("The thread was rewound.", at)
	default:
		if !strings.Contains(unread, " "+kind+" ") {
			d.Unknown("system "+kind, v)
			return
		}
		d.Unread(kind, v)
	}
}

// An aside is a request that has no answer in the chat, of a subagent or for a compaction.
type aside struct {
	agent, model string
	tokens       thread.Tokens
	at           time.Time
}

// telemetry decodes a record of a request. Those of the chat and of subagents with a transcript repeat what these
// have. The ID of a prompt has that of the subagent between two #.
func (d *decode) telemetry(n int, at time.Time, event jsonl.Value) {
	prompt := event.Get("prompt_id").Text()
	own := d.subagent || strings.Contains(prompt, "########")
	switch kind := event.Get("event.name").Text(); {
	case kind == "qwen-code.api_error":
		if own {
			message := event.Get("error_message").Text()
			d.Note("The request failed. "+message, at)
			d.State(thread.Errored, at, "the request failed: %s, line %d", thread.Brief(message), n)
		}
	case kind == "" || prompt == "":
		d.Missing("event.name or prompt_id")
	case kind != "qwen-code.api_response":
		d.Unread("ui_telemetry "+kind, event)
	case !own:
		_, agent, _ := strings.Cut(prompt, "#")
		agent, _, _ = strings.Cut(agent, "#")
		d.asides = append(d.asides, aside{agent, event.Get("model").Text(), d.used(event, &reported), at})
	}
}

// count counts the usage of the last answer.
func (d *decode) count() {
	switch {
	case d.tokens.Total() > 0:
		d.Use(engine.Use{Model: d.model, Tokens: d.tokens})
	case d.uuid != "" && !d.subagent:
		d.silent++
		d.Meter.Add("", d.model, thread.Tokens{}, false)
	}
	d.uuid, d.model = "", ""
	d.tokens = thread.Tokens{}
}

// counts and reported are the members of the usage of an answer and of a request.
var (
	counts = engine.Counts{Input: "promptTokenCount", CacheRead: "cachedContentTokenCount", Output: "candidatesTokenCount",
		Reasoning: "thoughtsTokenCount", Optional: []string{"cachedContentTokenCount", "thoughtsTokenCount"},
		Other: []string{"totalTokenCount"}}
	reported = engine.Counts{Input: "input_token_count", CacheRead: "cached_content_token_count",
		Output: "output_token_count", Reasoning: "thoughts_token_count", Loose: true, Other: []string{"total_token_count"}}
)

// used returns the tokens of a usage. Cached tokens are part of the prompt. Thoughts are part of the
// output, unless the total shows that they are not.
func (d *decode) used(v jsonl.Value, names *engine.Counts) thread.Tokens {
	t, _ := d.Tokens(v, names)
	total := v.Get(names.Other[0]).Count()
	if t.Reasoning > 0 && (total == t.Input+t.Output+t.Reasoning || t.Reasoning > t.Output) {
		t.Output += t.Reasoning
	}
	t.Input = max(0, t.Input-t.CacheRead)
	return t
}

// Finish implements engine.Decoder.
func (d *decode) Finish() {
	d.count()
	for _, a := range d.asides {
		_, err := os.Stat(filepath.Join(d.agents, "agent-"+a.agent+".jsonl"))
		named := func(m *engine.Mention) bool { return m.ID == a.agent }
		if err != nil && !slices.ContainsFunc(d.Mentions(), named) {
			d.Meter.At = a.at
			d.Use(engine.Use{Model: a.model, Tokens: a.tokens, Apart: true})
		}
	}
	d.Gaps = []thread.Gap{{N: d.silent, Reason: "%d answers have no recorded usage"}}
}

// parts returns the text of the parts of a message, without thoughts.
func parts(v jsonl.Value) string {
	var texts []string
	for c := v.Elements(); c.Next(); {
		p := c.Value()
		if p.Get("thought").True() {
			continue
		}
		for _, data := range []string{"inlineData", "fileData"} {
			if kind := p.Get(data, "mimeType").Text(); kind != "" {
				kind, _, _ = strings.Cut(kind, "/")
				texts = append(texts, "["+kind+"]")
			}
		}
		if text := strings.TrimSpace(p.Get("text").Text()); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}
