package threadindex

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/words"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex/store"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// An Index answers from a database. It gives the answers of Files, and uses Files
// if the database can't be used.
type Index struct {
	files    *Files
	file     string
	now      func() time.Time
	progress func(done, total int)
	read     reader
	tails    bool // what is appended to a transcript is read alone
}

// FileName returns the name of the database of the threads in some directories.
func FileName(roots []string) string {
	sum := sha256.Sum256([]byte(strings.Join(roots, "\x00")))
	return "threads-" + hex.EncodeToString(sum[:8]) + ".db"
}

// NewIndex returns an index in a file, which the first search creates. progress is
// called while transcripts are read and may be nil.
func NewIndex(files *Files, file string, now func() time.Time, progress func(done, total int)) *Index {
	return &Index{files, file, now, progress, readEntries, true}
}

// An answer is an open database that is up to date.
type answer struct {
	*store.Database
	*catalog
}

// A catalog has the transcripts that were found.
type catalog struct {
	all   []*thread.Stored
	byKey map[text]*thread.Stored // nil until one is needed
}

// A text identifies a transcript among those of all providers.
type text struct{ provider, key string }

// stored returns the transcript with a key of keyOf, nil if another process added it
// after this one found the transcripts.
func (c *catalog) stored(key string) *thread.Stored {
	if c.byKey == nil {
		c.byKey = make(map[text]*thread.Stored, len(c.all))
		for _, s := range c.all {
			c.byKey[text{s.Provider, s.Key}] = s
		}
	}
	provider, key, _ := strings.Cut(key, ":")
	return c.byKey[text{provider, key}]
}

// ask runs do with the database, after an update that reads at most so many
// transcripts, 0 for all. used is false if there is no usable database: then the
// files must answer. The warnings are about transcripts and the database.
func (x *Index) ask(ctx context.Context, most int, do func(answer) error) (used bool, warnings []string, err error) {
	if _, err := os.Stat(x.file); err != nil && most > 0 {
		return false, nil, nil // a list is no reason for an index, and finds the transcripts itself
	}
	all, err := x.files.find(ctx, nil)
	if err != nil {
		return false, nil, err
	}
	return x.askFound(ctx, all, most, do)
}

// askFound is ask for the transcripts that were found.
func (x *Index) askFound(ctx context.Context, all found, most int, do func(answer) error) (used bool, warnings []string,
	err error) {
	for again := false; ; again = true {
		more, err := x.try(ctx, most, all, do)
		known := new(handoff.Error)
		switch {
		case err == nil:
			return true, append(all.warnings, more...), nil
		case ctx.Err() != nil:
			return false, nil, ctx.Err()
		case errors.As(err, &known):
			return false, nil, err
		case errors.Is(err, errMany):
			return false, nil, nil
		case store.IsDamage(err) && !again:
			store.Remove(x.file)
		default:
			return false, []string{fmt.Sprintf("the index of threads can't be used, so the transcripts are read: %v",
				err)}, nil
		}
	}
}

func (x *Index) try(ctx context.Context, most int, all found, do func(answer) error) (warnings []string, err error) {
	if most > 0 || len(all.stored) == 0 {
		if _, err := os.Stat(x.file); err != nil {
			return nil, errMany // a list and an empty archive are no reason for an index
		}
	}
	db, err := store.Open(ctx, x.file)
	if err != nil {
		return nil, err
	}
	found := &catalog{all: all.stored}
	u := &update{Database: db, catalog: found, now: x.now(), progress: x.progress, most: most, reader: x.read,
		tails: x.tails, only: all.only}
	if err = u.run(ctx); err == nil && (u.total > 0 || all.threads != nil) {
		err = u.compared(ctx, all.threads)
	}
	if err == nil {
		err = do(answer{db, found})
	}
	return u.warnings, errors.Join(err, db.Close())
}

// Quick is how many transcripts a list reads before it answers. If more have
// changed, or there is no index, reading only what it shows is faster. A list of all reads them.
const Quick = 100

// List is Files.List.
func (x *Index) List(ctx context.Context, q Query) (page transcript.Page, err error) {
	from, err := parseCursor(q.Cursor)
	if err != nil {
		return transcript.Page{Threads: []transcript.Item{}}, err
	}
	if err := x.files.check(q); err != nil {
		return transcript.Page{Threads: []transcript.Item{}}, err
	}
	most := Quick
	if q.All {
		most = 0
	}
	used, warnings, err := x.ask(ctx, most, func(a answer) error {
		page, err = a.list(ctx, q, from)
		return err
	})
	if err == nil && !used {
		page, err = x.files.List(ctx, q)
	}
	page.Warnings = append(page.Warnings, warnings...)
	return page, err
}

// Search is Files.Search.
func (x *Index) Search(ctx context.Context, s Search) (r transcript.Matches, err error) {
	p, err := s.plan()
	if err != nil {
		return r, err
	}
	if err := x.files.check(s.Query); err != nil {
		return r, err
	}
	var hits []hit
	used, warnings, err := x.ask(ctx, 0, func(a answer) (err error) {
		hits, err = a.search(ctx, p)
		return err
	})
	switch {
	case err != nil:
	case used:
		r, err = p.result(ctx, hits, nil)
	default:
		r, err = x.files.Search(ctx, s)
	}
	r.Warnings = append(r.Warnings, warnings...)
	return r, err
}

// A condition is a part of a WHERE clause with its arguments.
type condition struct {
	text []string
	args []any
}

func (c *condition) add(text string, args ...any) {
	c.text, c.args = append(c.text, text), append(c.args, args...)
}

func (c *condition) String() string { return strings.Join(c.text, " AND ") }

// where returns the condition for the threads that q selects. The first part, up
// to older, is the one for threads whose transcripts may have copies of them.
func (a answer) where(ctx context.Context, q Query) (c, older condition, err error) {
	if q.Providers != nil {
		older.add("provider IN (SELECT value FROM json_each(?))", list(q.Providers))
	}
	if !q.Since.IsZero() {
		older.add("modified >= ?", ordered(q.Since))
	}
	if !q.Until.IsZero() {
		older.add("modified < ?", ordered(q.Until))
	}
	c.add("TRUE")
	for i, text := range older.text {
		c.add("t."+text, older.args[i])
	}
	if q.Status != "" {
		var recorded []string
		for _, status := range q.Status.Recorded() {
			recorded = append(recorded, string(status))
		}
		c.add("t.status IN (SELECT value FROM json_each(?))", list(recorded))
	}
	if q.Model != "" {
		c.add("instr(t.models, ?)", strings.ToLower(q.Model))
	}
	if q.In != nil {
		selected, err := a.directories(ctx, q.In)
		if err != nil {
			return c, older, err
		}
		c.add("t.cwd IN (SELECT value FROM json_each(?))", list(selected))
	}
	return c, older, nil
}

// directories returns the directories of threads that a function selects.
func (a answer) directories(ctx context.Context, in func(dir string) bool) ([]string, error) {
	dirs, err := a.strings(ctx, "SELECT DISTINCT cwd FROM threads")
	return slices.DeleteFunc(dirs, func(dir string) bool { return !in(dir) }), err
}

// gone returns how many threads are in directories that count as gone and q does not select.
func (a answer) gone(ctx context.Context, q Query) (n int, err error) {
	if q.Gone == nil {
		return 0, nil
	}
	dirs, err := a.directories(ctx, func(dir string) bool { return !q.In(dir) && q.Gone(dir) })
	if err != nil || len(dirs) == 0 {
		return 0, err
	}
	return n, a.QueryRowContext(ctx, `SELECT count(DISTINCT uri) FROM threads
		WHERE agent = 0 AND cwd IN (SELECT value FROM json_each(?))`, list(dirs)).Scan(&n)
}

// list returns texts as JSON, for json_each.
func list(texts []string) string {
	b, err := json.Marshal(texts)
	if err != nil {
		panic(err) // texts have no reason to fail
	}
	return string(b)
}

func (a answer) strings(ctx context.Context, query string, args ...any) (list []string, err error) {
	rows, err := a.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// newest adds that there is no newer thread with the same URI and a condition.
func (c *condition) newest(other condition) {
	other.add("uri = t.uri AND (modified, t.key, t.id) > (t.modified, key, id)")
	c.add("NOT EXISTS (SELECT 1 FROM threads WHERE "+other.String()+")", other.args...)
}

func (a answer) list(ctx context.Context, q Query, from position) (transcript.Page, error) {
	page := transcript.Page{Threads: []transcript.Item{}}
	c, older, err := a.where(ctx, q)
	if err == nil {
		page.Gone, err = a.gone(ctx, q)
	}
	if err != nil {
		return page, err
	}
	c.add("t.agent = 0")
	if q.Role != "" {
		role := strings.ToLower(q.Role)
		c.add("t.uri IN (SELECT parent FROM threads WHERE agent AND (role = ? OR name = ?))", role, role)
	}
	if from.uri != "" {
		c.add("t.modified <= ?", ordered(from.at))
	}
	older.add("agent = 0")
	c.newest(older)
	rows, err := a.QueryContext(ctx, "SELECT t.title, t.item FROM threads t WHERE "+c.String()+
		" ORDER BY t.modified DESC, t.key, t.id", c.args...)
	if err != nil {
		return page, err
	}
	defer rows.Close()
	for rows.Next() {
		var title string
		var text []byte
		if err := rows.Scan(&title, &text); err != nil {
			return page, err
		}
		if !q.hasTitle(title) {
			continue
		}
		i, err := decodeItem(text)
		if err != nil {
			return page, err
		}
		q.Observer.Observe(i.URI, i.Thread)
		if from.passed(i) && (q.Status == "" || i.State.Status == q.Status) && !appendTo(&page, i, q.Limit) {
			break
		}
	}
	return page, rows.Err()
}

// search returns the hits of p, at least one more than its limit if there are.
func (a answer) search(ctx context.Context, p plan) ([]hit, error) {
	c, _, err := a.where(ctx, p.Query)
	if err != nil {
		return nil, err
	}
	if p.Role != "" {
		role := strings.ToLower(p.Role)
		c.add("t.agent AND (t.role = ? OR t.name = ?)", role, role)
	}
	if p.Tool != "" {
		c.add("t.id IN (SELECT thread FROM tools WHERE name = ?)", strings.ToLower(p.Tool))
	}
	if p.Path != "" {
		name := strings.TrimSuffix(p.Path, "/") + "/" // see isPath
		c.add("t.id IN (SELECT thread FROM touches WHERE instr('//' || path || '/', '//' || ?) OR instr(path || '/', '/' "+
			"|| ?))", name, name)
	}
	if err := a.Exec(ctx, "PRAGMA cache_size = -6000"); err != nil { // each page is read about once
		return nil, err
	}
	var hits []hit
	seen := map[string]bool{}
	for r, in := range p.levels() {
		if len(in) == 0 || len(p.terms) == 0 && rank(r) != anywhere || p.Newest && rank(r) != anywhere {
			continue
		}
		level := condition{c.text, c.args}
		for _, t := range p.terms {
			if err := a.addTerm(ctx, &level, t, in); err != nil {
				return nil, err
			}
		}
		if hits, err = a.hits(ctx, hits, seen, level, rank(r), p.Query); err != nil || p.Limit > 0 && len(hits) > p.Limit {
			return hits, err
		}
	}
	return hits, nil
}

// hits appends the threads that a condition selects, newest first, each once.
func (a answer) hits(ctx context.Context, hits []hit, seen map[string]bool, c condition, r rank, q Query) ([]hit,
	error) {
	rows, err := a.QueryContext(ctx, "SELECT t.id, t.key, t.uri, t.modified, CASE WHEN ? THEN t.item END FROM threads t "+
		"WHERE "+c.String()+" ORDER BY t.modified DESC, t.key, t.uri", append([]any{q.Status != ""}, c.args...)...)
	if err != nil {
		return nil, err
	}
	var ids []int64
	first := len(hits)
	for (q.Limit == 0 || len(hits) <= q.Limit) && rows.Next() {
		var id, modified int64
		h := hit{rank: r}
		if err := rows.Scan(&id, &h.key, &h.uri, &modified, &h.encoded); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		if !seen[h.uri] && h.has(q) {
			seen[h.uri] = true
			h.modified = time.Unix(0, modified)
			h.stored = a.stored(h.key)
			hits, ids = append(hits, h), append(ids, id)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for i, id := range ids {
		if err := a.QueryRowContext(ctx, "SELECT item FROM threads WHERE id = ?",
			id).Scan(&hits[first+i].encoded); err != nil {
			return nil, err
		}
		if _, err := hits[first+i].match(); err != nil {
			return nil, err // then the index is rebuilt
		}
	}
	return hits, nil
}

// has reports whether a hit has the status of a query. One that can't be decoded is
// reported when it is used.
func (h hit) has(q Query) bool {
	if q.Status == "" {
		return true
	}
	m, err := h.match()
	if err == nil {
		q.Observer.Observe(m.URI, m.Thread)
	}
	return err != nil || m.State.Status == q.Status
}

// addTerm adds that a term is in one of some columns. A prefix is searched word by word:
// SQLite would merge the positions of all its words in memory.
func (a answer) addTerm(ctx context.Context, c *condition, t words.Term, in []column) error {
	query := "{"
	for _, c := range in {
		query += columnNames[c] + " "
	}
	phrase, last := t.Query()
	query += "} : " + phrase
	if last == "" {
		c.add("t.id IN (SELECT rowid >> 16 FROM words WHERE words MATCH ?)", query)
		return nil
	}
	const after = "\xff" // all characters
	c.add(`t.id IN (SELECT w.rowid >> 16 FROM temp.vocabulary v CROSS JOIN words w
		WHERE v.term >= ? AND v.term < ? AND w.words MATCH ? || v.term || '"')`, last, last+after, query)
	return a.Exec(ctx, "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab('main', 'words', 'row')")
}
