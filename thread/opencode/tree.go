package opencode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/thread"
)

// A tree is the path of a directory of files, the store before version 1.2:
// session/PROJECT/SESSION.json, message/SESSION/MESSAGE.json and
// part/MESSAGE/PART.json. The first versions kept the parts of a session, or all
// parts, in one directory.
type tree string

// read reads a file with one JSON object. It returns nil if there is no file or no
// valid object. The error is one of reading.
func read(path string) (jsonl.Value, error) {
	b, err := plainfile.ReadLinked(path, jsonl.MaxLine)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, plainfile.ErrNotRegular) || errors.Is(err, plainfile.ErrTooLarge) {
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
	v, err := read(path)
	if err != nil {
		return nil, thread.UnreadableError(path, err)
	}
	if v == nil {
		return nil, nil
	}
	at := v.Get("time")
	return &session{
		store: t, source: path, id: v.Get("id").Text(), parent: v.Get("parentID").Text(), title: v.Get("title").Text(),
		dir: v.Get("directory").Text(), version: v.Get("version").Text(), agent: v.Get("agent").Text(),
		created: at.Get("created").Int(), updated: at.Get("updated").Int(), archived: at.Get("archived").Int(),
		reverted: v.Get("revert", "messageID").Text(),
	}, nil
}

// sessions returns the sessions in files whose names match.
func (t tree) sessions(ctx context.Context, match func(name string) bool) (list []*session, err error) {
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
			if strings.HasSuffix(f.Name(), ".json") && match(f.Name()) {
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
	for _, s := range found {
		if s != nil && s.id != "" {
			list = append(list, s)
		}
	}
	err = errors.Join(err, errors.Join(failed...))
	if err != nil {
		err = thread.UnreadableError(string(t), err)
	}
	return list, err
}

func (t tree) find(ctx context.Context, id string) (*session, error) {
	list, err := t.sessions(ctx, func(name string) bool { return strings.HasSuffix(name, id+".json") })
	for _, s := range list {
		if s.id == id {
			return s, nil
		}
	}
	return nil, err
}

func (t tree) all(ctx context.Context) ([]*session, error) {
	return t.sessions(ctx, func(string) bool { return true })
}

func (t tree) children(ctx context.Context, id string) ([]*session, error) {
	list, err := t.all(ctx)
	return slices.DeleteFunc(list, func(s *session) bool { return s.parent != id }), err
}

func (t tree) messages(ctx context.Context, s *session, damaged func(string), yield func(message) error) error {
	if !filepath.IsLocal(s.id) || strings.ContainsAny(s.id, `/\`) {
		damaged("the ID of the thread is not a valid directory name")
		return nil
	}
	bad := 0
	objects := func(dir string) []object {
		list, broken := list(dir)
		bad += broken
		return list
	}
	flat := map[string][]object{} // parts, in versions without a directory per message
	messages := objects(filepath.Join(string(t), "message", s.id))
	if len(messages) > 0 && !exists(filepath.Join(string(t), "part", messages[0].id)) {
		for _, dir := range []string{filepath.Join(string(t), "part"), filepath.Join(string(t), "part", s.id)} {
			for _, p := range objects(dir) {
				owner := p.data.Get("messageID").Text()
				flat[owner] = append(flat[owner], p)
			}
		}
	}
	for _, o := range messages {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		m := message{id: o.id, created: o.created, data: o.data}
		parts := flat[o.id]
		if filepath.IsLocal(o.id) {
			parts = slices.Concat(parts, objects(filepath.Join(string(t), "part", o.id)),
				objects(filepath.Join(string(t), "part", s.id, o.id)))
		}
		for _, p := range parts {
			m.parts = append(m.parts, p.data)
		}
		if err := yield(m); err != nil {
			return err
		}
	}
	if bad > 0 {
		damaged(fmt.Sprintf("skipped %d files that are malformed, unreadable or longer than %d MiB", bad, jsonl.MaxLine>>20))
	}
	return nil
}

// An object is one file.
type object struct {
	id      string
	name    string
	created int64
	data    jsonl.Value
}

// list reads the files of a directory in order of their times. bad is the number of
// files that can't be read.
func list(dir string) (list []object, bad int) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		bad++
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".json") || f.IsDir() {
			continue
		}
		v, err := read(filepath.Join(dir, f.Name()))
		if v == nil || err != nil {
			bad++
			continue
		}
		list = append(list, object{id: cmp.Or(v.Get("id").Text(), strings.TrimSuffix(f.Name(), ".json")), name: f.Name(),
			created: v.Get("time", "created").Int(), data: v})
	}
	order.Sort(list, func(a, b object) int {
		return cmp.Or(cmp.Compare(a.created, b.created), strings.Compare(a.name, b.name))
	})
	return list, bad
}
