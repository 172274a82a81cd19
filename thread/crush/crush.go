// Package crush reads the sessions of Crush.
//
// Sessions and messages are rows of a SQLite database in each project, crush.db. The
// databases are listed in projects.json in ~/.local/share/crush, $XDG_DATA_HOME/crush
// or $CRUSH_GLOBAL_DATA. A subagent is a session that names its parent.
//
// The schema and the parts of a message are described by the public
// charmbracelet/crush (internal/db/migrations, internal/message/content.go);
// docs/threads.md lists the facts this package relies on.
package crush

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const (
	name = "crush"
	env  = "CRUSH_GLOBAL_DATA"
)

// Driver returns the driver of Crush.
func Driver() thread.Driver {
	return thread.Driver{
		Name: name, Env: env, ID: thread.UUIDs, Roots: roots, Database: database,
		Open: engine.Open(engine.Program{Name: name, Env: env, Find: find}),
	}
}

func roots(getenv func(string) string, home string) []string {
	if dir := getenv(env); dir != "" {
		return []string{dir}
	}
	return []string{thread.DataHome(getenv, home, name)}
}

const (
	listLen  = 1 << 20 // bytes of projects.json that are read
	database = "crush.db"
)

var sessions = engine.Table{
	Name: "sessions", Need: []string{"id"},
	Want: []string{"parent_session_id", "title", "cost", "created_at", "updated_at"}, Order: "created_at DESC, rowid DESC",
}

var messages = engine.Table{
	Name: "messages", Need: []string{"id", "session_id", "role", "parts"},
	Want: []string{"model", "provider", "created_at", "is_summary_message"}, Where: "session_id = ?",
	Order: "created_at, rowid",
}

// find finds the sessions in the databases of all projects. One that can't be read
// does not prevent finding those in others.
func find(ctx context.Context, w *thread.Walk, roots []string) (list []*engine.Found, err error) {
	for _, root := range roots {
		all := projects(w, filepath.Join(root, "projects.json"))
		if path := filepath.Join(root, database); w.Stat(path) != nil {
			all = append(all, project{db: path}) // a copy of a thread, without the list
		}
		for _, p := range all {
			found, failed := p.sessions(ctx)
			list, err = append(list, found...), errors.Join(err, failed)
		}
	}
	return list, err
}

// A project is a directory with a database.
type project struct{ dir, db string }

// projects reads the list of projects. The database of one is named crush.db, in any
// directory.
func projects(w *thread.Walk, path string) (list []project) {
	if w.Stat(path) == nil {
		return nil
	}
	for c := jsonl.Value(w.Head(path, listLen)).Get("projects").Elements(); c.Next(); {
		p := project{dir: c.Value().Get("path").Text(), db: c.Value().Get("data_dir").Text()}
		if !filepath.IsAbs(p.db) {
			p.db = filepath.Join(p.dir, p.db)
		}
		p.db = filepath.Join(p.db, database)
		if filepath.IsAbs(p.db) {
			list = append(list, p)
		}
	}
	return list
}

func (p project) sessions(ctx context.Context) (list []*engine.Found, err error) {
	err = engine.Database(p.db).Each(ctx, sessions, nil, func(row jsonl.Value) {
		id := row.Get("id").Text()
		if strings.HasPrefix(id, "title-") || id == "" {
			return // the request for a title
		}
		s := session{
			project: p, title: row.Get("title").Text(), cost: row.Get("cost").Amount(),
			created: row.Get("created_at").Timestamp(),
		}
		f := &engine.Found{ID: thread.LowerUUID(id), Path: p.db, Parent: row.Get("parent_session_id").Text(),
			Modified: row.Get("updated_at").Timestamp()}
		if f.Parent != "" {
			f.Proof = []string{"sessions.parent_session_id is the parent"}
			_, f.Alias, _ = strings.Cut(id, "$$") // the ID of the call
		}
		f.Open = func(_ *thread.Walk, t *thread.Thread) { s.open(t, id) }
		list = append(list, f)
	})
	if errors.Is(err, handoff.NotFound) {
		err = nil // the project was removed
	}
	return list, err
}

// A session is the metadata of a thread.
type session struct {
	project
	title   string
	cost    float64
	created time.Time
}

func (s session) open(t *thread.Thread, id string) {
	t.Title, t.Cwd, t.Started = s.title, s.dir, s.created
	t.Reader = engine.SessionReader(engine.Database(s.db), sessions, messages, id,
		func(scan *engine.Scan) engine.Decoder { return &decode{Scan: scan, cost: s.cost} })
}
