package codex

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A rollout is one file with what its first record says, and the archive with the others.
type rollout struct {
	*archive
	file engine.File
	meta meta
}

// reader returns the reader of a rollout. Those with records of others, or whose history is
// in another rollout, are read completely.
func (a *archive) reader(f *engine.Found, m meta) *engine.Reader {
	r := rollout{a, file(f), m}
	reader := &engine.Reader{Source: r.source, FromTail: !f.Packed,
		New: func(s *engine.Scan) engine.Decoder { return newDecode(s, m) }}
	if !f.Packed && !m.copies() {
		reader.Resumed = fmt.Sprint(m)
	}
	return reader
}

// source is the engine.Source of a rollout: after the history that it refers to, its own
// records, of which the first may be copies.
func (r rollout) source(ctx context.Context, s *engine.Scan, use func(int, jsonl.Value) bool) error {
	d := s.Decoder().(*decode)
	d.start = r.meta.historyStart
	if !s.Tail && r.meta.copies() {
		if err := r.history(ctx, s, use); err != nil {
			return err
		}
	}
	return r.file.Lines(ctx, s, use)
}

// history reads the rollouts that r was forked from.
func (r rollout) history(ctx context.Context, s *engine.Scan, use func(int, jsonl.Value) bool) error {
	switch {
	case r.meta.base.thread != "" && s.Timeline.Detail > thread.Summary:
		return r.replay(ctx, s, use)
	case r.meta.base.thread != "" || r.meta.historyStart > 0:
		return nil
	}
	d, from := s.Decoder().(*decode), r.meta.forkedFrom
	found, err := r.find(ctx, from)
	if err == nil {
		d.origin, err = r.historyOf(ctx, found)
	}
	if d.copying = err == nil; err != nil {
		s.Includes = "includes the earlier usage of thread " + from +
			", from which it was forked and which can't be read"
		s.Facts.Warn("it was forked from thread %s, which can't be read: copied records can't be identified", from)
	}
	return ctx.Err()
}

// find returns the rollout of another thread.
func (a *archive) find(ctx context.Context, id string) (*engine.Found, error) {
	t, err := a.Thread(ctx, id)
	if err != nil {
		return nil, err
	}
	return t.Reader.(*engine.Reader).Found(), nil
}

// A part is the first part of a rollout, up to an end.
type part struct {
	file engine.File
	end  base
}

// chain returns the parts of other rollouts that come before r, the first one first.
func (r rollout) chain(ctx context.Context, s *engine.Scan) (parts []part) {
	seen := map[string]bool{r.meta.id: true}
	for end := r.meta.base; end.thread != ""; {
		if seen[end.thread] {
			s.Facts.Warn("its history refers back to thread %s", end.thread)
			break
		}
		seen[end.thread] = true
		found, err := r.find(ctx, end.thread)
		if err != nil {
			s.Facts.Warn("its history is in thread %s, which can't be read", end.thread)
			break
		}
		parts = append(parts, part{file(found), end})
		end = found.Head.(meta).base
	}
	slices.Reverse(parts)
	return parts
}

// replay passes on the history that a rollout refers to: the first part of another
// rollout, which may refer to a history itself. It is shown, and does not count.
func (r rollout) replay(ctx context.Context, s *engine.Scan, use func(int, jsonl.Value) bool) error {
	d := s.Decoder().(*decode)
	d.replaying = true
	defer func() { d.replaying, d.Model = false, "" }()
	for _, p := range r.chain(ctx, s) {
		facts := s.Facts
		err := p.file.Lines(ctx, s, func(n int, v jsonl.Value) bool {
			ended := d.ordinal.Kind() == jsonl.Number && d.ordinal.Int() >= p.end.ordinal
			if p.end.ordinal == 0 {
				ended = s.Span(v).Offset >= p.end.bytes
			}
			return !ended && use(n, v)
		})
		s.Facts = facts
		if err != nil {
			return err
		}
	}
	return nil
}

// copied reports whether the record was copied from another thread. It must be called for
// every record, in order.
func (d *decode) copied() bool {
	switch {
	case d.replaying:
		return true
	case d.start > 0:
		return d.ordinal.Kind() == jsonl.Number && d.ordinal.Int() < d.start
	case !d.copying:
		return false
	}
	turn, total := identify(d.kind, &d.payload)
	if turn != "" {
		d.turns = true
		d.copying = d.origin.turns[turn]
	}
	if sum, ok := counted(total); ok && !d.turns {
		d.matched(sum)
	}
	return d.copying
}

// matched identifies copies by their totals, if records do not name their turn.
func (d *decode) matched(sum thread.Tokens) {
	switch totals := d.origin.totals; {
	case d.next > 0 && totals[d.next-1] == sum: // repeated
	case d.next < len(totals) && totals[d.next] == sum:
		d.next++
	default:
		d.copying = false
	}
}

// identify returns what identifies a record of a thread in its copies: the ID of its
// turn, or the total of its tokens.
func identify(kind jsonl.Value, payload *jsonl.Members) (turn string, total jsonl.Value) {
	switch string(kind.Raw()) {
	case "turn_context":
		return payload.Get("turn_id").Text(), nil
	case "token_usage_record":
		return "", payload.Get(members[usageRecord][1])
	case "event_msg":
		switch string(payload.Get("type").Raw()) {
		case "task_started", "turn_started":
			return payload.Get("turn_id").Text(), nil
		case "token_count":
			return "", payload.Get("info", members[tokenCount][1])
		}
	}
	return "", nil
}

// A history identifies copies of a thread's records.
type history struct {
	path   string
	size   int64
	turns  map[string]bool
	totals []thread.Tokens // without repetitions
}

// historyOf returns the history of a rollout. The last one is kept, because forks often
// have the same origin.
func (a *archive) historyOf(ctx context.Context, f *engine.Found) (*history, error) {
	info, err := os.Stat(f.Path)
	if err != nil {
		return nil, thread.UnreadableError(f.Path, err)
	}
	if last := a.origin.Load(); last != nil && last.path == f.Path && last.size == info.Size() {
		return last, nil
	}
	src, err := openRollout(f)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	h := &history{path: f.Path, size: info.Size(), turns: map[string]bool{}}
	if err := h.read(ctx, src); err != nil {
		return nil, err
	}
	a.origin.Store(h)
	return h, nil
}

func (h *history) read(ctx context.Context, src io.Reader) error {
	var payload jsonl.Members
	for rd := jsonl.NewReader(src); rd.Next(); {
		if rd.Number()%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		payload.Parse(rd.Line().Get("payload"))
		turn, total := identify(rd.Line().Get("type"), &payload)
		if turn != "" {
			h.turns[turn] = true
		}
		if sum, ok := counted(total); ok && (len(h.totals) == 0 || h.totals[len(h.totals)-1] != sum) {
			h.totals = append(h.totals, sum)
		}
	}
	return nil
}
