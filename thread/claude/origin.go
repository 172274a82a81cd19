package claude

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A session that is forked, or sent to the background, is written anew from its
// start under another id, record by record, with the same uuids. Nothing in the
// copy says so: it is told by the transcripts beside it. What several hold
// belongs to the one that went on first, so that every request counts once.

// heads are the transcripts of sessions in one folder by the uuid of their first
// prompt.
type heads struct {
	changed time.Time // the folder, when it was read
	since   time.Time // older transcripts were left out
	first   map[string]uint64
}

// An index keeps the heads of folders.
type index struct {
	mu      sync.Mutex
	folders map[string]*heads
}

// alike returns the transcripts beside f that begin with the same prompt. Only
// those can that were written after it: the first question looks at no others,
// who asks more often has all looked at once.
func (x *index) alike(ctx context.Context, f file, first uint64, started time.Time) []file {
	dir := filepath.Dir(f.path)
	info, err := os.Stat(dir)
	if first == 0 || err != nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	h := x.folders[dir]
	switch {
	case h == nil:
		h = &heads{first: map[string]uint64{}}
		h.read(ctx, dir, started)
	case !h.since.IsZero() || !h.changed.Equal(info.ModTime()):
		h.read(ctx, dir, time.Time{})
	}
	h.changed = info.ModTime()
	x.folders[dir] = h
	var same []file
	for path, other := range h.first {
		if g, ok := look(path, strings.TrimSuffix(filepath.Base(path), plain)); ok && other == first && path != f.path {
			same = append(same, g)
		}
	}
	slices.SortFunc(same, func(a, b file) int { return cmp.Compare(a.id, b.id) })
	return same
}

// read reads the heads that are not known yet.
func (h *heads) read(ctx context.Context, dir string, since time.Time) {
	h.since = since
	for _, e := range thread.NewWalk(ctx).Folder(dir) {
		path := filepath.Join(dir, e.Name())
		if h.first[path] != 0 || strings.HasPrefix(e.Name(), prefix) || !strings.HasSuffix(e.Name(), plain) {
			continue
		}
		if info, err := e.Info(); err != nil || info.ModTime().Before(since) {
			continue
		}
		h.first[path] = firstPrompt(path)
	}
}

func firstPrompt(path string) (first uint64) {
	eachUUID(path, 4<<10, func(kind []byte, id uint64, _ jsonl.Value) bool {
		if string(kind) == "user" {
			first = id
		}
		return first == 0
	})
	return first
}

// eachUUID calls use for the records of a transcript that have a uuid, until it
// returns false.
func eachUUID(path string, chunk int, use func(kind []byte, id uint64, at jsonl.Value) bool) {
	src, err := thread.OpenFile(path)
	if err != nil {
		return
	}
	defer src.Close()
	for rd := jsonl.NewReaderSize(src, chunk); rd.Next(); {
		r, _ := parseRecord(rd.Line())
		if id := r.uuid.Text(); thread.IsUUID(id) && !r.sidechain && !use(r.kind, digest(id), r.at) {
			return
		}
	}
}

// origin tells which records of a session were copied from others, by uuid, and
// from whom the most.
func (p *provider) origin(ctx context.Context, f file, m meta) (copied map[uint64]bool, from string) {
	if f.agent {
		return nil, ""
	}
	others := p.index.alike(ctx, f, m.first, m.started)
	if len(others) == 0 {
		return nil, ""
	}
	const chunk = 64 << 10
	mine := map[uint64]time.Time{}
	var order []uint64
	eachUUID(f.path, chunk, func(_ []byte, id uint64, at jsonl.Value) bool {
		mine[id] = at.Time()
		order = append(order, id)
		return ctx.Err() == nil
	})
	most := 0
	copied = map[uint64]bool{}
	for _, g := range others {
		shared := map[uint64]bool{}
		var went time.Time // on, without f
		eachUUID(g.path, chunk, func(_ []byte, id uint64, at jsonl.Value) bool {
			if _, known := mine[id]; known {
				shared[id] = true
			} else if went.IsZero() {
				went = at.Time()
			}
			return ctx.Err() == nil
		})
		if !earlier(g.id, went, f.id, wentOn(order, mine, shared)) {
			continue
		}
		for id := range shared {
			copied[id] = true
		}
		if len(shared) > most {
			most, from = len(shared), g.id
		}
	}
	return copied, from
}

// wentOn returns when the first record was written that is not shared.
func wentOn(order []uint64, at map[uint64]time.Time, shared map[uint64]bool) time.Time {
	for _, id := range order {
		if !shared[id] {
			return at[id]
		}
	}
	return time.Time{}
}

// earlier reports whether a holds what it shares with b as its own: it did not
// go on, or did so before b.
func earlier(a string, wentA time.Time, b string, wentB time.Time) bool {
	return cmp.Or(wentA.Compare(wentB), cmp.Compare(a, b)) < 0
}
