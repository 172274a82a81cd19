package workspace

import (
	"context"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/content"
	"github.com/agent-handoff/handoff/internal/sqlindex"
)

// TextLimit is how many bytes of a body are searched, from its beginning.
const TextLimit = 64 << 10

// SearchOptions are what to search for.
type SearchOptions struct {
	Text            string // words that must all be found; a trailing * matches any ending
	IncludeInactive bool   // superseded and withdrawn artifacts too
	Limit           int    // at most so many; 0 for all
}

// A SearchResult has the artifacts that were found, newest first.
type SearchResult struct {
	Matches []Match `json:"matches"`
	More    bool    `json:"more"` // there are more than the limit
}

// A Match is an artifact that was found, and where.
type Match struct {
	Artifact handoff.Artifact `json:"artifact"`
	Snippets []Snippet        `json:"snippets"`
}

// A Snippet is the part of a field that words were found in. Joined, its pieces
// are its text; every second piece was found.
type Snippet struct {
	Field  string   `json:"field"` // title, summary, name, tags or body
	Text   string   `json:"text"`
	Pieces []string `json:"pieces"`
}

// Search finds artifacts by words, in any case: in titles, summaries, names or
// paths, tags, and the first TextLimit bytes of bodies that are text and have at
// most handoff.KeepLimit bytes.
//
// A body is searched as published: from the kept copy, or from the file if its
// digest is unchanged. It is read once, by the first search after its publish;
// an artifact whose body can't be read then is found by its record only. Bodies
// of withdrawn artifacts are not searched.
//
// Kinds: Invalid (no word, a negative limit), and those of reading the log.
func (w *Workspace) Search(ctx context.Context, o SearchOptions) (SearchResult, error) {
	if o.Limit < 0 {
		return SearchResult{}, invalid("limit", strconv.Itoa(o.Limit), "is negative", "0 shows all")
	}
	q := sqlindex.Query{Text: o.Text, IncludeInactive: o.IncludeInactive, Limit: o.Limit}
	if q.Limit > 0 {
		q.Limit++ // to know whether there are more
	}
	if _, err := w.hub.Newest(ctx); err != nil { // which brings the index up to the log
		return SearchResult{}, err
	}
	found, err := w.index.Search(ctx, q, func(a handoff.Artifact) (string, error) {
		return content.Text(ctx, a, w.bodies, w.published, TextLimit), ctx.Err()
	})
	if err != nil {
		return SearchResult{}, err
	}
	result := SearchResult{Matches: []Match{}}
	if o.Limit > 0 && len(found) > o.Limit {
		found, result.More = found[:o.Limit], true
	}
	for _, m := range found {
		one := []handoff.Artifact{m.Artifact}
		w.hub.Locate(ctx, one)
		match := Match{one[0], []Snippet{}}
		for _, s := range m.Snippets {
			pieces := strings.Split(strings.ReplaceAll(s.Text, sqlindex.End, sqlindex.Begin), sqlindex.Begin)
			match.Snippets = append(match.Snippets, Snippet{s.Field, strings.Join(pieces, ""), pieces})
		}
		result.Matches = append(result.Matches, match)
	}
	return result, nil
}
