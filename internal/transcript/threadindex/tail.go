package threadindex

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/transcript/threadindex/store"
	"github.com/agent-handoff/handoff/thread"
)

// reading reads a transcript: what follows its mark if the index has one, otherwise all
// of it.
func (u *update) reading(ctx context.Context, s *thread.Stored) reading {
	if u.tails && u.again[keyOf(s)] {
		if r, ok := u.readTail(ctx, s); ok {
			return r
		}
	}
	r := reading{Stored: s}
	r.entries, r.err = u.reader(ctx, s)
	return r
}

// readTail reads a transcript from its mark, if the part before is the same, or from
// its start. ok is false if that fails, or if a mark is of no use.
func (u *update) readTail(ctx context.Context, s *thread.Stored) (r reading, ok bool) {
	f, ok := statTail(ctx, s)
	if !ok {
		return r, false
	}
	r.Stored = s
	if r.thread, r.before = u.mark(ctx, keyOf(s)); !f.has(r.before) {
		r.thread, r.before = 0, tailMark{}
	}
	threads, err := open(ctx, s)
	if err != nil || len(threads) != 1 {
		return r, false
	}
	e := newEntry(threads[0])
	if e.resume(ctx, r.before, f.next(r.before)) != nil {
		return r, false
	}
	if e.mark != nil {
		e.mark.Digest = f.unchanged(ctx, e.mark.Offset, u.now.Add(-recent))
	}
	if e.mark != nil && e.mark.Digest == nil {
		e.mark, e.settled = nil, [columns]int{}
	}
	r.entries = []*entry{e}
	return r, true
}

// mark returns the thread of a transcript with a mark, and its mark.
func (u *update) mark(ctx context.Context, key string) (id int64, m tailMark) {
	var b []byte
	row := u.QueryRowContext(ctx, "SELECT m.thread, m.mark FROM transcripts x JOIN threads t ON t.transcript = x.id "+
		"JOIN marks m ON m.thread = t.id WHERE x.key = ?", key)
	if row.Scan(&id, &b) != nil {
		return 0, m
	}
	return id, decodeMark(b)
}

// resume reads a thread from a mark, the zero one for all of it, and makes one at the
// first possible offset from next.
func (e *entry) resume(ctx context.Context, from tailMark, next int64) error {
	known := from.Known
	e.before, e.Prompt, e.Prompted, e.last, e.size = known, known.Prompt, known.Prompted, known.Last, known.Size
	e.Continues = known.Continues
	for _, name := range known.Tools {
		e.tools[name] = true
	}
	return e.Thread.Resume(ctx, from.Mark, func(offset int64, state func() []byte) {
		if e.mark != nil || offset < next {
			return
		}
		if b := state(); b != nil {
			e.mark = &tailMark{Mark: thread.Mark{Offset: offset, State: b}, Known: marked{
				Segments: known.Segments + 1, Size: e.size, Last: e.last, Prompt: e.Prompt, Continues: e.Continues,
				Prompted: e.Prompted,
				Tools:    slices.Sorted(maps.Keys(e.tools)),
				Touches:  known.Touches + len(e.touches), Commands: known.Commands + len(e.commands),
				Mentions: known.Mentions + len(e.mentions), Reports: known.Reports + len(e.reports),
			}}
			for c := prompts; c < columns; c++ {
				e.settled[c] = len(e.words[c])
			}
		}
	}, e.message)
}

// storeWords stores the words of an entry: those up to a new mark, and those after it,
// which are replaced when the thread has changed again.
func (u *update) storeWords(ctx context.Context, id int64, e *entry) error {
	n := e.before.Segments
	if e.mark != nil {
		if err := errors.Join(u.insertWords(ctx, store.Segment(id, n), e.words, [columns]int{}, e.settled),
			u.Exec(ctx, "INSERT OR REPLACE INTO marks VALUES (?, ?)", id, e.mark.encode())); err != nil {
			return err
		}
		n++
	}
	var ends [columns]int
	for c, words := range e.words {
		ends[c] = len(words)
	}
	return u.insertWords(ctx, store.Segment(id, n), e.words, e.settled, ends)
}

func (u *update) insertWords(ctx context.Context, row int64, words [columns][]byte, from, to [columns]int) error {
	values := []any{row}
	for c, words := range words {
		values = append(values, string(words[from[c]:to[c]]))
	}
	return u.Exec(ctx, "INSERT INTO words (rowid, "+strings.Join(columnNames[:], ", ")+") VALUES (?, ?, ?, ?, ?, ?)",
		values...)
}
