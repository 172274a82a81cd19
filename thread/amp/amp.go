// Package amp reads the threads of Amp: one JSON document per thread, named by
// its id, which the tool writes anew with every change.
//
// A thread hands work off to another one; either may say so. What Amp's oracle
// and other subagents did is on its server only, and so may be whole threads:
// what lies on this machine is what a thread did here. What is relied on is in
// docs/threads.md.
package amp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// Driver returns the driver of Amp.
func Driver() thread.Driver {
	return thread.Driver{
		Name: "amp",
		ID:   parseID,
		Roots: func(getenv func(string) string, home string) []string {
			data := getenv("XDG_DATA_HOME")
			if data == "" {
				data = filepath.Join(home, ".local", "share")
			}
			return []string{filepath.Join(data, "amp")}
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

// Thread implements thread.Provider.
func (p *provider) Thread(_ context.Context, id string) (*thread.Thread, error) {
	if id, ok := parseID(id); ok {
		for _, root := range p.roots {
			path := filepath.Join(root, "threads", id+".json")
			t, err := open(id, path)
			if !errors.Is(err, handoff.NotFound) {
				return t, err
			}
		}
	}
	return nil, &handoff.Error{Op: "thread", Name: "amp/" + id, Kind: handoff.NotFound,
		Err: errors.New("no such thread below " + strings.Join(p.roots, ", ")), Hint: handoff.Advice("a thread may be on Amp's server only: amp threads export " + id)}
}

// Threads implements thread.Provider.
func (p *provider) Threads(ctx context.Context) iter.Seq2[*thread.Thread, error] {
	return func(yield func(*thread.Thread, error) bool) {
		w := thread.NewWalk(ctx)
		for _, root := range p.roots {
			dir := filepath.Join(root, "threads")
			for _, f := range slices.Backward(w.Folder(dir)) { // ids begin with the time
				id, ok := parseID(strings.TrimSuffix(f.Name(), ".json"))
				if !ok || id+".json" != f.Name() {
					continue
				}
				if w.Done() {
					break
				}
				t, err := open(id, filepath.Join(dir, f.Name()))
				if err == nil && t.Parent != "" {
					continue
				}
				if !yield(t, err) {
					return
				}
			}
		}
		if err := w.Err("amp"); err != nil {
			yield(nil, err)
		}
	}
}

// A document is a thread's file, as far as it is not about single messages.
type document struct {
	id, title, version              string
	cwd, branch, commit, repository string
	created, updated                time.Time
	status, state                   jsonl.Value // words of some versions
	messages, relations             jsonl.Value
	whole                           bool
}

// maxDocument is how long a file may be: it has to be read at once.
const maxDocument = 512 << 20

func readDocument(path string) (document, error) {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxDocument) {
		err = fmt.Errorf("it is no file, or longer than %d MiB", maxDocument>>20)
	}
	var b []byte
	if err == nil {
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return document{}, thread.Unreadable(path, err)
	}
	return parse(b), nil
}

// parse finds its way through a document in one pass. One that was cut off says
// what it said before.
func parse(v jsonl.Value) (d document) {
	c := v.Members()
	for c.Next() {
		v := c.Value()
		switch string(c.Name()) {
		case "id":
			d.id = v.Text()
		case "title":
			d.title = v.Text()
		case "created", "createdAt":
			d.created = clock(v)
		case "updatedAt", "lastUpdated":
			d.updated = clock(v)
		case "status":
			d.status = v
		case "state":
			d.state = v
		case "messages":
			d.messages = v
		case "relationships":
			d.relations = v
		case "env":
			d.environment(v.Get("initial"))
		}
	}
	d.whole = c.Whole()
	return d
}

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

// A relation is what one thread says of another.
type relation struct {
	other string
	role  string // what the one who says it is: parent, child, or not said
	at    time.Time
}

// handoffs returns the relations that are about handing work off.
func (d document) handoffs() (list []relation) {
	for c := d.relations.Elements(); c.Next(); {
		v := c.Value()
		other, ok := parseID(v.Get("threadID").Text())
		if !ok || !v.Get("type").Is("handoff") {
			continue
		}
		r := relation{other: other, role: v.Get("role").Text()}
		for _, name := range []string{"timestamp", "updatedAt", "createdAt"} {
			if r.at.IsZero() {
				r.at = clock(v.Get(name))
			}
		}
		list = append(list, r)
	}
	return list
}

func open(id, path string) (*thread.Thread, error) {
	d, err := readDocument(path)
	if err != nil {
		return nil, err
	}
	t := &thread.Thread{
		Provider: "amp", Reader: &reader{path: path}, ID: id, Source: path, Title: d.title, Version: d.version, Started: d.created, Updated: d.updated,
		Cwd: d.cwd, Branch: d.branch, Commit: d.commit, Repository: d.repository,
	}
	for _, r := range d.handoffs() {
		if r.role == "child" && r.other != id {
			t.Parent = r.other
		}
	}
	if info, err := os.Stat(path); err == nil && t.Updated.IsZero() {
		t.Updated = info.ModTime()
	}
	if inside, ok := parseID(d.id); ok && inside != id {
		t.Warn("the file is named after %s and says it is %s", id, inside)
	}
	return t, nil
}

// clock reads a time, of which there are two spellings: milliseconds and text.
func clock(v jsonl.Value) time.Time {
	if ms := v.Int(); ms > 0 {
		return time.UnixMilli(ms).UTC()
	}
	return v.Time().UTC()
}
