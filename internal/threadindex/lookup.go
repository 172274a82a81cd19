package threadindex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// A Lookup answers what conversations and subagents did, all from one state of the
// transcripts.
type Lookup interface {
	// Touches returns the calls that name one of the files, which are absolute, or the
	// file with a relative path in the working directory of any conversation, unless
	// it is "". They are in the order of time.
	Touches(ctx context.Context, files []string, relative string) ([]Touch, error)

	// TouchesOf returns the calls of one thread that name a file, in the order of time.
	TouchesOf(ctx context.Context, uri thread.URI) ([]Touch, error)

	// Naming returns the threads of which a command, or what its output reports,
	// contains a word that starts with prefix, by URI.
	Naming(ctx context.Context, prefix string) ([]thread.URI, error)

	// Item returns a thread with its facts, or kind NotFound.
	Item(ctx context.Context, uri thread.URI) (Item, error)

	// Read passes the messages of a thread with their calls to emit. Kind: NotFound.
	Read(ctx context.Context, uri thread.URI, emit func(thread.Message) error) error
}

// A Touch is a call that names a file.
type Touch struct {
	URI    thread.URI // of the message
	Path   string     // absolute
	At     time.Time
	Change bool // it changes the file
}

func compareTouches(a, b Touch) int {
	return cmp.Or(a.At.Compare(b.At), strings.Compare(a.URI.String(), b.URI.String()), strings.Compare(a.Path, b.Path))
}

// Lookup calls do with what the transcripts contain. Its error is that of do or of
// ctx; the warnings are about transcripts that can't be read.
func (f *Files) Lookup(ctx context.Context, do func(Lookup) error) (warnings []string, err error) {
	all, err := f.find(ctx, nil)
	if err != nil {
		return nil, err
	}
	l := fileLookup{}
	var mu sync.Mutex
	thread.Parallel(len(all.stored), func(i int) {
		if ctx.Err() != nil {
			return
		}
		entries, err := readEntries(ctx, all.stored[i])
		mu.Lock()
		defer mu.Unlock()
		if err != nil && !errors.Is(err, handoff.NotFound) {
			all.warnings = append(all.warnings, err.Error())
		}
		for _, e := range entries {
			l.add(e)
		}
	})
	slices.Sort(all.warnings)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return all.warnings, do(l)
}

// A fileLookup has the threads by URI.
type fileLookup map[string]*entry

// add adds a thread. Of several with the same URI, the one that was written last
// counts.
func (l fileLookup) add(e *entry) {
	uri := e.URI.String()
	if old, ok := l[uri]; !ok || e.Modified.After(old.Modified) {
		l[uri] = e
	}
}

func (l fileLookup) Touches(_ context.Context, files []string, relative string) (list []Touch, _ error) {
	if relative != "" {
		for _, e := range l {
			if e.Cwd != "" {
				files = append(files, filepath.Join(e.Cwd, relative))
			}
		}
	}
	for _, e := range l {
		for _, t := range e.touches {
			if slices.Contains(files, t.path) {
				list = append(list, t.of(e.URI))
			}
		}
	}
	slices.SortFunc(list, compareTouches)
	return list, nil
}

func (t touch) of(uri thread.URI) Touch {
	uri.From, uri.To = t.n, t.n
	return Touch{uri, t.path, t.at, t.write}
}

func (l fileLookup) TouchesOf(_ context.Context, uri thread.URI) (list []Touch, _ error) {
	if e := l[whole(uri)]; e != nil {
		for _, t := range e.touches {
			list = append(list, t.of(e.URI))
		}
	}
	slices.SortFunc(list, compareTouches)
	return list, nil
}

// whole returns the URI of the thread of a message.
func whole(uri thread.URI) string {
	uri.From, uri.To = 0, 0
	return uri.String()
}

func (l fileLookup) Naming(_ context.Context, prefix string) (list []thread.URI, _ error) {
	terms := parseTerms(prefix + "*")
	for _, e := range l {
		if len(terms) == 1 && e.has(terms[0], []column{calls}) {
			list = append(list, e.URI)
		}
	}
	sortURIs(list)
	return list, nil
}

func sortURIs(list []thread.URI) {
	slices.SortFunc(list, func(a, b thread.URI) int { return strings.Compare(a.String(), b.String()) })
}

func (l fileLookup) Item(_ context.Context, uri thread.URI) (Item, error) {
	e := l[whole(uri)]
	if e == nil {
		return Item{}, notFound(uri)
	}
	return e.Item, nil
}

func notFound(uri thread.URI) error {
	return &handoff.Error{Op: "find thread", Name: uri.String(), Kind: handoff.NotFound, Err: errors.New("no such conversation")}
}

func (l fileLookup) Read(ctx context.Context, uri thread.URI, emit func(thread.Message) error) error {
	e := l[whole(uri)]
	if e == nil {
		return notFound(uri)
	}
	return e.Thread.Read(ctx, thread.Tools, emit)
}

// Lookup is Files.Lookup. do may be called twice, if the database can't be used.
func (x *Index) Lookup(ctx context.Context, do func(Lookup) error) (warnings []string, err error) {
	var failed error
	used, warnings, err := x.ask(ctx, 0, func(a answer) error {
		l := &indexLookup{answer: a}
		failed = do(l)
		return l.err
	})
	if err != nil || used {
		return warnings, errors.Join(err, failed)
	}
	more, err := x.files.Lookup(ctx, do)
	return append(warnings, more...), err
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
	return l.touches(ctx, "w.path IN (SELECT value FROM json_each(?))", list(files))
}

func (l *indexLookup) TouchesOf(ctx context.Context, uri thread.URI) ([]Touch, error) {
	return l.touches(ctx, "t.uri = ?", whole(uri))
}

// newest is the condition that of several threads with the same URI, the one that was
// written last is meant.
const newest = " AND NOT EXISTS (SELECT 1 FROM threads WHERE uri = t.uri AND (modified, id) > (t.modified, t.id))"

func (l *indexLookup) touches(ctx context.Context, condition string, arg any) (list []Touch, err error) {
	rows, err := l.QueryContext(ctx, "SELECT t.uri, w.path, w.n, w.at, w.change FROM touches w JOIN threads t ON t.id = w.thread WHERE "+condition+newest, arg)
	if err != nil {
		return nil, l.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		var uri string
		var at int64
		var t touch
		if err := rows.Scan(&uri, &t.path, &t.n, &at, &t.write); err != nil {
			return nil, l.failed(err)
		}
		t.at = stored(at)
		u, err := thread.ParseURI(uri)
		if err != nil {
			return nil, l.failed(err)
		}
		list = append(list, t.of(u))
	}
	slices.SortFunc(list, compareTouches)
	return list, l.failed(rows.Err())
}

func (l *indexLookup) Naming(ctx context.Context, prefix string) (list []thread.URI, err error) {
	terms := parseTerms(prefix + "*")
	if len(terms) != 1 {
		return nil, nil
	}
	uris, err := l.strings(ctx, "SELECT t.uri FROM threads t WHERE t.id IN (SELECT rowid FROM words WHERE words MATCH ?)"+newest, expression(terms, []column{calls}))
	if err != nil {
		return nil, l.failed(err)
	}
	for _, text := range uris {
		uri, err := thread.ParseURI(text)
		if err != nil {
			return nil, l.failed(err)
		}
		list = append(list, uri)
	}
	sortURIs(list)
	return list, nil
}

func (l *indexLookup) Item(ctx context.Context, uri thread.URI) (i Item, err error) {
	texts, err := l.strings(ctx, "SELECT t.item FROM threads t WHERE t.uri = ?"+newest, whole(uri))
	if err != nil {
		return i, l.failed(err)
	}
	if len(texts) == 0 {
		return i, notFound(uri)
	}
	return i, l.failed(json.Unmarshal([]byte(texts[0]), &i))
}

func (l *indexLookup) Read(ctx context.Context, uri thread.URI, emit func(thread.Message) error) error {
	keys, err := l.strings(ctx, "SELECT t.key FROM threads t WHERE t.uri = ?"+newest, whole(uri))
	if err != nil {
		return l.failed(err)
	}
	if len(keys) == 0 || l.found[keys[0]].Open == nil {
		return notFound(uri)
	}
	threads, err := open(ctx, l.found[keys[0]])
	for _, t := range threads {
		if newItem(t).URI == (thread.URI{Provider: uri.Provider, Thread: uri.Thread, Agent: uri.Agent}) {
			return t.Read(ctx, thread.Tools, emit)
		}
	}
	return errors.Join(notFound(uri), err)
}
