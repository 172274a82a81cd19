package claude

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A transcript reads one thread.
type transcript struct {
	p    *provider
	file file
	meta meta
	only string // of a subagent inside a session's file: what its records have in common

	copied map[uint64]bool // the records that are another session's, by uuid

	seen *ledger // what the last Read saw of subagents; nil before
}

// Read implements thread.Reader.
func (r *transcript) Read(ctx context.Context, detail thread.Detail, emit func(thread.Message) error) (thread.Facts, error) {
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
	r.seen = &s.ledger
	return s.finish()
}

// tail is how much of the end of a transcript is read for its state.
const tail = 64 << 10

// state reads where a thread stands, from the end of its transcript if that
// tells.
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
	if s.turn.state.Status == "" || s.turn.silent {
		return r.Read(ctx, thread.Summary, nil)
	}
	return s.finish()
}

// A scanner goes through the records of a transcript.
type scanner struct {
	ctx   context.Context
	r     *transcript
	facts thread.Facts

	timeline timeline
	turn     turn
	spend    spend
	ledger   ledger

	partial bool // it starts in the middle of a line
	n       int  // the record's line
	own     bool // a record of the session itself was seen
	strange bool // and after it one of another
	lastRaw [48]byte
	lastLen int

	records map[uint64]bool   // that were read: resuming may write them again
	tools   map[uint64]bool   // calls, likewise
	chains  map[string]string // of subagents inside the file: what each record belongs to
	forks   map[uint64]int    // the message that answers to a record, to tell that it was answered anew
}

func (r *transcript) scanner(ctx context.Context) *scanner {
	s := &scanner{ctx: ctx, r: r, records: map[uint64]bool{}, tools: map[uint64]bool{}, chains: map[string]string{}, forks: map[uint64]int{}}
	s.spend.entries = map[uint64]*entry{}
	told, known := endsTold(r.meta.version)
	s.turn.ends, s.turn.seldom = told, known && !told
	return s
}

func (s *scanner) warn(text string) { s.facts.Warnings = append(s.facts.Warnings, text) }

// scan goes through the records of src. The error is one of emit or ctx; what
// is wrong with src is warned about.
func (s *scanner) scan(src io.Reader) error {
	const least, most = 4 << 10, 256 << 10
	size := s.r.file.size + 1
	if s.partial {
		size = tail + 1
	}
	rd := jsonl.NewReaderSize(src, int(min(max(size, least), most)))
	report, err := rd.Each(s.ctx, func(line jsonl.Value) (bool, error) {
		if s.n = rd.Number(); s.partial && s.n == 1 {
			return true, nil
		}
		return s.line(line), s.timeline.Err()
	})
	s.facts.Lines, s.facts.BadLines = report.Lines, report.Bad
	s.facts.Warnings = append(s.facts.Warnings, report.Warnings...)
	return err
}

// line reads the records of a line, of which there is one, unless a writer
// glued two. It reports whether the line is nothing else. A record whose end is
// missing is left out.
func (s *scanner) line(line jsonl.Value) bool {
	for len(line) > 0 {
		r, c := parseRecord(line)
		if !c.Whole() {
			return false
		}
		s.record(&r)
		line = c.Rest()
	}
	return true
}

// record reads one record.
func (s *scanner) record(r *record) {
	if s.elsewhere(r) {
		return
	}
	s.origin(r)
	if at := r.at; len(at) > 0 && len(at) <= len(s.lastRaw) && !s.timeline.Inherited {
		s.lastLen = copy(s.lastRaw[:], at)
	}
	if string(r.kind) == "assistant" {
		s.spent(r)
	}
	if s.again(r) {
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
		s.ledger.progress(r, s.n)
	case "attachment":
		s.queued(r)
	case "queue-operation":
		s.ledger.notified(r.content.Text(), r.at.Time(), s.n)
	}
}

// again reports whether a record was read before: a session that is resumed may
// be written anew from its start.
func (s *scanner) again(r *record) bool {
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

// elsewhere reports whether a record is not about the thread that is read: old
// versions write their subagents into the session's file.
func (s *scanner) elsewhere(r *record) bool {
	if s.r.file.agent {
		return false
	}
	if !r.sidechain {
		return s.r.only != ""
	}
	key := r.agent.Text()
	if key == "" {
		key = cmp.Or(s.chains[r.parent.Text()], r.uuid.Text())
	}
	if id := r.uuid.Text(); id != "" {
		s.chains[id] = key
	}
	if kind := string(r.kind); s.r.only == "" && key != "" && (kind == "user" || kind == "assistant") {
		s.ledger.inside(key, r, s.n)
	}
	return key != s.r.only || key == ""
}

// origin tells records that were copied from the session this one continues.
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
	if s.r.file.agent || r.session.Kind() != jsonl.String {
		return
	}
	switch own := r.session.Is(s.r.file.id); {
	case own:
		s.own = true
	case s.own && !s.strange && !s.partial:
		s.strange = true
		s.warn(fmt.Sprintf("from line %d on its records name session %s", s.n, r.session.Text()))
	}
	s.timeline.Inherited = s.r.meta.copied && !s.own
}

// finish returns the facts once all records were read.
func (s *scanner) finish() (thread.Facts, error) {
	s.timeline.credit()
	if err := s.timeline.Finish(); err != nil {
		return thread.Facts{}, err
	}
	s.facts.Messages = s.timeline.Messages
	s.facts.ToolCalls = s.timeline.ToolCalls
	s.facts.Last = jsonl.Value(s.lastRaw[:s.lastLen]).Time()
	s.facts.State = s.turn.end(s.facts.Last)
	s.spend.finish(&s.facts)
	return s.facts, nil
}
