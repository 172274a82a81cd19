package claude

import (
	"cmp"
	"context"
	"fmt"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A transcript is what a decode knows of the thread before its first record.
type transcript struct {
	p       *provider
	path    string
	id      string
	agent   bool // it is that of a subagent
	version string
	forked  bool   // it begins with records of another session
	copies  bool   // those have the ID of that session
	origin  origin // of the records that were copied

	// The transcript of a session may have the records of its subagents: old versions write
	// them there, and later ones copy them to records of the progress of a call.
	only   string // the ID of the subagent, if the thread is one of these
	copied bool   // its records are copies
}

// inside are texts in transcripts that may have the records of subagents.
var inside = []string{`"isSidechain":true`, `"agent_progress"`}

// reader returns the reader of a transcript, whose first record has a session.
func (t transcript) reader(session string) *engine.Reader {
	r := t.part("", false)
	r.FromTail = true
	if !t.forked {
		r.Resumed = fmt.Sprint(t.version, " ", session, " ", t.agent)
	}
	return r
}

// part returns the reader of a subagent whose records, or copies of them, are in t.
func (t transcript) part(id string, copied bool) *engine.Reader {
	t.only, t.copied = id, copied
	return &engine.Reader{Source: t.source, New: func(s *engine.Scan) engine.Decoder { return newDecode(s, t) }}
}

// source is the engine.Source of a transcript.
func (t transcript) source(ctx context.Context, s *engine.Scan, use func(int, jsonl.Value) bool) error {
	err := engine.Lines(t.path)(ctx, s, use)
	if d := s.Decoder().(*decode); err == nil && d.Sums != nil && !t.agent && t.only == "" && !s.Tail {
		err = d.check(ctx)
	}
	return err
}

// A current is the record that is decoded. A session and the subagents in its transcript
// share it.
type current struct {
	n    int // line of the record
	line jsonl.Value
	rec  record
	msg  message // of an answer
}

// A decode decodes the records of a transcript.
type decode struct {
	*engine.Scan
	*current
	saved
	t transcript

	counted    counted                    // the last usage
	unrecorded int                        // tokens that the program counted and the records do not have
	name       string                     // the last model
	rawName    []byte                     // as JSON
	tasks      map[string]*engine.Mention // by ID
	calls      map[string]*call           // about subagents, by ID
	spawns     []*call                    // in order

	chains map[string]string // the subagent of each record of subagents in the file, by UUID
	parts  map[string]*part  // these subagents
	inner  []*part           // in order
}

// saved is what a decode knows between two records.
type saved struct {
	Last     jsonl.Stamp
	Own      bool // a record of the session itself was read
	Foreign  bool // and after it one of another session
	Known    bool // a record is one of the program
	Context  bool // the records are those of the parent that a fork was given
	Turn     turn
	Answers  map[string]*answer
	Records  map[uint64]bool // UUIDs of the records that were read
	Tools    map[uint64]bool // IDs of the calls that were read
	Forks    map[uint64]int  // the message that follows a record, by UUID of the record
	Spawning map[string]bool // calls that start a subagent and have not returned
	Sums     *thread.Tokens  // of all requests up to here, as the program recorded them
	Request  string          // of the last usage
	Credit   thread.Tokens   // of the request, not added to a message yet
	Answered bool            // there is a message of the request
}

func newDecode(s *engine.Scan, t transcript) *decode {
	return &decode{Scan: s, current: &current{}, t: t, saved: saved{Turn: newTurn(t.version, t.agent || t.only != "")}}
}

// set adds to a map, which may be nil: of ten thousand subagents, few need one.
func set[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// Saved implements engine.Saver.
func (d *decode) Saved() any {
	if len(d.chains) > 0 {
		return nil
	}
	return &d.saved
}

// Parse implements engine.Parser.
func (d *decode) Parse(line jsonl.Value) jsonl.Cursor { return d.rec.parse(line) }

// Record implements engine.Decoder.
func (d *decode) Record(n int, line jsonl.Value) {
	d.n, d.line = n, line
	r := &d.rec
	d.Known = d.Known || r.known()
	switch {
	case d.t.copied:
		if id, part := r.part(); id == d.t.only && id != "" {
			d.add(&part)
		}
	case r.sidechain && !d.t.agent:
		if key := d.chainOf(r); key == "" {
			return
		} else if d.t.only == "" {
			d.inside(key, r)
		} else if key == d.t.only {
			d.add(r)
		}
	case d.t.only == "":
		d.add(r)
	}
}

// chainOf returns the subagent of a record of one in the session's file: its ID or, in
// versions that don't record it, the UUID of its first record.
func (d *decode) chainOf(r *record) string {
	key := r.agent.Text()
	if key == "" {
		key = cmp.Or(d.chains[r.parent.Text()], r.uuid.Text())
	}
	if id := r.uuid.Text(); id != "" {
		set(&d.chains, id, key)
	}
	return key
}

// add decodes a record of the thread.
func (d *decode) add(r *record) {
	d.inherit(r)
	if d.own() {
		d.Last.Set(r.at)
	}
	again := d.repeated(r)
	kind := string(r.kind)
	if kind == "assistant" {
		d.msg.parse(r.message)
		d.usage(r, again)
	}
	if again {
		return
	}
	switch kind {
	case "user":
		d.user(r)
	case "assistant":
		d.assistant(r)
	case "system":
		d.system(r)
	case "progress":
		d.progress(r)
	case "attachment":
		d.queued(r)
	case "queue-operation":
		d.notified(r.content.Text(), r.at.Time())
	case "cost-state":
		d.Sums = sumOf(r.sums)
	case "fork-context-ref":
		d.Context = true
	case "file-history-snapshot", "last-prompt", "atis-latch", "api-request", "api-request-blob", "api-request-shape",
		"summary", "permission-mode", "ai-title", "custom-title", "agent-name", "agent-color", "agent-setting", "mode",
		"tag", "tools-used", "worktree-state", "frame-link", "pr-link", "relocated", "bridge-session":
	default:
		d.Unknown(kind, d.line)
	}
}

// own reports whether the record is of this thread.
func (d *decode) own() bool { return !d.Timeline.Inherited }

// repeated reports whether a record was read before. Resuming a session may write
// its records again.
func (d *decode) repeated(r *record) bool {
	id := r.uuid.Text()
	if !thread.IsUUID(id) {
		return false
	}
	h := digest(id)
	if d.Records[h] {
		return true
	}
	set(&d.Records, h, true)
	return false
}

// inherit determines whether a record was copied from another session.
func (d *decode) inherit(r *record) {
	if d.Context && string(r.kind) == "user" {
		d.Context = false
	}
	known := d.t.origin.copied
	switch id := r.session; {
	case r.forked.Get("sessionId").Kind() == jsonl.String, d.Context:
		d.Copied(true)
		return
	case known != nil:
		if r.uuid.Kind() == jsonl.String {
			d.Copied(known[digest(r.uuid.Text())])
		}
		return
	case d.t.agent || id.Kind() != jsonl.String:
	case id.Is(d.t.id):
		d.Own = true
	case d.Own && !d.Foreign && !d.Tail:
		d.Foreign = true
		d.Facts.Warn("records from line %d are of session %s", d.n, id.Text())
	}
	d.Copied(d.t.copies && !d.Own)
}

// Finish implements engine.Decoder.
func (d *decode) Finish() {
	d.credit()
	if at := d.Last.Time(); !at.IsZero() {
		d.At(at)
	}
	d.endTurn()
	d.finishAgents()
	if !d.Known && d.Facts.Lines > d.Facts.BadLines {
		d.Facts.WarnUnknown()
	}
	d.finishUsage()
}
