package opencode

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A tree is the path of a directory of files, the store before version 1.2:
// session/PROJECT/SESSION.json, message/SESSION/MESSAGE.json and
// part/MESSAGE/PART.json. The first versions kept the parts of a session, or all
// parts, in one directory.
type tree string

// readFile reads a file with one JSON object. It returns nil if there is no file or no
// valid object. The error is one of reading.
func readFile(path string) (jsonl.Value, error) {
	b, err := plainfile.ReadLinked(path, jsonl.MaxLine)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, plainfile.ErrNotRegular) ||
		errors.Is(err, plainfile.ErrTooLarge) {
		return nil, nil
	}
	if b = jsonl.WithoutMark(b); err != nil || !isObject(b) {
		return nil, err
	}
	return b, nil
}

// isObject reports whether v is a complete object.
func isObject(v jsonl.Value) bool {
	c := v.Members()
	for c.Next() {
	}
	return c.Closed()
}

func (t tree) session(path string) (*session, error) {
	v, err := readFile(path)
	if err != nil {
		return nil, thread.UnreadableError(path, err)
	}
	at := v.Get("time")
	return &session{
		tree: t, path: path, id: v.Get("id").Text(), parent: v.Get("parentID").Text(), title: v.Get("title").Text(),
		dir: v.Get("directory").Text(), version: v.Get("version").Text(), agent: v.Get("agent").Text(),
		created: at.Get("created").Int(), updated: at.Get("updated").Int(), archived: at.Get("archived").Int(),
		reverted: v.Get("revert", "messageID").Text(),
	}, nil
}

// sessions returns all sessions.
func (t tree) sessions(ctx context.Context) (list []*session, err error) {
	projects, err := os.ReadDir(filepath.Join(string(t), "session"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var paths []string
	for _, project := range projects {
		dir := filepath.Join(string(t), "session", project.Name())
		files, failed := os.ReadDir(dir)
		if failed != nil && project.IsDir() {
			err = errors.Join(err, failed)
		}
		for _, f := range files {
			if strings.HasSuffix(f.Name(), ".json") {
				paths = append(paths, filepath.Join(dir, f.Name()))
			}
		}
	}
	found, failed := make([]*session, len(paths)), make([]error, len(paths))
	thread.Parallel(len(paths), func(i int) {
		if ctx.Err() == nil {
			found[i], failed[i] = t.session(paths[i])
		}
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err = errors.Join(err, errors.Join(failed...)); err != nil {
		err = thread.UnreadableError(string(t), err)
	}
	return slices.DeleteFunc(found, func(s *session) bool { return s == nil || s.id == "" }), err
}

// files is the source of the messages of a session in files.
func (s *session) files(ctx context.Context, scan *engine.Scan, use func(int, jsonl.Value) bool) error {
	if !isName(s.id) {
		scan.Facts.Partial = true
		scan.Facts.Warn("the ID of the thread is not a valid directory name")
		return nil
	}
	d, bad := scan.Decoder().(*decode), 0
	objects := func(dir ...string) []object {
		list, broken := s.tree.list(dir...)
		bad += broken
		return list
	}
	messages := objects("message", s.id)
	flat := map[string][]object{} // parts, in versions without a directory per message
	if len(messages) > 0 && !exists(filepath.Join(string(s.tree), "part", messages[0].id)) {
		for _, p := range slices.Concat(objects("part"), objects("part", s.id)) {
			owner := p.data.Get("messageID").Text()
			flat[owner] = append(flat[owner], p)
		}
	}
	for i, o := range messages {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		parts := flat[o.id]
		if filepath.IsLocal(o.id) {
			parts = slices.Concat(parts, objects("part", o.id), objects("part", s.id, o.id))
		}
		d.row = row{id: o.id, created: o.created}
		for _, p := range parts {
			d.parts = append(d.parts, p.data)
		}
		if !d.pass(i+1, o.data, use) {
			return nil
		}
	}
	if bad > 0 {
		scan.Facts.Partial = true
		scan.Facts.Warn("skipped %d files that are malformed, unreadable or longer than %d MiB", bad, jsonl.MaxLine>>20)
	}
	return nil
}

// isName reports whether an ID can be the name of a directory.
func isName(id string) bool { return filepath.IsLocal(id) && !strings.ContainsAny(id, `/\`) }

// An object is one file.
type object struct {
	id      string
	name    string
	created int64
	data    jsonl.Value
}

// list reads the files of a directory in order of their times. bad is the number of
// files that can't be read.
func (t tree) list(path ...string) (list []object, bad int) {
	dir := filepath.Join(append([]string{string(t)}, path...)...)
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		bad++
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".json") || f.IsDir() {
			continue
		}
		v, err := readFile(filepath.Join(dir, f.Name()))
		if v == nil || err != nil {
			bad++
			continue
		}
		list = append(list, object{id: cmp.Or(v.Get("id").Text(), strings.TrimSuffix(f.Name(), ".json")),
			name: f.Name(), created: v.Get("time", "created").Int(), data: v})
	}
	order.Sort(list, func(a, b object) int {
		return cmp.Or(cmp.Compare(a.created, b.created), strings.Compare(a.name, b.name))
	})
	return list, bad
}

// files returns the files with the messages and parts of a session.
func (t tree) files(session string) (paths []string) {
	if !isName(session) {
		return nil
	}
	add := func(dir string) {
		filepath.WalkDir(filepath.Join(string(t), dir), func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				paths = append(paths, path)
			}
			return nil // what can't be read has no stamp
		})
	}
	add(filepath.Join("message", session))
	for _, message := range paths {
		add(filepath.Join("part", strings.TrimSuffix(filepath.Base(message), ".json")))
	}
	add(filepath.Join("part", session))
	return paths
}

// scattered returns the files of a session, also those of its parts that are beside
// those of others.
func (t tree) scattered(session string) []string {
	paths, own := t.files(session), map[string]bool{}
	messages, _ := t.list("message", session)
	for _, m := range messages {
		own[m.id] = true
	}
	parts, _ := t.list("part") // of all sessions, in the first versions
	for _, p := range parts {
		if own[p.data.Get("messageID").Text()] {
			paths = append(paths, filepath.Join(string(t), "part", p.name))
		}
	}
	return paths
}
