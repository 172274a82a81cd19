package threadindex

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/ulid"
	"github.com/agent-handoff/handoff/internal/transcript/action"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex/store"
	"github.com/agent-handoff/handoff/thread"
)

// A Report is a call that may have published an artifact. Copies of calls in forks are
// left out.
type Report struct {
	Place
	Artifact string // the ID in its output, "" for a call that publishes and whose output has none
	Call     string // ID of the call
	Model    string // of the message
	Ran      bool   // it ran a command
	action.Traffic
}

// ReportsOf returns what a call reports: that it publishes, and each artifact that its output
// names.
func ReportsOf(c thread.Call) (list []Report) {
	r := Report{Place: Place{At: c.Time.UTC()}, Call: c.ID, Traffic: action.TrafficOf(c)}
	r.Ran = action.Inspect(c).Command != ""
	for _, r.Artifact = range action.ArtifactIDs(c.Output) {
		list = append(list, r)
	}
	if len(list) == 0 && r.Publishes {
		list = append(list, r)
	}
	return list
}

// report adds what a call reports.
func (e *entry) report(model string, c thread.Call) {
	for _, r := range ReportsOf(c) {
		if r.Model = model; e.before.Reports+len(e.reports) < maxRows {
			r.URI.From = e.last
			e.reports = append(e.reports, r)
		}
	}
}

// The flags of a Report as they are stored.
const (
	publishes = 1 << iota
	observes
	ran
)

// does returns the flags.
func (r Report) does() (flags int) {
	for i, set := range []bool{r.Publishes, r.Observes, r.Ran} {
		if set {
			flags |= 1 << i
		}
	}
	return flags
}

func (l *indexLookup) Reports(ctx context.Context, artifacts, calls []string) ([]Report, error) {
	return lookup(ctx, l, "reports", "r.name, r.call, r.model, r.does", "r.rowid IN (SELECT rowid FROM reports WHERE "+
		"name IN (SELECT value FROM json_each(?)) UNION "+
		"SELECT rowid FROM reports WHERE call IN (SELECT value FROM json_each(?)))",
		[]any{list(artifacts), list(calls)}, scanReport)
}

func scanReport(rows *sql.Rows) (r Report, err error) {
	var what int
	r.Place, _, err = scanPlace(rows, &r.Artifact, &r.Call, &r.Model, &what)
	r.Publishes, r.Observes, r.Ran = what&publishes != 0, what&observes != 0, what&ran != 0
	return r, err
}

// Subagents are those that have a name as the producers of records, see
// thread.Thread.ProducerAgent, or with Others all that have not; "" for all.
type Subagents struct {
	Name   string
	Others bool
}

// Signs are what records of the artifacts of subagents may have of them. Other artifacts
// may have them, too.
type Signs struct {
	Artifacts []string // IDs in the outputs of their calls
	Calls     []string // the IDs of these calls
	Threads   []string // their URIs, in each form that Item accepts
}

func (l *indexLookup) Signs(ctx context.Context, of Subagents) (s Signs, err error) {
	agents, args := "t.agent", []any{}
	switch {
	case of.Others:
		agents, args = "t.agent AND t.agent_name <> ?", []any{of.Name}
	case of.Name != "":
		name := strings.ToLower(of.Name)
		agents, args = "t.agent AND (t.name = ? OR t.role = ?) AND t.agent_name = ?", []any{name, name, of.Name}
	}
	shell := " FROM threads t WHERE " + agents + " AND t.shell <> ''"
	for _, q := range []struct {
		list *[]string
		text string
	}{
		{&s.Artifacts, "SELECT DISTINCT r.name FROM threads t CROSS JOIN reports r ON r.thread = t.id WHERE " + agents +
			" AND r.name <> ''"},
		{&s.Calls, "SELECT DISTINCT r.call FROM threads t CROSS JOIN reports r ON r.thread = t.id WHERE " + agents +
			" AND r.call <> ''"},
		{&s.Threads, "SELECT t.uri FROM threads t WHERE " + agents},
		{&s.Threads, "SELECT t.self FROM threads t WHERE " + agents + " AND t.self <> t.uri"},
		{&s.Threads, "SELECT " + shellOf + shell},
		{&s.Threads, "SELECT t.parent || '/' || t.shell" + shell},
	} {
		list, err := l.strings(ctx, q.text, args...)
		if *q.list = append(*q.list, list...); err != nil {
			return s, l.failed(err)
		}
	}
	return s, nil
}

func (l *indexLookup) PublishedSince(ctx context.Context, t time.Time) ([]string, error) {
	first, err := ulid.New(t, zeros{}) // the ID of an artifact begins with its time
	if err != nil {
		return nil, err
	}
	ids, err := l.strings(ctx, fmt.Sprint("SELECT DISTINCT name FROM reports WHERE name <> '' AND name >= ? AND does & ",
		publishes), "art_"+first)
	return ids, l.failed(err)
}

// zeros is a source of zeros.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func (l *indexLookup) Mains(ctx context.Context, uris []string) (map[string]string, error) {
	parents, err := l.parents(ctx, Query{})
	if err != nil {
		return nil, l.failed(err)
	}
	mains := map[string]string{}
	for _, form := range []string{"t.uri", "t.self", shellOf} {
		rows, err := l.QueryContext(ctx, "SELECT "+form+", t.parent FROM threads t WHERE t.agent AND t.parent <> '' AND "+
			form+" IN (SELECT value FROM json_each(?))", list(uris))
		if err != nil {
			return nil, l.failed(err)
		}
		for rows.Next() {
			var uri, parent string
			if err = rows.Scan(&uri, &parent); err != nil {
				break
			}
			mains[uri] = parents.main(parent)
		}
		if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
			return nil, l.failed(err)
		}
	}
	return mains, nil
}

// shellOf is the URI that the shells of a subagent have, if it has one of its own.
const shellOf = "'agents://' || t.provider || '/' || nullif(t.shell, '')"

// Known calls do with what the database has, which it does not change. If there is no usable
// database, do is not called. compared returns when the transcripts of a thread were last
// compared with it, the zero time for never.
func (x *Index) Known(ctx context.Context, do func(l Lookup, compared func(thread string) time.Time) error) error {
	if _, err := os.Stat(x.file); err != nil {
		return nil
	}
	db, err := store.Open(ctx, x.file)
	if err != nil {
		return nil // the next update replaces it
	}
	l := &indexLookup{answer: answer{db, &catalog{}}}
	compared := func(name string) (at time.Time) {
		var n int64
		row := db.QueryRowContext(ctx, "SELECT max(at) FROM compared WHERE thread IN (?, ?) HAVING count(*) > 0", name,
			allThreads)
		if err := row.Scan(&n); err == nil {
			at = timeOf(n)
		}
		return at
	}
	err = do(l, compared)
	if l.err != nil {
		err = nil
	}
	return errors.Join(err, db.Close())
}

// allThreads is the name of all threads in the table compared.
const allThreads = "*"

// Update reads the transcripts that changed, and makes the database if there is none. If
// more than most changed, it reads only those that are named after one of the threads, which
// are URIs. The warnings are about transcripts that can't be read.
func (x *Index) Update(ctx context.Context, most int, threads []string) (warnings []string, err error) {
	all, err := x.files.find(ctx, nil)
	if err != nil || len(all.stored) == 0 {
		return nil, err
	}
	nothing := func(answer) error { return nil }
	if len(all.stored) > most {
		if used, warnings, err := x.askFound(ctx, all, most, nothing); used || err != nil {
			return warnings, err
		}
		ids := map[string]bool{}
		for _, name := range threads {
			if uri, err := thread.ParseURI(name); err == nil {
				ids[cmp.Or(uri.Agent, uri.Thread)], ids[uri.Thread] = true, true
			}
		}
		all.threads, all.only = threads, func(s *thread.Stored) bool {
			for id := range ids {
				if strings.Contains(s.Key, id) || strings.Contains(s.Source, id) {
					return true
				}
			}
			return false
		}
	} else {
		all.threads = []string{allThreads} // noted also if none changed
	}
	_, warnings, err = x.askFound(ctx, all, 0, nothing)
	return warnings, err
}

// IsBehind reports whether more than most transcripts were not read since they changed.
func (x *Index) IsBehind(ctx context.Context, most int) (bool, error) {
	all, err := x.files.find(ctx, nil)
	if err != nil || len(all.stored) <= most {
		return false, err
	}
	used, _, err := x.askFound(ctx, all, most, func(answer) error { return nil })
	return err == nil && !used, err
}
