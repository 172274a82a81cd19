package threadindex

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/transcript/action"
	"github.com/agent-handoff/handoff/thread"
)

// The following read all rows of calls, from the transcripts and from the database, so
// that tests can compare them.

// A CallQuery selects what calls and messages of threads and subagents have.
// All of its conditions must be true.
type CallQuery struct {
	Providers    []string              // nil for all
	Threads      []thread.URI          // threads and subagents; nil for all
	In           func(dir string) bool // selects by the directory of the thread; nil for all
	Since, Until time.Time             // of the call or message: at or after, before
}

// Touches returns the calls that name one of the paths, which are absolute, or a file
// below one. Kind: Unsupported (a provider).
func (f *Files) Touches(ctx context.Context, q CallQuery, paths ...string) (Calls[Touch], error) {
	return filesCalls(ctx, f, q, func(e *entry, use func(Touch)) {
		for _, t := range e.touches {
			if slices.ContainsFunc(paths, func(p string) bool {
				return t.path == p ||
					strings.HasPrefix(t.path, strings.TrimSuffix(p, "/")+"/")
			}) {
				use(Touch{e.place(t.n, t.at), t.path, t.access})
			}
		}
	})
}

// place returns the place of a message.
func (e *entry) place(n int, at time.Time) Place {
	uri := e.URI
	uri.From, uri.To = n, n
	return Place{uri, at}
}

// sameName reports whether a name that was recorded and another one are of the same
// artifact, or may be of the same commit.
func sameName(recorded, name string) bool {
	if recorded == name {
		return true
	}
	return action.IsCommit(name) && action.IsCommit(recorded) &&
		(strings.HasPrefix(name, recorded) || strings.HasPrefix(recorded, name))
}

// Commands returns the commands that were run, all without lines. Kind: Unsupported (a
// provider).
func (f *Files) Commands(ctx context.Context, q CallQuery, lines ...string) (Calls[Command], error) {
	return filesCalls(ctx, f, q, func(e *entry, use func(Command)) {
		for _, c := range e.commands {
			if len(lines) == 0 || slices.Contains(lines, c.line) {
				use(Command{e.place(c.n, c.at), e.Cwd, c.line, c.exit, c.failed, c.output})
			}
		}
	})
}

// Mentions returns the messages that have one of the IDs of artifacts or commits, of
// which at least seven digits are needed. Kind: Unsupported (a provider).
func (f *Files) Mentions(ctx context.Context, q CallQuery, names ...string) (Calls[Mention], error) {
	return filesCalls(ctx, f, q, func(e *entry, use func(Mention)) {
		for _, m := range e.mentions {
			if slices.ContainsFunc(names, func(name string) bool { return sameName(m.name, name) }) {
				var made []string
				for _, c := range e.commands {
					if m.where == Committed && c.n == m.n && strings.Contains(c.line, "commit") {
						made = append(made, c.line)
					}
				}
				found := Mention{Place: e.place(m.n, m.at), Name: m.name, Where: m.where}
				if len(made) == 1 {
					found.Command = made[0]
				}
				use(found)
			}
		}
	})
}

// filesCalls returns the rows that of finds in the threads of q.
func filesCalls[T placed](ctx context.Context, f *Files, q CallQuery, of func(e *entry, use func(T))) (Calls[T],
	error) {
	all, err := f.find(ctx, q.Providers)
	if err != nil {
		return Calls[T]{List: []T{}}, err
	}
	type found struct {
		index int // of the transcript: the newest is first
		rows  []T
	}
	var mu sync.Mutex
	threads := map[string]found{} // by URI
	stored := newestFirst(all.stored)
	thread.Parallel(len(stored), func(i int) {
		if ctx.Err() != nil {
			return
		}
		entries, err := readEntries(ctx, stored[i])
		mu.Lock()
		defer mu.Unlock()
		if err != nil && !errors.Is(err, handoff.NotFound) {
			all.warnings = append(all.warnings, err.Error())
		}
		for _, e := range entries {
			uri := e.URI.String()
			if old, ok := threads[uri]; ok && old.index <= i {
				continue
			}
			h := found{index: i}
			if q.selects(e) {
				of(e, func(row T) {
					if q.inTime(row.place().At) {
						h.rows = append(h.rows, row)
					}
				})
			}
			threads[uri] = h
		}
	})
	var list []T
	for _, h := range threads {
		list = append(list, h.rows...)
	}
	slices.Sort(all.warnings)
	return sortCalls(list, all.warnings), ctx.Err()
}

// selects reports whether q selects the calls of an entry.
func (q CallQuery) selects(e *entry) bool {
	return (q.In == nil || q.In(e.Cwd)) && (q.Threads == nil || slices.Contains(q.Threads, e.URI))
}

func (q CallQuery) inTime(at time.Time) bool { return Query{Since: q.Since, Until: q.Until}.inTime(at) }

// Touches is Files.Touches.
func (x *Index) Touches(ctx context.Context, q CallQuery, paths ...string) (Calls[Touch], error) {
	var c condition
	for _, p := range paths {
		dir := strings.TrimSuffix(p, "/")
		c.add("(r.path = ? OR r.path >= ? AND r.path < ?)", p, dir+"/", dir+"0") // 0 follows the slash
	}
	return indexCalls(ctx, x, q, "touches", touchColumns, c, scanTouch, func() (Calls[Touch], error) {
		return x.files.Touches(ctx, q, paths...)
	})
}

// Commands is Files.Commands.
func (x *Index) Commands(ctx context.Context, q CallQuery, lines ...string) (Calls[Command], error) {
	c := condition{[]string{"TRUE"}, nil}
	if len(lines) > 0 {
		c = condition{[]string{"r.line IN (SELECT value FROM json_each(?))"}, []any{list(lines)}}
	}
	return indexCalls(ctx, x, q, "commands", "r.line, r.exit, r.failed, r.output", c,
		func(rows *sql.Rows) (c Command, err error) {
			c.Place, c.Cwd, err = scanPlace(rows, &c.Line, &c.Exit, &c.Failed, &c.Output)
			return c, err
		}, func() (Calls[Command], error) { return x.files.Commands(ctx, q, lines...) })
}

// Mentions is Files.Mentions.
func (x *Index) Mentions(ctx context.Context, q CallQuery, names ...string) (Calls[Mention], error) {
	return indexCalls(ctx, x, q, "mentions", mentionColumns, named(names...), scanMention, func() (Calls[Mention], error) {
		return x.files.Mentions(ctx, q, names...)
	})
}

// indexCalls returns the rows of a table that meet one of some conditions.
func indexCalls[T placed](ctx context.Context, x *Index, q CallQuery, table, columns string, any condition,
	scan func(*sql.Rows) (T, error), files func() (Calls[T], error)) (Calls[T], error) {
	if err := x.files.check(Query{Providers: q.Providers}); err != nil {
		return Calls[T]{List: []T{}}, err
	}
	var found []T
	used, warnings, err := x.ask(ctx, 0, func(a answer) error {
		c, older, err := a.where(ctx, Query{Providers: q.Providers, In: q.In})
		if err != nil {
			return err
		}
		c.newest(older)
		if q.Threads != nil {
			uris := []string{}
			for _, u := range q.Threads {
				uris = append(uris, u.String())
			}
			c.add("t.uri IN (SELECT value FROM json_each(?))", list(uris))
		}
		if len(any.text) == 0 {
			any.add("FALSE")
		}
		c.add("("+strings.Join(any.text, " OR ")+")", any.args...)
		rows, err := a.QueryContext(ctx, "SELECT t.uri, t.cwd, r.n, r.at, "+columns+" FROM "+table+
			" r JOIN threads t ON t.id = r.thread WHERE "+c.String()+" ORDER BY r.thread, r.rowid", c.args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		found = nil
		for rows.Next() {
			row, err := scan(rows)
			if err != nil {
				return err
			}
			if q.inTime(row.place().At) {
				found = append(found, row)
			}
		}
		return rows.Err()
	})
	if err == nil && !used {
		c, err := files()
		c.Warnings = append(c.Warnings, warnings...)
		return c, err
	}
	return sortCalls(found, warnings), err
}
