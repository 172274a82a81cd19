package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace"

	"github.com/agent-handoff/handoff"
)

// Limits of the page of changed files.
const (
	changedShown = 200
	changersMost = 10 // threads of a file
)

// changedPage is what the page of changed files shows.
type changedPage struct {
	Files   []changedFile
	Text    string // that the paths have
	Filters filters
	More    int // files that are not shown
	Since   string
	Periods []string
	Reading bool
}

// A changedFile is a file with the threads that changed it, the last one first.
type changedFile struct {
	Path    string
	Edits   int
	Last    transcript.Write
	Threads []changer
	Command string // prints how it came about
	Why     string // the URL of the same, "" if the file is not in the repository

	IsPublished bool // there are artifacts of it
}

// A changer is a thread with the last change of a file that it or a subagent made.
type changer struct {
	Title string
	Last  transcript.Write
}

// changedFiles shows the files that threads of this repository changed, the last first.
func (s *Server) changedFiles(r *http.Request) (page, error) {
	if s.o.Source.Threads == nil {
		return page{}, errNoThreads
	}
	q := r.URL.Query()
	v := changedPage{Since: cmp.Or(q.Get("since"), "24h"), Text: q.Get("text"), Filters: filtersOf(q, "text"),
		Periods: []string{"24h", "7d", "30d"}}
	since, err := workspace.ParseTime("since", v.Since, s.o.Now())
	if err != nil {
		return page{}, err
	}
	p := page{Name: "changed", Title: "Changed files", Section: "/files", Poll: threadRest}
	files, known, err := s.changes.of(v.Since).get(s, reading[[]changedFile]{wait: costWait, least: threadRest,
		read: func(ctx context.Context) ([]changedFile, error) {
			list, _, err := s.o.Source.Conversations.Changed(ctx, since)
			return s.filesOf(ctx, list), err
		}})
	p.warn(err)
	v.Files, v.Reading = slices.Clone(files), !known
	v.Files = slices.DeleteFunc(v.Files, func(f changedFile) bool {
		return !strings.Contains(strings.ToLower(s.relative(f.Path)), strings.ToLower(v.Text))
	})
	v.More = max(0, len(v.Files)-changedShown)
	v.Files = v.Files[:len(v.Files)-v.More]
	p.Data = v
	return p, nil
}

// filesOf returns the files that threads changed.
func (s *Server) filesOf(ctx context.Context, list []transcript.Active) (files []changedFile) {
	at := map[string]int{}
	for _, t := range list {
		last := map[string]transcript.Write{}
		for _, w := range t.Writes {
			i, ok := at[w.Path]
			if !ok {
				i = len(files)
				rel, why := s.relative(w.Path), ""
				if s.isTraced(rel) {
					why = whyURL(rel)
				}
				at[w.Path], files = i, append(files, changedFile{Path: w.Path,
					Command: cli.CommandLine(handoff.ActionWhy, rel), Why: why})
			}
			files[i].Edits++
			if w.At.After(last[w.Path].At) || last[w.Path].Path == "" {
				last[w.Path] = w
			}
		}
		for name, w := range last {
			f := &files[at[name]]
			f.Threads = append(f.Threads, changer{cmp.Or(t.Name(), t.ID), w})
		}
	}
	for i := range files {
		f := &files[i]
		order.Sort(f.Threads, func(a, b changer) int { return b.Last.At.Compare(a.Last.At) })
		f.Last = f.Threads[0].Last
	}
	slices.SortStableFunc(files, func(a, b changedFile) int {
		return cmp.Or(b.Last.At.Compare(a.Last.At), cmp.Compare(a.Path, b.Path))
	})
	for i, f := range files[:min(changedShown, len(files))] {
		page, err := s.o.Source.Artifacts.List(ctx,
			workspace.ListOptions{Filter: workspace.Filter{Path: f.Path, IncludeInactive: true}, Limit: 1})
		files[i].IsPublished = err == nil && len(page.Artifacts) > 0
	}
	return files
}

// Shown returns the threads of a file that the page lists.
func (f changedFile) Shown() []changer { return f.Threads[:min(changersMost, len(f.Threads))] }
