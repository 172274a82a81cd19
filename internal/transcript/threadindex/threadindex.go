// Package threadindex lists and searches the threads that agent programs keep
// on this machine.
//
// [Files] answers from the transcripts alone: it finds them without reading, newest
// first, and opens as many as the answer needs. An [Index] gives the same answers
// from a database with the words of all threads. Before each answer it reads
// the transcripts that were written, renamed or removed since the last one. The
// database is derived from the transcripts and may be deleted at any time.
//
// Transcripts belong to the tools that write them. This package only reads them.
package threadindex

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// A Query selects threads. Subagents are never selected themselves.
type Query struct {
	Providers    []string              // nil for all
	In           func(dir string) bool // reports whether a working directory is selected; nil for all
	Role         string                // role or name of one of its subagents
	Since, Until time.Time             // when the transcript was last written: at or after, before
	Status       thread.Status         // as Observer concludes it
	Model        string                // part of the name of a model that it used, in any case
	Title        string                // with List: part of its title, in any case
	Limit        int                   // 0 for all
	Cursor       string                // of an earlier page

	Gone func(dir string) bool // with List: reports whether a directory counts in Page.Gone, nil for none

	Changed time.Time // with Active: their changes at or after this time
	All     bool      // with List: all transcripts are needed, so that an index is created if there is none

	// Observer concludes the states of the threads in the answer.
	Observer thread.Observer
}

// An Archive answers queries about threads. Files and Index are Archives.
type Archive interface {
	List(context.Context, Query) (transcript.Page, error)
	Search(context.Context, Search) (transcript.Matches, error)
	Changes
	EachUsage(context.Context, Query, func(ThreadUsage) error) (warnings []string, err error)
	Lookup(ctx context.Context, most int, do func(Lookup) error) (warnings []string, err error)

	// ContinuedBy returns the threads that are known to state to continue another one.
	ContinuedBy(context.Context, thread.URI) ([]thread.URI, error)
}

// Changes are what threads changed.
type Changes interface {
	Active(context.Context, Query) (list []transcript.Active, warnings []string, err error)
	Collisions(context.Context, Query) (transcript.Collisions, error)
}

// Files answers from the transcripts.
type Files struct {
	set *thread.Set
}

// NewFiles returns the Files of the providers in set.
func NewFiles(set *thread.Set) *Files { return &Files{set} }

// found are the transcripts of some providers.
type found struct {
	stored   []*thread.Stored
	warnings []string

	// of an update that reads only transcripts of some threads, nil for all
	threads []string
	only    func(*thread.Stored) bool
}

// find finds the transcripts of the providers, all if names is nil. The error is
// Unsupported for an unknown provider, or the context's.
func (f *Files) find(ctx context.Context, names []string) (found, error) {
	if names == nil {
		names = f.set.Names()
	}
	providers := make([]thread.Provider, len(names))
	for i, name := range names {
		var err error
		if providers[i], err = f.set.Provider(name); err != nil {
			return found{}, err
		}
	}
	stored, warnings := make([][]*thread.Stored, len(names)), make([][]string, len(names))
	var wg sync.WaitGroup
	for i, p := range providers {
		wg.Go(func() {
			for s, err := range thread.StoredIn(ctx, names[i], p) {
				if err != nil {
					warnings[i] = append(warnings[i], err.Error())
					continue
				}
				stored[i] = append(stored[i], s)
			}
		})
	}
	wg.Wait()
	return found{stored: slices.Concat(stored...), warnings: slices.Concat(warnings...)}, ctx.Err()
}

// keyOf returns the key of a transcript among those of all providers.
func keyOf(s *thread.Stored) string { return s.Provider + ":" + s.Key }

// newestFirst sorts transcripts by their last writes.
func newestFirst(list []*thread.Stored) []*thread.Stored {
	slices.SortFunc(list, func(a, b *thread.Stored) int {
		if order := b.Modified.Compare(a.Modified); order != 0 {
			return order
		}
		return cmp.Or(strings.Compare(a.Provider, b.Provider), strings.Compare(a.Key, b.Key))
	})
	return list
}

// An opened is a transcript with its threads.
type opened struct {
	threads []*thread.Thread
	err     error
}

// eachOpened opens the transcripts, several at once, and passes them to use in
// their order until it returns false. The error is one of use or of ctx.
func eachOpened(ctx context.Context, list []*thread.Stored, use func(opened) (bool, error)) error {
	const most = 64
	for size := runtime.GOMAXPROCS(0); len(list) > 0; size = min(2*size, most) {
		part := list[:min(size, len(list))]
		list = list[len(part):]
		results := make([]opened, len(part))
		thread.Parallel(len(part), func(i int) {
			results[i].threads, results[i].err = open(ctx, part[i])
		})
		for _, o := range results {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if more, err := use(o); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// open opens the threads in a transcript, none if another process added it after this
// one found the transcripts. Their order is that of its last write.
func open(ctx context.Context, s *thread.Stored) ([]*thread.Thread, error) {
	if s == nil || s.Opener == nil {
		return nil, nil
	}
	list, err := s.Open(ctx)
	for _, t := range list {
		t.Modified = s.Modified
	}
	return list, err
}

// cursor is the position of an item in the order of a page.
func cursor(i transcript.Item) string {
	return strconv.FormatInt(ordered(i.Modified), 10) + "," + i.URI.String()
}

// A position is a parsed cursor: the last item of an earlier page.
type position struct {
	at   time.Time
	uri  string
	seen bool // that item was passed
}

func parseCursor(s string) (p position, err error) {
	if s == "" {
		return p, nil
	}
	nanos, uri, ok := strings.Cut(s, ",")
	n, err := strconv.ParseInt(nanos, 10, 64)
	if err != nil || !ok {
		return p, handoff.E("list threads", s, handoff.Invalid, errors.New("invalid cursor"),
			handoff.Advice("use the cursor that an earlier list printed"))
	}
	return position{at: time.Unix(0, n), uri: uri}, nil
}

// passed reports whether an item comes after the position. It must be called for
// the items in their order.
func (p *position) passed(i transcript.Item) bool {
	if p.uri == "" || p.seen || i.Modified.Before(p.at) {
		return true
	}
	p.seen = i.URI.String() == p.uri
	return false
}
