package codex

import (
	"context"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

// A lineage determines which records of a rollout were copied from another
// thread.
type lineage struct {
	start      int64    // with ordinals: the first record that was not copied
	from       *history // of the original thread, nil if there is none
	unverified string   // ID of the original thread, if it can't be read

	copying   bool // all records so far were copied
	turnKnown bool // records name their turn
	next      int  // index in from.totals
}

// A history identifies copies of a thread's records.
type history struct {
	size   int64
	turns  map[string]bool
	totals []count // without repetitions
}

// readLineage reads the thread that r was forked from, if necessary.
func (r *rollout) readLineage(ctx context.Context, s *scanner) *lineage {
	l := &lineage{start: r.meta.historyStart, copying: r.meta.forkedFrom != "" && r.meta.baseThread == "" &&
		r.meta.historyStart == 0}
	if !l.copying {
		return l
	}
	t, err := r.p.Thread(ctx, r.meta.forkedFrom)
	if err == nil {
		l.from, err = t.Reader.(*rollout).history(ctx)
	}
	if err != nil {
		l.copying, l.unverified = false, r.meta.forkedFrom
		s.facts.Warn("it was forked from thread %s, which can't be read: copied records can't be identified",
			r.meta.forkedFrom)
	}
	return l
}

// copied reports whether a record was copied. It must be called for every record,
// in order.
func (l *lineage) copied(kind []byte, payload *jsonl.Members, ordinal jsonl.Value) bool {
	if l.start > 0 {
		return ordinal.Kind() == jsonl.Number && ordinal.Int() < l.start
	}
	if !l.copying {
		return false
	}
	switch string(kind) {
	case "turn_context":
		l.turn(payload.Get("turn_id").Text())
	case "event_msg":
		switch string(payload.Get("type").Raw()) {
		case "task_started", "turn_started":
			l.turn(payload.Get("turn_id").Text())
		case "token_count":
			l.count(payload.Get("info", "total_token_usage"))
		}
	}
	return l.copying
}

func (l *lineage) turn(id string) {
	if id != "" {
		l.turnKnown = true
		l.copying = l.from.turns[id]
	}
}

// count identifies copies by their totals, if records do not name their turn.
func (l *lineage) count(v jsonl.Value) {
	total, ok := parseCount(v)
	if !ok || l.turnKnown || l.next > 0 && l.from.totals[l.next-1] == total {
		return
	}
	if l.next < len(l.from.totals) && l.from.totals[l.next] == total {
		l.next++
		return
	}
	l.copying = false
}

// history returns the history of r. It is cached, because forks often have the
// same original.
func (r *rollout) history(ctx context.Context) (*history, error) {
	const maxCached = 16
	r.p.mu.Lock()
	h := r.p.histories[r.file.path()]
	r.p.mu.Unlock()
	if h != nil && h.size == r.size {
		return h, nil
	}
	src, err := r.file.open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	h = &history{size: r.size, turns: map[string]bool{}}
	rd := jsonl.NewReader(src)
	for rd.Next() {
		if rd.Number()%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		h.add(rd.Line())
	}
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	if len(r.p.histories) >= maxCached {
		clear(r.p.histories)
	}
	r.p.histories[r.file.path()] = h
	return h, nil
}

func (h *history) add(line jsonl.Value) {
	payload := line.Get("payload")
	switch string(line.Get("type").Raw()) {
	case "turn_context":
		h.turns[payload.Get("turn_id").Text()] = true
	case "event_msg":
		switch string(payload.Get("type").Raw()) {
		case "task_started", "turn_started":
			h.turns[payload.Get("turn_id").Text()] = true
		case "token_count":
			total, ok := parseCount(payload.Get("info", "total_token_usage"))
			if n := len(h.totals); ok && (n == 0 || h.totals[n-1] != total) {
				h.totals = append(h.totals, total)
			}
		}
	}
}
