package claude

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
)

// When a session is forked or moved to the background, the tool copies its records
// with their UUIDs to a transcript with another ID. The copy does not name the
// original, so it is found by comparing UUIDs. Records in several transcripts
// belong to the one that continued first, so that every request counts once.

// heads maps the transcripts of sessions in one directory to the UUID of their
// first prompt.
type heads struct {
	changed time.Time // modification time of the directory
	since   time.Time // older transcripts are not included
	first   map[string]uint64
}

// An index caches the heads of directories.
type index struct {
	mu      sync.Mutex
	folders map[string]*heads
}

// related returns the transcripts beside f with the same first prompt. They were
// written after f was started: the first call for a directory reads only those,
// further calls read all.
func (x *index) related(ctx context.Context, f file, first uint64, started time.Time) []file {
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
	t := newTree(ctx)
	var same []file
	for path, other := range h.first {
		if other != first || path == f.path {
			continue
		}
		if g, ok := t.stat(path, strings.TrimSuffix(filepath.Base(path), plain)); ok {
			same = append(same, g)
		}
	}
	order.Sort(same, func(a, b file) int { return cmp.Compare(a.id, b.id) })
	return same
}

// read adds the heads that are missing.
func (h *heads) read(ctx context.Context, dir string, since time.Time) {
	h.since = since
	for _, e := range thread.NewWalk(ctx).ReadDir(dir) {
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

// eachUUID calls use for the records of a transcript that have a UUID, until it
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

// origin returns the UUIDs of the records of a session that were copied from other
// sessions, and the session from which most were copied.
func (p *provider) origin(ctx context.Context, f file, m meta) (copied map[uint64]bool, from string) {
	if f.agent {
		return nil, ""
	}
	others := p.index.related(ctx, f, m.first, m.started)
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
		var continued time.Time // first record that f does not have
		eachUUID(g.path, chunk, func(_ []byte, id uint64, at jsonl.Value) bool {
			if _, known := mine[id]; known {
				shared[id] = true
			} else if continued.IsZero() {
				continued = at.Time()
			}
			return ctx.Err() == nil
		})
		if !earlier(g.id, continued, f.id, continuation(order, mine, shared)) {
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

// continuation returns the time of the first record that is not shared.
func continuation(order []uint64, at map[uint64]time.Time, shared map[uint64]bool) time.Time {
	for _, id := range order {
		if !shared[id] {
			return at[id]
		}
	}
	return time.Time{}
}

// earlier reports whether a owns the records that it shares with b: it did not
// continue, or continued before b.
func earlier(a string, continuedA time.Time, b string, continuedB time.Time) bool {
	return cmp.Or(continuedA.Compare(continuedB), cmp.Compare(a, b)) < 0
}
