// Package antigravity reads the threads of Google Antigravity and its command
// line tool.
//
// A thread is brain/ID/.system_generated/logs/transcript.jsonl in the home
// directory of the tool, one of several in ~/.gemini. A subagent is a thread of
// its own; the result of the call that started it has its ID.
//
// The tool is closed; docs/threads.md lists the facts this package relies on, which
// were found in published transcripts. What the tool keeps in the directory
// threads is encrypted or has no known format: a thread that is only
// there is an error that says so.
package antigravity

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const (
	name = "antigravity"
	env  = "HOME" // the tool has no variable of its own
)

// Driver returns the driver of Antigravity.
func Driver() thread.Driver {
	return thread.Driver{
		Name: name, Env: env, ID: thread.UUIDs, Roots: roots,
		Open: engine.Open(engine.Program{Name: name, Env: env, Find: find}),
	}
}

func roots(_ func(string) string, home string) (dirs []string) {
	for _, dir := range []string{"antigravity-cli", "antigravity", "antigravity-ide"} {
		dirs = append(dirs, filepath.Join(home, ".gemini", dir))
	}
	return dirs
}

// delay is how long after the last write to its parent a subagent may start.
const delay = 10 * time.Minute

// find finds all threads. Which of them are subagents is known only from the
// transcripts of their parents, which are searched for it: those that were written when
// another one started.
func find(_ context.Context, w *thread.Walk, roots []string) (list []*engine.Found, err error) {
	var starts []time.Time
	parents := map[string]string{}
	seen := map[string]bool{}
	for _, root := range roots {
		brain := filepath.Join(root, "brain")
		for _, e := range w.ReadDir(brain) {
			path := filepath.Join(brain, e.Name(), ".system_generated", "logs", "transcript.jsonl")
			if e.Type().IsRegular() || w.Stat(path) == nil {
				continue
			}
			id := thread.LowerUUID(e.Name())
			seen[id] = true
			list, starts = append(list, &engine.Found{ID: id, Path: path, Open: open}), append(starts, started(w, path))
		}
	}
	sorted := order.Sort(slices.Clone(starts), time.Time.Compare)
	for i, f := range list {
		last := w.StatFile(f.Path).Modified.Add(delay)
		n, _ := slices.BinarySearchFunc(sorted, starts[i], time.Time.Compare)
		if !sorted[0].IsZero() && (n+1 == len(sorted) || sorted[n+1].After(last)) {
			continue // none started while it was written
		}
		for _, child := range invoked(w, f.Path) {
			if child != f.ID {
				parents[child] = f.ID
			}
		}
	}
	for i := range list {
		if p := parents[list[i].ID]; p != "" {
			list[i].Parent, list[i].Proof = p, []string{"the result of a call of the parent names it"}
		}
	}
	for _, root := range roots {
		dir := filepath.Join(root, "conversations")
		for _, e := range w.ReadDir(dir) {
			ext := filepath.Ext(e.Name())
			id := thread.LowerUUID(strings.TrimSuffix(e.Name(), ext))
			if ext == ".pb" || ext == ".db" {
				if !seen[id] {
					list = append(list, &engine.Found{ID: id, Path: filepath.Join(dir, e.Name()),
						Err: closed(id, filepath.Join(dir, e.Name()))})
				}
			}
		}
	}
	return list, nil
}

// closed returns the error for a thread without a transcript.
func closed(id, path string) error {
	reason := "the thread is only in a database without a known format: " + path
	if filepath.Ext(path) == ".pb" {
		reason = "the thread is only in an encrypted file: " + path
	}
	return handoff.E("thread", name+"/"+id, handoff.Unsupported, errors.New(reason),
		handoff.Advice("versions of the tool since 2026 write a transcript beside it"))
}

// invoked returns the IDs of the subagents that a transcript names.
func invoked(w *thread.Walk, path string) (ids []string) {
	f := w.Open(path)
	if f == nil {
		return nil
	}
	defer f.Close()
	rd := jsonl.NewReader(f)
	for rd.Next() && !w.Done() {
		if line := rd.Line(); bytes.Contains(line, []byte(invoke)) && line.Get("type").Is(invoke) {
			ids = append(ids, conversations(line.Get("content").Text())...)
		}
	}
	return ids
}

// threads returns the IDs in the result of a call that started subagents, which
// is text that contains JSON.
func conversations(text string) (ids []string) {
	const member = `"conversationId":`
	for {
		_, rest, ok := strings.Cut(text, member)
		if !ok {
			return ids
		}
		text = rest
		if id := thread.LowerUUID(jsonl.Value(strings.TrimSpace(firstLine(rest))).Text()); thread.IsUUID(id) &&
			!slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimRight(line, ", \r")
}

// headLen is how much of a transcript is read for its first record.
const headLen = 4 << 10

// started returns the time of the first record, zero if it is not known.
func started(w *thread.Walk, path string) time.Time {
	line, _, _ := bytes.Cut(w.Head(path, headLen), []byte("\n"))
	return jsonl.Value(line).Get("created_at").Time()
}

func open(w *thread.Walk, t *thread.Thread) {
	t.Started = started(w, t.Source)
	t.Reader = &engine.Reader{Source: engine.Lines(t.Source), New: func(s *engine.Scan) engine.Decoder {
		return &decode{Scan: s}
	}}
}
