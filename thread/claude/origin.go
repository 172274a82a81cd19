package claude

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// When a session is forked or moved to the background, the tool copies its records
// with their UUIDs to a transcript with another ID: all of them, or those since the last
// compaction. The copy does not name the original, so it is found by comparing UUIDs.
// Records in several transcripts belong to the one that continued first, so that every
// request counts once; those of a copy that begins with a compaction belong to a
// transcript that has it in its middle.

// An origin is where the records come from that a transcript has copies of.
type origin struct {
	copied map[uint64]bool // UUIDs of these records; nil if there are none
	from   string          // the session from which most were copied
	family string          // Thread.Family
	sums   *thread.Tokens  // what the program had counted at the end of these records, if it is known
}

// heads are the transcripts of sessions in one directory with the UUIDs of their first prompts. Those that
// were written last are read first, and no more than are asked for.
type heads struct {
	changed time.Time  // modification time of the directory
	unread  []headless // the one that was written last is the last
	first   map[string]string
}

// A headless transcript is one whose first prompt is not read yet.
type headless struct {
	path     string
	modified time.Time
}

// An index caches the heads of directories.
type index struct {
	mu      sync.Mutex
	folders map[string]*heads
}

// in returns the heads of the transcripts in a directory that were written after a time, and of some others.
func (x *index) in(w *thread.Walk, dir string, since time.Time) map[string]string {
	info, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	h := x.folders[dir]
	if h == nil {
		h = &heads{first: map[string]string{}}
		x.folders[dir] = h
	}
	if !h.changed.Equal(info.ModTime()) {
		h.list(w, dir)
		h.changed = info.ModTime()
	}
	h.read(w, since)
	return maps.Clone(h.first)
}

// list finds the transcripts whose heads are missing.
func (h *heads) list(w *thread.Walk, dir string) {
	h.unread = nil
	for _, e := range w.ReadDir(dir) {
		path := filepath.Join(dir, e.Name())
		if _, known := h.first[path]; known || !strings.HasSuffix(path, plain) || isAgent(path) || e.IsDir() {
			continue
		}
		h.unread = append(h.unread, headless{path, w.StatFile(path).Modified})
	}
	slices.SortFunc(h.unread, func(a, b headless) int { return a.modified.Compare(b.modified) })
}

// read reads the heads of the transcripts that were written after a time.
func (h *heads) read(w *thread.Walk, since time.Time) {
	for n := len(h.unread) - 1; n >= 0 && !h.unread[n].modified.Before(since) && !w.Done(); n-- {
		path := h.unread[n].path
		h.first[path], h.unread = firstPrompt(path), h.unread[:n]
	}
}

func firstPrompt(path string) (first string) {
	each(path, 4<<10, func(r *record, id uint64) bool {
		if string(r.kind) == "user" && id != 0 {
			first = r.uuid.Text()
		}
		return first == ""
	})
	return first
}

// each calls use for the records of a transcript, except those of subagents, until it
// returns false. id is that of the record, 0 if it has none.
func each(path string, chunk int, use func(r *record, id uint64) bool) {
	src, err := thread.OpenFile(path)
	if err != nil {
		return
	}
	defer src.Close()
	var r record
	for rd := jsonl.NewReaderSize(src, chunk); rd.Next(); {
		r.parse(rd.Line())
		id := uint64(0)
		if text := r.uuid.Text(); thread.IsUUID(text) {
			id = digest(text)
		}
		if !r.sidechain && !use(&r, id) {
			return
		}
	}
}

// An original is a transcript that has records of another one.
type original struct {
	path  string
	whole bool // the other one begins in its middle
}

func (o original) id() string {
	return thread.LowerUUID(strings.TrimSuffix(filepath.Base(o.path), plain))
}

// related returns the transcripts beside that in path with some of its records.
func (x *index) related(w *thread.Walk, path string, m meta) (list []original, family string) {
	if m.first == "" {
		return nil, ""
	}
	dir := filepath.Dir(path)
	family = m.first
	for other, first := range x.in(w, dir, m.started) {
		switch {
		case other == path:
		case first == m.first:
			list = append(list, original{path: other})
		case m.compacted != "" && engine.Contains(other, m.compacted):
			list = append(list, original{path: other, whole: true})
			family = first
		}
	}
	slices.SortFunc(list, func(a, b original) int { return cmp.Compare(a.path, b.path) })
	return list, dir + "#" + family
}

// origin returns where the records of a session come from.
func (x *index) origin(w *thread.Walk, path, id string, m meta) (o origin) {
	others, family := x.related(w, path, m)
	if o.family = family; len(others) == 0 {
		return o
	}
	const chunk = 64 << 10
	mine := map[uint64]time.Time{}
	var order []uint64
	each(path, chunk, func(r *record, id uint64) bool {
		if id != 0 {
			mine[id] = r.at.Time()
			order = append(order, id)
		}
		return !w.Done()
	})
	most := 0
	o.copied = map[uint64]bool{}
	for _, other := range others {
		c := compare(other.path, mine)
		if !other.whole && !earlier(other.id(), c.continued, id, continuation(order, mine, c.shared)) {
			continue
		}
		for id := range c.shared {
			o.copied[id] = true
		}
		if len(c.shared) > most {
			most = len(c.shared)
			o.from, o.sums = other.id(), c.sums
		}
	}
	return o
}

// A common is what a transcript has in common with another one.
type common struct {
	shared    map[uint64]bool
	continued time.Time      // of the first record that the other one does not have
	sums      *thread.Tokens // what the program had counted after the last one that it has
}

// compare compares the transcript in path with one that has the records mine.
func compare(path string, mine map[uint64]time.Time) common {
	c := common{shared: map[uint64]bool{}}
	outside := false
	each(path, 64<<10, func(r *record, id uint64) bool {
		_, known := mine[id]
		switch {
		case id == 0:
			if string(r.kind) == "cost-state" && !outside {
				c.sums = sumOf(r.sums)
			}
		case known:
			c.shared[id], outside = true, false
		default:
			outside = true
			if c.continued.IsZero() {
				c.continued = r.at.Time()
			}
		}
		return true
	})
	return c
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
