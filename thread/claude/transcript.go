package claude

import (
	"cmp"
	"context"
	"io"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/resume"
)

// A transcript reads one thread.
type transcript struct {
	p    *provider
	file file
	meta meta
	only string        // ID of a subagent whose records are in its session's file
	copy bool          // these records are copies in those of its progress
	read *thread.Facts // of a subagent whose session was read, for one Load

	copied map[uint64]bool // UUIDs of the records that were copied from other sessions

	subagents *subagents // found by the last Read; nil before
}

// Read implements thread.Reader.
func (r *transcript) Read(ctx context.Context, detail thread.Detail, emit func(thread.Message) error) (thread.Facts,
	error) {
	if facts := r.read; facts != nil && detail == thread.Summary {
		r.read, r.subagents = nil, &subagents{}
		return *facts, nil
	}
	src, err := thread.OpenFile(r.file.path)
	if err != nil {
		return thread.Facts{}, err
	}
	defer src.Close()
	s := r.scanner(ctx)
	s.timeline.Detail, s.timeline.Emit = detail, emit
	if err := s.scan(src); err != nil {
		return thread.Facts{}, err
	}
	r.subagents = &s.subagents
	return s.finish()
}

// tail is how much of the end of a transcript is read for its state.
const tail = 64 << 10

// state reads the state of a thread, from the end of its transcript if possible.
func (r *transcript) state(ctx context.Context) (thread.Facts, error) {
	if r.file.size <= tail || r.only != "" {
		return r.Read(ctx, thread.Summary, nil)
	}
	src, err := thread.OpenFile(r.file.path)
	if err != nil {
		return thread.Facts{}, err
	}
	defer src.Close()
	s := r.scanner(ctx)
	s.partial = true
	if err := s.scan(io.NewSectionReader(src, r.file.size-tail, tail)); err != nil {
		return thread.Facts{}, err
	}
	if s.turn.State.Status == "" || s.turn.NoEnd {
		return r.Read(ctx, thread.Summary, nil)
	}
	return s.finish()
}

// A scanner reads the records of a transcript.
type scanner struct {
	ctx   context.Context
	r     *transcript
	facts thread.Facts

	timeline  timeline
	turn      turn
	meter     meter
	subagents subagents

	point   resume.Point
	partial bool // it starts in the middle of a line
	n       int  // line of the record
	own     bool // a record of the session itself was read
	foreign bool // and after it one of another session
	known   bool // a record is one of the program
	last    jsonl.Stamp
	other   bool // the line is malformed, but not an answer
	others  int  // number of these lines

	records map[uint64]bool   // UUIDs of the records that were read
	tools   map[uint64]bool   // IDs of the calls that were read
	chains  map[string]string // the subagent of each record of subagents in the file, by UUID
	forks   map[uint64]int    // the message that follows a record, by UUID of the record
}

func (r *transcript) scanner(ctx context.Context) *scanner {
	s := &scanner{ctx: ctx, r: r, records: map[uint64]bool{}, tools: map[uint64]bool{}, chains: map[string]string{},
		forks: map[uint64]int{}}
	s.meter.records = map[uint64]bool{}
	s.meter.answers, s.subagents.byID, s.subagents.calls = map[uint64]*answer{}, map[string]*subagent{}, map[string]*call{}
	s.turn = newTurn(r.meta.version, r.file.agent || r.only != "")
	return s
}

// scan reads the records of src. The error is one of emit or ctx. Defects of src
// become warnings.
func (s *scanner) scan(src io.Reader) error {
	rd := jsonl.Borrow(src)
	defer rd.Return()
	s.point.Start(rd)
	return s.each(rd, func(line jsonl.Value) (bool, error) {
		if s.partial && s.n == 1 {
			return true, nil
		}
		complete := s.line(line, s.record)
		resume.Mark(&s.point, rd, complete, s.save)
		return complete, s.timeline.Err()
	})
}

// each calls use with the lines of rd. It reports whether a line consists of complete
// records.
func (s *scanner) each(rd *jsonl.Reader, use func(line jsonl.Value) (bool, error)) error {
	report, err := rd.Each(s.ctx, func(line jsonl.Value) (bool, error) {
		s.n, s.other = rd.Number(), false
		complete, err := use(line)
		if s.other && !rd.Torn() && !rd.Cut() {
			s.others++
		}
		return complete, err
	})
	s.facts.Lines, s.facts.BadLines, s.facts.Partial = report.Lines, report.Bad, report.Partial
	s.facts.Warnings = append(s.facts.Warnings, report.Warnings...)
	return err
}

// line passes on the record of a line, or several records written on one line without
// space between them. It reports whether the line consists of complete records.
func (s *scanner) line(line jsonl.Value, use func(*record)) bool {
	for rest := line; len(rest) > 0; {
		r, c := parseRecord(rest)
		var ok bool
		if rest, ok = following(rest, c); !ok {
			return s.malformed(line)
		}
		s.known = s.known || r.known()
		use(&r)
	}
	return true
}

// following returns the part of a line that follows the record that c has read. ok is
// false if the record is incomplete, or if space follows before more.
func following(line jsonl.Value, c jsonl.Cursor) (rest jsonl.Value, ok bool) {
	rest = c.Rest()
	return rest, c.Closed() && (len(rest) == 0 || line[len(line)-len(rest)-1] == '}')
}

// malformed notes whether a malformed line may have an answer. It returns false.
func (s *scanner) malformed(line jsonl.Value) bool {
	for ok := true; ok && len(line) > 0 && !s.other; {
		var r record
		var c jsonl.Cursor
		c, s.other = s.meter.parseAnswer(line, &r)
		line, ok = following(line, c)
	}
	return false
}

// record reads one record.
func (s *scanner) record(r *record) {
	if s.r.copy {
		if id, part := r.part(); id == s.r.only {
			s.add(&part)
		}
		return
	}
	if !s.ofOther(r) {
		s.add(r)
	}
}

// add reads a record of the thread.
func (s *scanner) add(r *record) {
	s.origin(r)
	s.subagents.inherited = s.timeline.Inherited
	if !s.timeline.Inherited {
		s.last.Set(r.at)
	}
	if string(r.kind) == "assistant" {
		s.meter.message.parse(r.message)
		s.usage(r)
	}
	if s.repeated(r) {
		return
	}
	switch string(r.kind) {
	case "user":
		s.user(r)
	case "assistant":
		s.assistant(r)
	case "system":
		s.system(r)
	case "progress":
		s.subagents.progress(r, s.n)
	case "attachment":
		s.queued(r)
	case "queue-operation":
		s.subagents.notified(r.content.Text(), r.at.Time(), s.n)
	}
}

// repeated reports whether a record was read before. Resuming a session may write
// its records again.
func (s *scanner) repeated(r *record) bool {
	id := r.uuid.Text()
	if !thread.IsUUID(id) {
		return false
	}
	h := digest(id)
	if s.records[h] {
		return true
	}
	s.records[h] = true
	return false
}

// ofOther reports whether a record is not of the thread that is read. Old versions
// write the records of subagents to the session's file.
func (s *scanner) ofOther(r *record) bool {
	if s.r.file.agent {
		return false
	}
	if !r.sidechain {
		return s.r.only != ""
	}
	key := s.chain(r)
	if kind := string(r.kind); s.r.only == "" && key != "" && (kind == "user" || kind == "assistant") {
		s.subagents.inside(key, r)
	}
	return key != s.r.only || key == ""
}

// chain returns the subagent of a record of one in the session's file: its ID or, in
// versions that don't record it, the UUID of its first record.
func (s *scanner) chain(r *record) string {
	key := r.agent.Text()
	if key == "" {
		key = cmp.Or(s.chains[r.parent.Text()], r.uuid.Text())
	}
	if id := r.uuid.Text(); id != "" {
		s.chains[id] = key
	}
	return key
}

// origin determines whether a record was copied from another session.
func (s *scanner) origin(r *record) {
	from := r.forked.Get("sessionId")
	if from.Kind() == jsonl.String {
		s.timeline.Inherited = true
		return
	}
	if id := r.uuid; s.r.copied != nil && id.Kind() == jsonl.String {
		s.timeline.Inherited = s.r.copied[digest(id.Text())]
		return
	}
	if !s.r.file.agent && r.session.Kind() == jsonl.String {
		switch own := r.session.Is(s.r.file.id); {
		case own:
			s.own = true
		case s.own && !s.foreign && !s.partial:
			s.foreign = true
			s.facts.Warn("records from line %d are of session %s", s.n, r.session.Text())
		}
	} else if s.r.copied != nil {
		return // as the record before
	}
	s.timeline.Inherited = s.r.meta.copied && !s.own
}

// finish returns the facts after all records have been read.
func (s *scanner) finish() (thread.Facts, error) {
	s.timeline.credit()
	if err := s.timeline.Finish(); err != nil {
		return thread.Facts{}, err
	}
	s.facts.Messages, s.facts.ToolCalls = s.timeline.Messages, s.timeline.ToolCalls
	s.facts.Last = s.last.Time()
	s.facts.State = s.turn.end(s.facts.Last)
	if s.r.only == "" {
		s.facts.Spawned = s.subagents.own()
	}
	if !s.known && s.facts.Lines > s.facts.BadLines {
		s.facts.WarnUnknown()
	}
	s.finishUsage()
	return s.facts, nil
}
