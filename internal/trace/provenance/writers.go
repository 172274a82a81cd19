package provenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/transcript/action"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// The limits of what a trace reads. What is left out is a warning.
const (
	maxThreads = 64 // threads in one trace
	maxReplay  = 64 // calls that made the bytes of one file
	maxEnds    = 8  // last calls of one file that may not be in its bytes
)

// A write is a call that changed a file.
type write struct {
	uri  thread.URI // of the message
	path string     // absolute
	at   time.Time
	edit edit

	inferred bool // the call is
	model    string
	order    time.Time // at, or that of an earlier call of the thread if the clock was set back
}

// certainty is that of a write which gives exactly the bytes.
func (w write) certainty() trace.Certainty {
	if w.inferred {
		return trace.Inferred
	}
	return trace.Exact
}

// A content is the bytes of a file at some time, whose writers are searched.
type content struct {
	files    []string // paths that the file has or had, absolute
	relative string   // path in its worktree, "" if unknown

	period
	is     func(file string) bool        // reports whether these are the bytes
	before func() (file string, ok bool) // the bytes before they were written
	text   func() (file string, ok bool) // the bytes
	line   string                        // the line that is traced, "" for all
}

// A period is when the bytes of a file were written, as far as git and records state it.
type period struct {
	until    time.Time        // they existed then, zero for now
	inferred time.Time        // no later call is inferred to have written them, zero for now
	since    func() time.Time // nor is an earlier one
}

// A credit is a message that wrote the bytes of a file.
type credit struct {
	write
	certainty trace.Certainty
	evidence  []trace.Evidence
}

// writers returns who wrote the bytes, as far as that can be shown: the calls that
// give exactly these bytes, otherwise the last call that changed the file before
// they existed, unless most of what it wrote is not in them.
func (r *tracer) writers(ctx context.Context, c content) []credit {
	if list := r.replayed(ctx, c, c.files, ""); list != nil {
		return list
	}
	if last, ok := r.lastWrite(ctx, c); ok {
		return []credit{last}
	}
	if c.relative == "" {
		return nil
	}
	return r.replayed(ctx, c, nil, c.relative) // in a worktree that was removed
}

// replayed returns who made the calls that together give exactly the bytes.
func (r *tracer) replayed(ctx context.Context, c content, files []string, relative string) []credit {
	return credits(r.replay(ctx, c, files, relative), c.line)
}

// partsOf returns the calls that together give exactly the bytes, also those in a worktree
// that was removed.
func (r *tracer) partsOf(ctx context.Context, c content) []write {
	if list := r.replay(ctx, c, c.files, ""); list != nil || c.relative == "" {
		return list
	}
	return r.replay(ctx, c, nil, c.relative)
}

// replay returns the calls that together give exactly the bytes: those of one path, else
// those of all paths.
func (r *tracer) replay(ctx context.Context, c content, files []string, relative string) []write {
	writes := r.writes(ctx, files, relative, c.until)
	byPath := map[string][]write{}
	for _, w := range writes {
		byPath[w.path] = append(byPath[w.path], w)
	}
	several := len(byPath) > 1
	for i := len(writes) - 1; i >= 0; i-- { // the file that was written last is first
		list, ok := byPath[writes[i].path]
		if !ok {
			continue
		}
		delete(byPath, writes[i].path)
		if parts := replay(list, c); parts != nil {
			return parts
		}
	}
	if !several {
		return nil
	}
	return replay(writes, c)
}

// replay returns the last consecutive writes that give exactly the bytes.
func replay(writes []write, c content) []write {
	for end := len(writes); end > max(0, len(writes)-maxEnds); end-- {
		for start := end - 1; start >= max(0, end-maxReplay); start-- {
			file, ok := "", true
			if !writes[start].edit.complete {
				file, ok = c.before()
			}
			for _, w := range writes[start:end] {
				if ok {
					file, ok = w.edit.apply(file)
				}
			}
			if ok && c.is(file) {
				return writes[start:end]
			}
			if writes[start].edit.complete {
				break
			}
		}
	}
	return nil
}

// credits returns the last message of each thread that wrote a part, or, if a line is
// traced, that wrote this line.
func credits(parts []write, line string) (list []credit) {
	if line = strings.TrimSpace(line); line != "" {
		of := slices.DeleteFunc(slices.Clone(parts), func(w write) bool { return !slices.Contains(w.edit.lines(), line) })
		if len(of) > 0 {
			parts = of[len(of)-1:]
		}
	}
	for i := len(parts) - 1; i >= 0; i-- {
		if !slices.ContainsFunc(list, func(c credit) bool { return sameThread(c.uri, parts[i].uri) }) {
			list = append(list, credit{parts[i], parts[i].certainty(), nil})
		}
	}
	return list
}

// lastWrite returns the last write of the file in its time, if it is in the worktrees
// and at least half of the lines that it wrote are in the bytes. A call that is not
// known to have written a line has none of them.
func (r *tracer) lastWrite(ctx context.Context, c content) (credit, bool) {
	writes := r.writes(ctx, c.files, "", c.inferred)
	if len(writes) == 0 {
		return credit{}, false
	}
	w := writes[len(writes)-1]
	lines := w.edit.lines()
	if line := strings.TrimSpace(c.line); w.at.Before(c.since()) || line != "" && !slices.Contains(lines, line) {
		return credit{}, false
	}
	text, ok := c.text()
	if !ok {
		return credit{}, false
	}
	has := map[string]bool{}
	for line := range strings.Lines(text) {
		has[strings.TrimSpace(line)] = true
	}
	found := 0
	for _, line := range lines {
		if has[line] {
			found++
		}
	}
	return credit{w, trace.Inferred, []trace.Evidence{{Kind: "time", Ref: w.at.Format(time.RFC3339)},
		{Kind: "lines", Ref: fmt.Sprintf("%d of %d written lines", found, len(lines))}}}, found > 0 && 2*found >= len(lines)
}

// clock is by how much the time of a commit or file can be before that of the call
// that made it: git stores seconds.
const clock = time.Second

// writes returns the calls that changed the files up to a time, in the order of time.
func (r *tracer) writes(ctx context.Context, files []string, relative string, until time.Time) (list []write) {
	touches, err := r.conversations.Touches(ctx, files, relative)
	if err != nil {
		r.warn(err)
		return nil
	}
	late := func(t time.Time) bool { return !until.IsZero() && t.After(until.Add(clock)) }
	paths, last := map[string]bool{}, map[thread.URI]time.Time{} // the last write of each thread
	for _, t := range touches {
		writes := t.Access == action.Written || t.Access == action.Inferred
		if uri := threadOf(t.URI); writes && !late(t.At) {
			paths[t.Path], last[uri] = true, later(t.At, last[uri])
		}
	}
	// The newest are first, because the number of threads is limited.
	for _, uri := range order.Sort(slices.Collect(maps.Keys(last)), func(a, b thread.URI) int {
		return cmp.Or(last[b].Compare(last[a]), cmp.Compare(a.String(), b.String()))
	}) {
		var order time.Time
		for _, w := range r.writesOf(ctx, uri) {
			if paths[w.path] && !late(w.at) {
				order = later(order, w.at)
				w.order = order
				list = append(list, w)
			}
		}
	}
	order.Sort(list, func(a, b write) int { return a.order.Compare(b.order) })
	return list
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// threadOf returns the URI of the thread of a message.
func threadOf(uri thread.URI) thread.URI {
	uri.From, uri.To = 0, 0
	return uri
}

func sameThread(a, b thread.URI) bool { return threadOf(a) == threadOf(b) }

// writesOf returns the calls of a thread that changed a file, in their order.
func (r *tracer) writesOf(ctx context.Context, uri thread.URI) (did []write) {
	if known, ok := r.done[uri]; ok {
		return known
	}
	if len(r.done) == maxThreads {
		r.warn(fmt.Errorf("only %d threads were read; others may have written a part", maxThreads))
	}
	if len(r.done) >= maxThreads {
		r.done[uri] = did
		return did
	}
	item, err := r.conversations.Item(ctx, uri)
	if err == nil {
		err = r.conversations.Read(ctx, uri, calls(func(at thread.URI, m thread.Message, c thread.Call) {
			what := action.Inspect(c)
			if what.Access != action.Written && what.Access != action.Inferred {
				return
			}
			for _, path := range what.Paths {
				if file := action.Absolute(item.Cwd, path); file != "" {
					did = append(did, write{uri: at, path: file, at: c.Time.UTC(),
						edit:     editOf(c, cmp.Or(c.Dir, item.Cwd), file),
						inferred: c.Inferred, model: m.Model})
				}
			}
		}, uri))
	}
	if err != nil && !errors.Is(err, handoff.NotFound) {
		r.warn(err)
	}
	r.done[uri] = did
	return did
}

// calls returns a function that passes the calls of a thread, which were not copied
// from another one, with their message and its URI.
func calls(use func(at thread.URI, m thread.Message, c thread.Call), uri thread.URI) func(thread.Message) error {
	n := 0
	return func(m thread.Message) error {
		if m.N > 0 {
			n = m.N
		}
		for _, c := range m.Tools {
			if !m.Inherited {
				uri.From, uri.To = n, n
				use(uri, m, c)
			}
		}
		return nil
	}
}

// places returns the paths that a file has in each worktree, and its path relative to
// them, "" if it is in none.
func (r *tracer) places(file string) (files []string, relative string) {
	files = []string{file}
	best := ""
	for _, root := range r.Roots {
		if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) && len(root) > len(best) {
			best, relative = root, rel
		}
	}
	if relative == "" {
		return files, ""
	}
	for _, root := range r.Roots {
		if root != best {
			files = append(files, filepath.Join(root, relative))
		}
	}
	return files, relative
}
