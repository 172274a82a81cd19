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
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
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
		Open: engine.Open(engine.Program{
			Name: name, Env: env, Head: readHead, Open: open, Relate: relate, ByStart: true, Alone: true, Plain: true,
			Mentioned: true, // a document must be read to its end
			Advice: func(id string) string {
				return "if the thread is only on Amp's server, export it with: amp threads export " + id
			},
			Stores: []engine.Store{{Pattern: "threads/{id}.json", ID: parseID, Set: func(f *engine.Found) { f.Sort = f.ID }}},
		}),
	}
}

// parseID returns T- and a UUID in lower case.
func parseID(s string) (string, bool) {
	if len(s) < 2 || !strings.EqualFold(s[:2], "T-") || !thread.IsUUID(s[2:]) {
		return s, false
	}
	return "T-" + strings.ToLower(s[2:]), true
}

// A head is the content of a document, without its messages.
type head struct {
	id      string
	members map[string]jsonl.Value
}

// members are the members of a document that are used.
var members = map[string]bool{
	"id": true, "title": true, "status": true, "state": true, "relationships": true, "env": true,
	"created": true, "createdAt": true, "updatedAt": true, "lastUpdated": true,
}

// add keeps a member. Of several with the same name the first counts.
func (h *head) add(name string, v jsonl.Value) {
	if _, again := h.members[name]; !again && members[name] {
		h.members[name] = bytes.Clone(v)
	}
	h.id = h.members["id"].Text()
}

// readHead reads the document of a thread.
func readHead(w *thread.Walk, f *engine.Found, _ jsonl.Value) {
	h := head{members: map[string]jsonl.Value{}}
	f.Head = &h
	src := w.Open(f.Path)
	if src == nil {
		return
	}
	defer src.Close()
	doc := jsonl.Document{List: "messages", Member: h.add,
		Element: func(jsonl.Value, jsonl.Element) error { return nil }}
	if _, err := doc.Read(context.Background(), src); err != nil {
		f.Err = thread.UnreadableError(f.Path, err)
		return
	}
	f.Modified = clock(h.members["updatedAt"], h.members["lastUpdated"])
	for _, r := range h.handoffs() {
		if r.role == "child" && r.other != f.ID {
			f.Parent = r.other
			f.Proof = []string{backLink}
		}
	}
}

const backLink = "child relationships includes handoff(role=child) back to main thread"

// open sets the metadata of a thread.
func open(_ *thread.Walk, f *engine.Found, t *thread.Thread) {
	h := f.Head.(*head)
	t.Title, t.Started = h.members["title"].Text(), clock(h.members["created"], h.members["createdAt"])
	initial := h.members["env"].Get("initial")
	t.Version = initial.Get("platform", "clientVersion").Text()
	if c := initial.Get("trees").Elements(); c.Next() {
		tree := c.Value()
		if u, err := url.Parse(tree.Get("uri").Text()); err == nil && u.Scheme == "file" {
			t.Cwd = filepath.FromSlash(u.Path)
		}
		repository := tree.Get("repository")
		t.Repository, t.Commit = repository.Get("url").Text(), repository.Get("sha").Text()
		t.Branch = strings.TrimPrefix(repository.Get("ref").Text(), "refs/heads/")
	}
	if recorded, ok := parseID(h.id); ok && recorded != f.ID {
		t.WarnID(f.ID, recorded)
	}
	t.Reader = &engine.Reader{Unit: "message", Source: func(ctx context.Context, s *engine.Scan, use func(int, jsonl.Value) bool) error {
		d := s.Decoder().(*decode)
		return engine.Document{Path: f.Path, List: "messages", Member: d.head.add}.Elements(ctx, s, use)
	}, New: func(s *engine.Scan) engine.Decoder {
		return &decode{Scan: s, head: head{members: map[string]jsonl.Value{}}}
	}}
}

// A relation is a record in a thread about another one.
type relation struct {
	other string
	role  string // role of the thread with the record: parent, child or ""
	at    time.Time
}

// handoffs returns the relations of type handoff.
func (h *head) handoffs() (list []relation) {
	for c := h.members["relationships"].Elements(); c.Next(); {
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

// relate adds the record of the child about its parent.
func relate(main *thread.Thread, a *thread.Agent, child *thread.Thread) {
	for _, back := range child.Reader.(*engine.Reader).Found().Head.(*head).handoffs() {
		if back.other == main.ID && back.role == "child" {
			a.AddEvent(back.at, "handoff_backlink", backLink)
		}
	}
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
