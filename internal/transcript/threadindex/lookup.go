package threadindex

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex/store"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// Publications answers which calls may have published artifacts.
type Publications interface {
	// Reports returns the calls whose outputs have the ID of one of the artifacts, and those
	// with one of the IDs of calls, in the order of time.
	Reports(ctx context.Context, artifacts, calls []string) ([]Report, error)

	// Signs returns what records of artifacts that some subagents published may have of them.
	Signs(ctx context.Context, of Subagents) (Signs, error)

	// PublishedSince returns the IDs, of artifacts of a time or later, in the outputs of calls
	// that publish.
	PublishedSince(ctx context.Context, t time.Time) ([]string, error)

	// Mains returns the main threads of those of some URIs that are of subagents, in any form
	// that Item accepts.
	Mains(ctx context.Context, uris []string) (map[string]string, error)

	// Items returns the threads with some URIs, as far as they are there, in no order.
	Items(ctx context.Context, uris []string) ([]transcript.Item, error)
}

// A Lookup answers what threads and subagents did, all from one state of the
// transcripts.
type Lookup interface {
	Publications
	Items

	// Touches returns the calls that name one of the files, which are absolute, or the
	// file with a relative path in the working directory of any thread, unless
	// it is "". They are in the order of time.
	Touches(ctx context.Context, files []string, relative string) ([]Touch, error)

	// TouchesOf returns the calls of some threads that name a file, and those of the
	// subagents with a name or role, unless it is "", in the order of time.
	TouchesOf(ctx context.Context, agent string, threads ...thread.URI) ([]Touch, error)

	// Mentions returns the messages that name an artifact or a commit, as Files.Mentions
	// does, in the order of time.
	Mentions(ctx context.Context, name string) ([]Mention, error)

	// Read passes the messages of a thread with their calls to emit. Kind: NotFound.
	Read(ctx context.Context, uri thread.URI, emit func(thread.Message) error) error
}

// Lookup calls do with what the transcripts contain, from a database that it removes
// again. Its error is that of do, of ctx or of the database; the warnings are about
// transcripts that can't be read. If most is not 0, do is not called: so many
// transcripts are fewer than there may be.
func (f *Files) Lookup(ctx context.Context, most int, do func(Lookup) error) (warnings []string, err error) {
	if most > 0 {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "handoff-threads-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "threads.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return nil, err
	}
	used, warnings, err := NewIndex(f, file, func() time.Time { return time.Time{} }, nil).lookup(ctx, 0, do)
	if err == nil && !used {
		err = errors.New("the database can't be used")
	}
	return warnings, err
}

// Lookup is Files.Lookup, but keeps the database. do may be called twice, if it can't
// be used. If there is no database yet, or more than most transcripts have changed,
// do is not called, unless most is 0.
func (x *Index) Lookup(ctx context.Context, most int, do func(Lookup) error) (warnings []string, err error) {
	if _, err := os.Stat(x.file); most > 0 && err != nil {
		return nil, nil
	}
	used, warnings, err := x.lookup(ctx, most, do)
	if err != nil || used || most > 0 {
		return warnings, err
	}
	more, err := x.files.Lookup(ctx, most, do)
	return append(warnings, more...), err
}

func (x *Index) lookup(ctx context.Context, most int, do func(Lookup) error) (used bool, warnings []string, err error) {
	var failed error
	used, warnings, err = x.ask(ctx, most, func(a answer) error {
		l := &indexLookup{answer: a}
		failed = do(l)
		return l.err
	})
	if used {
		err = errors.Join(err, failed)
	}
	return used, warnings, err
}

// threadOf returns the URI of the thread of a message.
func threadOf(uri thread.URI) string {
	uri.From, uri.To = 0, 0
	return uri.String()
}

func notFound(uri thread.URI) error {
	return handoff.E("find thread", uri.String(), handoff.NotFound, errors.New("no such thread"))
}

// An indexLookup answers from a database.
type indexLookup struct {
	answer
	err error // of the database, the first
}

// failed returns an error of the database, and keeps it.
func (l *indexLookup) failed(err error) error {
	l.err = cmp.Or(l.err, err)
	return err
}

func (l *indexLookup) Touches(ctx context.Context, files []string, relative string) ([]Touch, error) {
	if relative != "" {
		dirs, err := l.strings(ctx, "SELECT DISTINCT cwd FROM threads WHERE cwd <> ''")
		if err != nil {
			return nil, l.failed(err)
		}
		for _, dir := range dirs {
			files = append(files, filepath.Join(dir, relative))
		}
	}
	return lookup(ctx, l, "touches", touchColumns, "r.path IN (SELECT value FROM json_each(?))", []any{list(files)},
		scanTouch)
}

func (l *indexLookup) TouchesOf(ctx context.Context, agent string, threads ...thread.URI) ([]Touch, error) {
	uris := []string{}
	agent = strings.ToLower(agent)
	for _, uri := range threads {
		uris = append(uris, threadOf(uri))
	}
	of, args := "t.uri IN (SELECT value FROM json_each(?))", []any{list(uris)}
	if agent != "" {
		of, args = of+" OR t.agent AND (t.name = ? OR t.role = ?)", append(args, agent, agent)
	}
	return lookup(ctx, l, "touches", touchColumns, of, args, scanTouch)
}

func (l *indexLookup) Mentions(ctx context.Context, name string) ([]Mention, error) {
	c := named(name)
	return lookup(ctx, l, "mentions", mentionColumns, strings.Join(c.text, " OR "), c.args, scanMention)
}

// newest returns a condition, and that of several threads with the same URI the one
// that was written last is meant.
func newest(text string) string {
	c := condition{text: []string{"(" + text + ")"}}
	c.newest(condition{})
	return c.String()
}

// lookup returns the rows of a table that meet a condition.
func lookup[T placed](ctx context.Context, l *indexLookup, table, columns, text string, args []any,
	scan func(*sql.Rows) (T, error)) (list []T, err error) {
	rows, err := l.QueryContext(ctx, "SELECT t.uri, t.cwd, r.n, r.at, "+columns+" FROM "+table+
		" r JOIN threads t ON t.id = r.thread WHERE "+newest(text)+" ORDER BY r.thread, r.rowid", args...)
	if err != nil {
		return nil, l.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return nil, l.failed(err)
		}
		list = append(list, row)
	}
	return sortCalls(list, nil).List, l.failed(rows.Err())
}

func (l *indexLookup) Item(ctx context.Context, uri thread.URI) (i transcript.Item, err error) {
	texts, err := l.strings(ctx, "SELECT t.item FROM threads t WHERE "+newest("t.uri = ?"), threadOf(uri))
	if err != nil {
		return i, l.failed(err)
	}
	if len(texts) == 0 { // a subagent of Codex names itself without its parent
		if texts, err = l.strings(ctx, "SELECT t.item FROM threads t WHERE "+newest("t.agent AND t.self = ?"),
			threadOf(uri)); err != nil {
			return i, l.failed(err)
		}
	}
	if len(texts) == 0 { // one of Copilot CLI has another ID in its shells
		if texts, err = l.strings(ctx, "SELECT t.item FROM threads t WHERE "+
			newest("t.agent AND t.provider = ? AND t.shell = ?"), uri.Provider,
			cmp.Or(uri.Agent, uri.Thread)); err != nil {
			return i, l.failed(err)
		}
	}
	if len(texts) == 0 {
		return i, notFound(uri)
	}
	i, err = decodeItem([]byte(texts[0]))
	return i, l.failed(err)
}

func (l *indexLookup) Items(ctx context.Context, uris []string) (items []transcript.Item, err error) {
	texts, err := l.strings(ctx, "SELECT t.item FROM threads t WHERE "+newest("t.uri IN (SELECT value FROM json_each(?))"),
		list(uris))
	for _, text := range texts {
		i, failed := decodeItem([]byte(text))
		items, err = append(items, i), errors.Join(err, failed)
	}
	return items, l.failed(err)
}

// ContinuedBy returns none: all threads would have to be read for it.
func (f *Files) ContinuedBy(context.Context, thread.URI) ([]thread.URI, error) { return nil, nil }

// ContinuedBy returns the threads that state to continue another one, in the order of their starts, as the
// database has them: it looks for no transcripts, so those that were written since the last list or search
// are missing, and one that was removed since may be there. If there is no usable database, it returns none.
func (x *Index) ContinuedBy(ctx context.Context, uri thread.URI) (found []thread.URI, err error) {
	if _, err := os.Stat(x.file); err != nil {
		return nil, nil
	}
	db, err := store.Open(ctx, x.file)
	if err != nil {
		return nil, ctx.Err()
	}
	defer db.Close()
	names, _ := answer{Database: db}.strings(ctx, "SELECT t.uri FROM threads t WHERE "+
		newest("t.continues = ? AND t.continues <> ''")+" ORDER BY t.started, t.uri", uri.Main().String())
	for _, name := range names {
		if u, err := thread.ParseURI(name); err == nil {
			found = append(found, u)
		}
	}
	return found, ctx.Err()
}

func (l *indexLookup) Read(ctx context.Context, uri thread.URI, emit func(thread.Message) error) error {
	keys, err := l.strings(ctx, "SELECT t.key FROM threads t WHERE "+newest("t.uri = ?"), threadOf(uri))
	if err != nil {
		return l.failed(err)
	}
	if len(keys) == 0 || l.stored(keys[0]) == nil {
		return notFound(uri)
	}
	threads, err := open(ctx, l.stored(keys[0]))
	for _, t := range threads {
		if newItem(t).URI == (thread.URI{Provider: uri.Provider, Thread: uri.Thread, Agent: uri.Agent}) {
			return t.Read(ctx, thread.Tools, emit)
		}
	}
	return errors.Join(notFound(uri), err)
}
