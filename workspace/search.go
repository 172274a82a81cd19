package workspace

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/storage"
)

// TextLimit is how many bytes of a body are searched, from its beginning.
const TextLimit = 64 << 10

// SearchOptions are what to search for.
type SearchOptions struct {
	Text            string   // words that must all be found; a trailing * matches any ending
	In              []string // of SearchScopes; empty for all
	IncludeInactive bool     // superseded and withdrawn artifacts and archived sessions too
	Limit           int      // the maximum number of each; 0 for no limit
}

// The scopes of a search.
const (
	InArtifacts = "artifacts"
	InSessions  = "sessions"
)

// SearchScopes returns what can be searched.
func SearchScopes() []string { return []string{InArtifacts, InSessions} }

// A SearchResult has the artifacts and sessions that were found, newest first.
type SearchResult struct {
	Matches  []Match        `json:"matches"`
	Sessions []SessionMatch `json:"sessions"`
	More     bool           `json:"more"` // there are more than the limit
}

// A SessionMatch is a session or run that was found, and where.
type SessionMatch struct {
	Session  session.View      `json:"session"`
	Snippets []storage.Snippet `json:"snippets"`
}

// A Match is an artifact that was found, and where.
type Match struct {
	Artifact handoff.Artifact  `json:"artifact"`
	Snippets []storage.Snippet `json:"snippets"`
}

// Search finds artifacts by words, in any case: in titles, summaries, names or
// paths, tags, and the first TextLimit bytes of bodies that are text and have at
// most handoff.KeepLimit bytes. It finds sessions by their names, agents,
// workflows, user summaries, tags and inputs, and by the paths, titles and
// summaries of what they published.
//
// A body is searched as published: from the kept copy, or from the file if its
// digest is unchanged. It is read once, by the first search after its publish;
// an artifact whose body can't be read then is found by its record only. Bodies
// of withdrawn artifacts are not searched.
//
// Kinds: Invalid (no word, an unknown scope, a negative limit), and those of
// reading the log.
func (w *Workspace) Search(ctx context.Context, o SearchOptions) (SearchResult, error) {
	if o.Limit < 0 {
		return SearchResult{}, handoff.E("limit", strconv.Itoa(o.Limit), handoff.Invalid, errors.New("is negative"),
			handoff.Advice("0 shows all"))
	}
	q := sqlindex.Query{Text: o.Text, IncludeInactive: o.IncludeInactive, Limit: o.Limit}
	if q.Limit > 0 {
		q.Limit++ // to know whether there are more
	}
	for _, scope := range o.In {
		if !slices.Contains(SearchScopes(), scope) {
			return SearchResult{}, handoff.E("search", scope, handoff.Invalid, errors.New("unknown scope"),
				handoff.Advice("use artifacts, sessions or threads"))
		}
	}
	if _, err := w.c.Anonymous.Newest(ctx); err != nil { // which brings the index up to the log
		return SearchResult{}, err
	}
	result := SearchResult{Matches: []Match{}, Sessions: []SessionMatch{}}
	var err error
	if len(o.In) == 0 || slices.Contains(o.In, InArtifacts) {
		err = w.searchArtifacts(ctx, q, &result)
	}
	if err == nil && (len(o.In) == 0 || slices.Contains(o.In, InSessions)) {
		err = w.searchSessions(ctx, q, &result)
	}
	return result, err
}

// atLimit returns a list without the one element that exceeds a limit.
func atLimit[T any](list []T, limit int, more *bool) []T {
	if limit > 0 && len(list) == limit {
		*more = true
		return list[:limit-1]
	}
	return list
}

func (w *Workspace) searchSessions(ctx context.Context, q sqlindex.Query, result *SearchResult) error {
	found, err := w.c.Index.SearchSessions(ctx, q)
	if err != nil {
		return err
	}
	found = atLimit(found, q.Limit, &result.More)
	list := make([]handoff.Session, len(found))
	for i, m := range found {
		list[i] = m.Session
	}
	views, err := lifecycle.Views(ctx, w.c.Anonymous, list, lifecycle.ThisObserver(), w.c.Now())
	for i, m := range found {
		result.Sessions = append(result.Sessions, SessionMatch{views[i], sqlindex.Split(m.Snippets)})
	}
	return err
}

func (w *Workspace) searchArtifacts(ctx context.Context, q sqlindex.Query, result *SearchResult) error {
	found, err := w.c.Index.Search(ctx, q, func(a handoff.Artifact) (string, error) {
		return content.Text(ctx, a, w.c.Bodies, w.c.Published, TextLimit), ctx.Err()
	})
	found = atLimit(found, q.Limit, &result.More)
	list := make([]handoff.Artifact, len(found))
	for i, m := range found {
		list[i] = m.Artifact
	}
	w.c.Anonymous.Locate(ctx, list)
	w.attribution(w.threads).Attribute(ctx, list...)
	for i, m := range found {
		result.Matches = append(result.Matches, Match{list[i], sqlindex.Split(m.Snippets)})
	}
	return err
}
