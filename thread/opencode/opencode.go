// Package opencode reads the threads of OpenCode.
//
// Since version 1.2 a thread is rows of a SQLite database; the newest rows may be only in
// its write-ahead log. In version 1 they are in the tables session, message and part, in
// version 2 in session or session_v2 and in session_message. Both versions may use one
// database. Before, a thread was JSON files for its session, messages and parts in the
// directory storage. All are in $XDG_DATA_HOME/opencode, by default
// ~/.local/share/opencode. A subagent is a session that names its parent.
//
// The tool kept the old files when it moved to the database, so a thread may be in
// both; the database is preferred. The schema is undocumented. docs/threads.md lists
// the facts this package relies on, which were found in databases and files of
// versions 0.1 to 2.0 and in the public source of the tool.
package opencode

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const (
	name     = "opencode"
	env      = "XDG_DATA_HOME"
	database = "opencode*.db" // each release channel has one
)

// A tool is OpenCode, or a fork that keeps its schema.
type tool struct{ name, database, override string }

var (
	original = tool{name, database, "OPENCODE_DB"}
	kilo     = tool{"kilo", "kilo*.db", "KILO_DB"}
)

// Driver returns the driver of OpenCode.
func Driver() thread.Driver { return original.driver() }

// Kilo returns the driver of Kilo, a fork that keeps the schema.
func Kilo() thread.Driver { return kilo.driver() }

func (t tool) driver() thread.Driver {
	return thread.Driver{
		Name: t.name, Env: env, Roots: t.roots, Database: t.name + ".db", Resume: []string{t.name, "--session"},
		ID: func(s string) (string, bool) { return s, strings.HasPrefix(s, "ses_") && len(s) > len("ses_") },
		Open: engine.Open(engine.Program{Name: t.name, Env: env, Find: t.find, Relate: relate, Newest: true, Deep: true,
			ByStart: true, Alone: true}),
	}
}

// roots returns the data directory of the tool, after the database that its own
// variable names.
func (t tool) roots(getenv func(string) string, home string) []string {
	dir := thread.DataHome(getenv, home, t.name)
	switch db := getenv(t.override); {
	case db == "" || db == ":memory:":
		return []string{dir}
	case filepath.IsAbs(db):
		return []string{db, dir}
	default:
		return []string{filepath.Join(dir, db), dir}
	}
}

// find finds the sessions in the databases and trees of the roots. A store that can't be
// read does not prevent reading others.
func (t tool) find(ctx context.Context, w *thread.Walk, roots []string) (list []*engine.Found, err error) {
	var sessions []*session
	add := func(found []*session, failed error) {
		sessions, err = append(sessions, found...), errors.Join(err, failed)
	}
	seen := map[string]bool{}
	for _, root := range roots {
		info := w.Stat(root)
		if info == nil {
			continue
		}
		paths := []string{root}
		if info.IsDir() {
			w.ReadDir(root) // for its error, which Glob ignores
			paths, _ = filepath.Glob(filepath.Join(escape(root), t.database))
			// The database of releases is first: version 2 copies sessions of others to it.
			slices.SortStableFunc(paths, func(a, b string) int { return len(a) - len(b) })
		}
		for _, path := range paths {
			if !seen[path] {
				seen[path] = true
				add(inDatabase(ctx, path))
			}
		}
	}
	paths := map[string][]string{}
	for _, s := range sessions {
		paths[s.id] = append(paths[s.id], s.path)
	}
	for _, s := range sessions {
		s.others = slices.DeleteFunc(slices.Clone(paths[s.id]), func(path string) bool { return path == s.path })
	}
	for _, root := range roots {
		if dir := filepath.Join(root, "storage"); w.Stat(dir) != nil {
			add(tree(dir).sessions(ctx))
		}
	}
	uncycle(sessions)
	invalid := map[string]int{}
	for _, s := range sessions {
		if _, failed := thread.ParseURI(thread.URI{Provider: t.name, Thread: s.id}.String()); failed != nil {
			invalid[s.path]++
			continue
		}
		list = append(list, s.found())
	}
	for _, path := range slices.Sorted(maps.Keys(invalid)) {
		err = errors.Join(err, handoff.E("read threads", path, handoff.Unsupported,
			fmt.Errorf("%d threads have an invalid ID", invalid[path])))
	}
	return list, err
}

// uncycle makes one of the sessions that name each other as parents a main thread.
func uncycle(sessions []*session) {
	parents := map[string]*session{}
	for _, s := range sessions {
		if parents[s.id] == nil {
			parents[s.id] = s
		}
	}
	for _, s := range sessions {
		seen := map[string]bool{}
		for above := s; above != nil && !seen[above.id]; above = parents[above.parent] {
			if seen[above.id] = true; above.parent == s.id {
				s.parent = ""
			}
		}
	}
}

// escape returns a pattern that matches only path.
func escape(path string) string {
	if filepath.Separator == '\\' {
		return path // has no escapes and no such names
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// A session is the metadata of a thread. Its times are in milliseconds.
type session struct {
	path   string   // of the database, or of the file of the session
	others []string // further databases that have it
	tables tables   // of the database, nil if the session is in files
	tree   tree     // that it is in, "" if it is in a database

	id, parent, title, dir, version, agent string
	fork                                   string // ID of the session that it was forked from
	reverted                               string // ID of the first undone message
	created, updated, archived             int64

	spent *thread.Tokens // in all requests, as version 2 adds them up; nil in version 1
}

// first reports whether the session began in version 1, which does not record that it was
// forked.
func (s *session) first() bool {
	return s.version == "" || strings.HasPrefix(s.version, "0.") || strings.HasPrefix(s.version, "1.")
}

// found returns the session as a transcript.
func (s *session) found() *engine.Found {
	f := &engine.Found{ID: s.id, Path: s.path, Parent: s.parent, Sort: fmt.Sprintf("%020d", s.created),
		Modified: jsonl.Milliseconds(s.updated), Open: s.open}
	f.Also = func() []string {
		paths := []string{s.path + "-wal"}
		for _, other := range s.others {
			paths = append(paths, other, other+"-wal")
		}
		return paths
	}
	if s.tree != "" {
		f.Rank = 1 // the tool kept the files when it moved to a database
		f.Also = func() []string { return s.tree.files(s.id) }
	}
	return f
}

// open sets the metadata of a thread.
func (s *session) open(_ *thread.Walk, t *thread.Thread) {
	t.Title, t.Cwd = s.title, s.dir
	t.Version, t.ForkedFrom = s.version, s.fork
	t.Started, t.Archived = jsonl.Milliseconds(s.created), s.archived > 0
	if s.parent != "" {
		t.AgentRole = s.agent
	}
	r := &engine.Reader{Unit: "message", New: func(scan *engine.Scan) engine.Decoder {
		return &decode{Scan: scan, session: s}
	}}
	if s.tree != "" {
		r.Source, r.Scatter = s.files, func() []string { return s.tree.scattered(s.id) }
	} else {
		r.Source, r.Part = s.rows, s.part()
	}
	t.Reader = r
}

// untitled returns what matches titles that the tool sets without asking a model: until
// there is another one, and for a fork.
var untitled = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(New|Child) session - \d{4}-\d\d-\d\dT[0-9:.]+Z$|\(fork #\d+\)$`)
})

// asked reports whether a model was asked for the title: a request that is in no message.
// It can't be told from a title that a person set.
func (s *session) asked() bool {
	return s.parent == "" && s.title != "" && !untitled().MatchString(s.title)
}

// relate adds what the session of a subagent records.
func relate(main *thread.Thread, a *thread.Agent, child *thread.Thread) {
	a.Name, a.Described = child.Title, true
	switch child.Parent {
	case main.ID:
		const link = "session.parent_id points to main thread"
		a.Evidence = append(a.Evidence, link)
		a.Lifecycle = append([]thread.Event{{Time: child.Started, Name: "session_parent_link", Detail: link}},
			a.Lifecycle...)
	case "":
	default:
		a.Evidence = append(a.Evidence, "session.parent_id points to "+child.Parent+", another subagent")
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
