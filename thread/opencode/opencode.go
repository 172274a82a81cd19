// Package opencode reads the threads of OpenCode and of the tools that write
// its format.
//
// Since 1.2 a thread is rows of a SQLite database, session, message and part,
// and the newest of them may be in its write-ahead log only; before, it was a
// file of JSON per session, message and part below storage. A part is what
// makes up a message: a text, a thought, a tool call, the end of a request. A
// subagent is a session that names its parent.
//
// The tool kept its old files when it moved to the database, so a thread may be
// in both; the database is preferred. What is relied on is in docs/threads.md.
package opencode

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// A Fork is a tool that writes this format.
type Fork struct {
	Name string // of the provider
	Env  string // the variable that names its database
	Dir  string // its folder below the user's data
	DB   string // how its databases are called, as a pattern
}

// OpenCode is the tool itself. Its channels have a database each.
var OpenCode = Fork{Name: "opencode", Env: "OPENCODE_DB", Dir: "opencode", DB: "opencode*.db"}

// Driver returns the driver of OpenCode.
func Driver() thread.Driver { return OpenCode.Driver() }

// Driver returns the driver of f.
func (f Fork) Driver() thread.Driver {
	return thread.Driver{
		Name:  f.Name,
		ID:    func(s string) (string, bool) { return s, strings.HasPrefix(s, "ses_") && len(s) > len("ses_") },
		Roots: f.roots,
		Open: func(roots []string) (thread.Provider, error) {
			return &provider{Fork: f, roots: roots}, nil
		},
	}
}

// roots names the folder of the tool's data and, if a variable names one, its
// database, which is looked at first.
func (f Fork) roots(getenv func(string) string, home string) []string {
	data := getenv("XDG_DATA_HOME")
	if data == "" {
		data = filepath.Join(home, ".local", "share")
	}
	dir := filepath.Join(data, f.Dir)
	switch db := getenv(f.Env); {
	case db == "" || db == ":memory:":
		return []string{dir}
	case filepath.IsAbs(db):
		return []string{db, dir}
	default:
		return []string{filepath.Join(dir, db), dir}
	}
}

// A store is where sessions are kept.
type store interface {
	// find returns a session, nil where it is unknown.
	find(ctx context.Context, id string) (*session, error)

	// all returns all sessions, subagents too.
	all(ctx context.Context) ([]*session, error)

	// children returns the sessions that name id as their parent.
	children(ctx context.Context, id string) ([]*session, error)

	// messages hands out the messages of a session in order. What can't be read
	// is told to damaged, an error is one of yield, of ctx, errChanged, or that
	// there is nothing to read any more.
	messages(ctx context.Context, s *session, damaged func(string), yield func(message) error) error
}

// A session is the head of a thread. Its times are milliseconds.
type session struct {
	store  store
	source string

	id, parent, title, dir, version, agent string
	created, updated, archived             int64
	reverted                               string // the first message that was undone
	warnings                               []string
}

type provider struct {
	Fork
	roots []string
}

// stores returns what there is below the roots, in order of preference. Nothing
// is opened yet.
func (p *provider) stores() []store {
	var list []store
	var trees []store
	seen := map[string]bool{}
	for _, root := range p.roots {
		info, err := os.Stat(root)
		if err != nil {
			continue
		}
		paths := []string{root}
		if info.IsDir() {
			paths, _ = filepath.Glob(filepath.Join(escape(root), p.DB))
			if dir := filepath.Join(root, "storage"); exists(dir) {
				trees = append(trees, tree(dir))
			}
		}
		for _, path := range paths {
			if !seen[path] {
				seen[path] = true
				list = append(list, database(path))
			}
		}
	}
	return append(list, trees...)
}

// escape makes a path a pattern that only it matches.
func escape(path string) string {
	if filepath.Separator == '\\' {
		return path // no escapes there, and no such names
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Thread implements thread.Provider. A store that can't be read hides nothing
// that another one has.
func (p *provider) Thread(ctx context.Context, id string) (*thread.Thread, error) {
	var found *session
	var failed []error
	for _, st := range p.stores() {
		s, err := st.find(ctx, id)
		switch {
		case err != nil:
			failed = append(failed, err)
		case s == nil:
		case found == nil:
			found = s
		default:
			found.warnings = append(found.warnings, "there is another copy: "+s.source)
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case found == nil && failed != nil:
		return nil, errors.Join(failed...)
	case found == nil:
		return nil, &handoff.Error{Op: "thread", Name: p.Name + "/" + id, Kind: handoff.NotFound,
			Err: errors.New("no such thread below " + strings.Join(p.roots, ", ")), Hint: handoff.Advice("look below another home by setting XDG_DATA_HOME")}
	}
	for _, err := range failed {
		found.warnings = append(found.warnings, err.Error())
	}
	return p.thread(found), nil
}

func (p *provider) thread(s *session) *thread.Thread {
	t := &thread.Thread{
		Provider: p.Name, ID: s.id, Source: s.source, Title: s.title, Cwd: s.dir, Version: s.version, Parent: s.parent,
		Started: clock(s.created), Updated: clock(s.updated), Archived: s.archived > 0,
	}
	if s.parent != "" {
		t.AgentRole = s.agent
	}
	if info, err := os.Stat(s.source); err == nil && t.Updated.IsZero() {
		t.Updated = info.ModTime()
	}
	t.Warnings = s.warnings
	t.Reader = &reader{session: s}
	return t
}

// Threads implements thread.Provider.
func (p *provider) Threads(ctx context.Context) iter.Seq2[*thread.Thread, error] {
	return func(yield func(*thread.Thread, error) bool) {
		seen := map[string]bool{}
		var list []*session
		for _, st := range p.stores() {
			sessions, err := st.all(ctx)
			if err != nil && !yield(nil, err) {
				return
			}
			for _, s := range sessions {
				if !seen[s.id] && s.parent == "" {
					list = append(list, s)
				}
				seen[s.id] = true
			}
		}
		slices.SortStableFunc(list, func(a, b *session) int { return cmp.Compare(b.created, a.created) })
		for _, s := range list {
			if !yield(p.thread(s), nil) {
				return
			}
		}
	}
}

// clock returns the time of so many milliseconds, none for 0.
func clock(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
