// Package amp reads the threads of Amp. Each is one JSON document, named after its
// ID, which the tool rewrites with every change.
//
// Threads are in $XDG_DATA_HOME/amp/threads, by default ~/.local/share/amp/threads.
// A thread hands work off to another one; either of them may record it. What the
// oracle and other subagents of Amp did is on Amp's server only, and so may be
// complete threads.
//
// The format is undocumented. docs/threads.md lists the facts this package relies
// on, which were found in two published threads.
package amp

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

const (
	name = "amp"
	env  = "XDG_DATA_HOME"
)

// Driver returns the driver of Amp.
func Driver() thread.Driver {
	return thread.Driver{
		Name: name, Env: env, ID: parseID,
		Roots: func(getenv func(string) string, home string) []string {
			return []string{thread.DataHome(getenv, home, "amp")}
		},
		Open: func(roots []string) (thread.Provider, error) { return &provider{roots}, nil },
	}
}

// parseID returns T- and a UUID in lower case.
func parseID(s string) (string, bool) {
	if len(s) < 2 || !strings.EqualFold(s[:2], "T-") || !thread.IsUUID(s[2:]) {
		return s, false
	}
	return "T-" + strings.ToLower(s[2:]), true
}

type provider struct{ roots []string }

// A file is the document of a thread.
type file struct{ id, path string }

// Thread implements thread.Provider.
func (p *provider) Thread(ctx context.Context, id string) (*thread.Thread, error) {
	if id, ok := parseID(id); ok {
		for _, root := range p.roots {
			t, err := file{id, filepath.Join(root, "threads", id+".json")}.open(ctx)
			if !errors.Is(err, handoff.NotFound) {
				return t, err
			}
		}
	}
	files, _ := p.files(ctx) // for a hint only
	var ids []string
	for _, f := range files {
		ids = append(ids, f.id)
	}
	missing := thread.NotFoundError(name, id, p.roots, env, ids)
	missing.Hint.Text += "; if the thread is only on Amp's server, export it with: amp threads export " + id
	return nil, missing
}

// files returns the documents of all threads, newest first.
func (p *provider) files(ctx context.Context) (files []file, err error) {
	w := thread.NewWalk(ctx)
	for _, root := range p.roots {
		dir := filepath.Join(root, "threads")
		for _, e := range slices.Backward(w.ReadDir(dir)) { // IDs start with the time
			if id, ok := parseID(strings.TrimSuffix(e.Name(), ".json")); ok && id+".json" == e.Name() {
				files = append(files, file{id, filepath.Join(dir, e.Name())})
			}
		}
	}
	return files, w.Err(name)
}

// Threads implements thread.Provider.
func (p *provider) Threads(ctx context.Context) iter.Seq2[*thread.Thread, error] {
	find := func() ([]file, error) { return p.files(ctx) }
	open := func(copies []file) (*thread.Thread, error) {
		t, err := copies[0].open(ctx)
		if err == nil && t.Parent != "" {
			return nil, nil
		}
		return t, err
	}
	return thread.List(ctx, find, func(f file) string { return f.id }, open)
}

// A document is the content of a thread's file, without its messages.
type document struct {
	id, title, version              string
	cwd, branch, commit, repository string
	created, updated                time.Time
	status, state                   jsonl.Value // of the thread, in some versions
	relations                       jsonl.Value
	complete                        bool
}

// readDocument reads a document, as far as it is complete, and calls each with its
// messages. An error of each is returned as it is.
func readDocument(ctx context.Context, path string, each func(jsonl.Value, jsonl.Element) error) (document, error) {
	f, err := thread.OpenFile(path)
	if err != nil {
		return document{}, err
	}
	defer f.Close()
	m := map[string]jsonl.Value{}
	var failed error
	doc := jsonl.Document{List: "messages"}
	doc.Member = func(name string, v jsonl.Value) {
		if _, again := m[name]; !again && members[name] {
			m[name] = bytes.Clone(v)
		}
	}
	doc.Element = func(v jsonl.Value, e jsonl.Element) error {
		failed = each(v, e)
		return failed
	}
	complete, err := doc.Read(ctx, f)
	switch {
	case failed != nil:
		return document{}, failed
	case ctx.Err() != nil:
		return document{}, ctx.Err()
	case err != nil:
		return document{}, thread.UnreadableError(path, err)
	}
	d := document{
		id: m["id"].Text(), title: m["title"].Text(), status: m["status"], state: m["state"],
		created: clock(m["created"], m["createdAt"]), updated: clock(m["updatedAt"], m["lastUpdated"]),
		relations: m["relationships"], complete: complete,
	}
	d.environment(m["env"].Get("initial"))
	return d, nil
}

// members are the members of a document that are used.
var members = map[string]bool{
	"id": true, "title": true, "status": true, "state": true, "relationships": true, "env": true,
	"created": true, "createdAt": true, "updatedAt": true, "lastUpdated": true,
}

// skip ignores a message.
func skip(jsonl.Value, jsonl.Element) error { return nil }

func (d *document) environment(v jsonl.Value) {
	d.version = v.Get("platform", "clientVersion").Text()
	c := v.Get("trees").Elements()
	if !c.Next() {
		return
	}
	tree := c.Value()
	if u, err := url.Parse(tree.Get("uri").Text()); err == nil && u.Scheme == "file" {
		d.cwd = filepath.FromSlash(u.Path)
	}
	d.repository = tree.Get("repository", "url").Text()
	d.branch = strings.TrimPrefix(tree.Get("repository", "ref").Text(), "refs/heads/")
	d.commit = tree.Get("repository", "sha").Text()
}

// A relation is a record in a thread about another one.
type relation struct {
	other string
	role  string // role of the thread with the record: parent, child or ""
	at    time.Time
}

// handoffs returns the relations of type handoff.
func (d document) handoffs() (list []relation) {
	for c := d.relations.Elements(); c.Next(); {
		v := c.Value()
		other, ok := parseID(v.Get("threadID").Text())
		if !ok || !v.Get("type").Is("handoff") {
			continue
		}
		list = append(list, relation{other, v.Get("role").Text(),
			clock(v.Get("timestamp"), v.Get("updatedAt"), v.Get("createdAt"))})
	}
	return list
}

func (f file) open(ctx context.Context) (*thread.Thread, error) {
	d, err := readDocument(ctx, f.path, skip)
	if err != nil {
		return nil, err
	}
	t := &thread.Thread{
		Provider: name, Reader: &reader{path: f.path}, ID: f.id, Source: f.path, Title: d.title, Version: d.version,
		Started: d.created, Modified: d.updated,
		Cwd: d.cwd, Branch: d.branch, Commit: d.commit, Repository: d.repository,
	}
	for _, r := range d.handoffs() {
		if r.role == "child" && r.other != f.id {
			t.Parent = r.other
		}
	}
	if info, err := os.Stat(f.path); err == nil && t.Modified.IsZero() {
		t.Modified = thread.ModTime(info)
	}
	if recorded, ok := parseID(d.id); ok && recorded != f.id {
		t.WarnID(f.id, recorded)
	}
	return t, nil
}

// clock returns the first value that is a time.
func clock(values ...jsonl.Value) time.Time {
	for _, v := range values {
		if t := v.Timestamp(); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}
