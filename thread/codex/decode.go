package codex

import (
	"fmt"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A decode decodes the records of a rollout.
type decode struct {
	*engine.Scan
	saved
	meta meta

	kind, stamp, ordinal jsonl.Value // of the record
	payload              jsonl.Members
	bare, named          bool // the record has no envelope, and is one of the program
	record               jsonl.Value
	n                    int
	item                 jsonl.Members // of item_completed

	start     int64    // with ordinals: the first record that was not copied
	origin    *history // of the thread that this one was forked from, nil if there is none
	copying   bool     // all records so far were copied
	turns     bool     // records name their turn
	next      int      // index in origin.totals
	replaying bool     // the records are of another rollout, which this one continues

	talks map[string]talk // calls about subagents that have not returned
}

// saved is what a decode knows between two records.
type saved struct {
	Last       jsonl.Stamp // of a record
	Turn       turn
	Sum        meter
	Model      string
	Tier       string // of the service
	Recent     [8]recorded
	Next       int  // index in Recent
	Compaction int  // line of the last one
	Unseen     bool // its request is in no record
	Known      bool // a record is one of the program
	Strangers  int  // records of other types
	Metas      int
	Scripts    []script        // those that are running, or the last one
	Itemized   bool            // a call of a script has a record
	Spawning   map[string]bool // calls that start a subagent and have not returned
}

func newDecode(s *engine.Scan, m meta) *decode {
	d := &decode{Scan: s, meta: m, talks: map[string]talk{}}
	d.Spawning = map[string]bool{}
	d.Sum.Known = !m.copies() && m.parent == ""
	return d
}

// Saved implements engine.Saver.
func (d *decode) Saved() any { return &d.saved }

// own reports whether the record is of this thread.
func (d *decode) own() bool { return !d.Timeline.Inherited }

// at returns the time of the record.
func (d *decode) at() time.Time { return d.stamp.Time() }

// happened notes the time of the record, which is only read if it is the last one.
func (d *decode) happened() {
	if d.own() {
		d.Last.Set(d.stamp)
	}
}

// Parse implements engine.Parser.
func (d *decode) Parse(record jsonl.Value) jsonl.Cursor {
	c := record.Members()
	d.kind, d.stamp = nil, nil
	d.bare, d.named = true, false
	d.ordinal = nil
	for c.Next() {
		switch string(c.Name()) {
		case "timestamp":
			d.stamp = c.Value()
		case "type":
			d.kind, d.named = c.Value(), true
		case "payload":
			d.payload.Fill(&c)
			d.bare = false
		case "ordinal":
			d.ordinal = c.Value()
		case "id":
			d.named = true
		}
	}
	return c
}

// Record implements engine.Decoder. Copied records are shown, but do not affect the facts.
func (d *decode) Record(n int, v jsonl.Value) {
	d.n, d.record = n, v
	if d.bare {
		d.old()
		return
	}
	d.Copied(d.copied())
	switch kind := d.kind.Raw(); string(kind) { // without an allocation
	case "session_meta":
		d.sessionMeta()
	case "turn_context":
		d.Model = d.payload.Get("model").Text()
		d.Turn.Policy = d.payload.Get("approval_policy").Text()
	case "response_item":
		d.responseItem()
	case "event_msg":
		d.event()
	case "token_usage_record":
		d.happened()
		d.request(usageRecord, d.payload.Get("usage"), d.payload.Get("thread_token_usage"))
	case "compacted":
		d.compacted(d.payload.Get("message"))
		d.Unread(string(kind), d.payload.Get("usage")) // another member repeats the latest record
	case "world_state", "inter_agent_communication", "inter_agent_communication_metadata":
		d.Unread(string(kind), v)
		return
	default:
		d.Strangers++
		d.Unknown(string(kind), v)
		return
	}
	d.Known = true
}

// old decodes a record without an envelope, of a version before 0.32.
func (d *decode) old() {
	if !d.named {
		return
	}
	d.payload.Parse(d.record)
	switch kind := string(d.kind.Raw()); kind {
	case "": // a meta
		d.Known = true
	case "message", "reasoning", "function_call", "function_call_output", "custom_tool_call",
		"custom_tool_call_output", "local_shell_call":
		d.Known = true
		d.responseItem()
	default:
		d.Strangers++
		d.Unknown(kind, d.record)
	}
}

// sessionMeta decodes a session_meta. The first was read by readMeta.
func (d *decode) sessionMeta() {
	if d.replaying {
		return
	}
	if d.Metas++; d.Metas > 1 && d.payload.Get("forked_from_id").Is(d.meta.id) && d.meta.id != "" {
		d.Facts.Warn("the file contains thread %s from line %d, which was forked from it",
			d.payload.Get("id").Text(), d.n)
	}
}

// event decodes an event_msg: what the tool sends to its user interface.
func (d *decode) event() {
	d.happened()
	p := &d.payload
	switch kind := p.Get("type").Raw(); string(kind) {
	case "token_count":
		if info := p.Get("info"); info.Kind() == jsonl.Object {
			d.request(tokenCount, info.Get("last_token_usage"), info.Get("total_token_usage"))
		}
	case "thread_settings_applied":
		if tier := p.Get("thread_settings", "service_tier"); tier.Kind() != jsonl.Absent {
			d.Tier = tier.Text()
		}
	case "user_message":
		d.shown(thread.User, p.Get("message"))
	case "agent_message":
		d.shown(thread.Assistant, p.Get("message"))
	case "item_completed":
		d.completed()
	case "context_compacted":
		d.compacted(nil)
	case "thread_rolled_back":
		d.say(event, thread.Message{Role: thread.Note,
			Text: fmt.Sprintf("The last %d turns were rolled back.", p.Get("num_turns").Int())})
	case "task_started", "turn_started", "task_complete", "turn_complete", "turn.completed", "turn_aborted", "error",
		"shutdown_complete":
		if d.own() {
			d.turned(string(kind))
		}
	case "entered_review_mode", "exited_review_mode", "web_search_end", "image_generation_end", "view_image_tool_call",
		"guardian_assessment", "undo_completed", "patch_apply_end":
		d.Unread(string(kind), d.record)
	// The first of these is read for the title, the tokens of the goal are those of the requests, and the
	// results of tools have any form.
	case "thread_name_updated", "thread_goal_updated", "agent_reasoning", "agent_reasoning_raw_content",
		"exec_command_end", "dynamic_tool_call_request", "dynamic_tool_call_response",
		"mcp_tool_call_end":
	default:
		if !d.teamEvent(string(kind)) {
			d.Unknown(string(kind), d.record)
		}
	}
}

// shown adds a message of an event. Usually there is a response_item with the
// same text.
func (d *decode) shown(role thread.Role, v jsonl.Value) {
	switch {
	case !d.own():
	case role == thread.User:
		d.asked()
	default:
		d.Sum.Answered = true
		d.answered()
	}
	if d.Timeline.Detail > thread.Summary {
		d.say(event, thread.Message{Role: role, Text: text(v, anyPart)})
	}
}

// A family is one of the two kinds of records of a message.
type family byte

const (
	item family = iota + 1
	event
)

// A recorded is a message whose record of the other family is expected.
type recorded struct {
	Family family
	Role   thread.Role
	Hash   uint64
}

// say adds a message, unless it is the second record of one.
func (d *decode) say(f family, m thread.Message) {
	if d.Timeline.Detail == thread.Summary || m.Text == "" {
		return
	}
	m.Time = d.at()
	if m.Role == thread.Assistant {
		m.Model = d.Model
	}
	if m.Role != thread.Note {
		r := recorded{f, m.Role, engine.Hash(m.Text)}
		for i, other := range d.Recent {
			if other.Family != 0 && other.Family != f && other.Role == r.Role && other.Hash == r.Hash {
				d.Recent[i] = recorded{}
				return
			}
		}
		d.Recent[d.Next%len(d.Recent)] = r
		d.Next++
	}
	d.Timeline.Add(m)
}

// Finish implements engine.Decoder.
func (d *decode) Finish() {
	if at := d.Last.Time(); !at.IsZero() {
		d.At(at)
	}
	d.endTurn()
	if !d.Known && d.Facts.Lines > d.Facts.BadLines {
		d.Facts.WarnUnknown()
	}
	d.Gaps = []thread.Gap{
		{N: d.Turn.Interrupted, Reason: "%d turns were interrupted before their usage was recorded"},
		{N: d.Turn.Silent, Reason: "%d turns with an answer have no new usage"},
		{N: d.Sum.Less, Reason: "the total of the thread rose by less than the usage of %d requests"},
		{N: d.Sum.Hidden, Reason: "the requests of %d compactions are not recorded"},
	}
	if !d.meta.found {
		d.Gaps = append(d.Gaps, thread.Gap{N: d.Strangers,
			Reason: "no record describes the thread, and %d have an unknown type"})
	}
}
