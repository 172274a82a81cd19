package sqlindex

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
	"github.com/agent-handoff/handoff/internal/tool/words"
	"github.com/agent-handoff/handoff/storage"
)

// A Query selects artifacts or sessions by words of their texts.
type Query struct {
	// Text is a list of words, each of which must be found, in any field and
	// any case. A word that ends in * is a prefix. There are no other operators.
	Text string

	IncludeInactive bool // also superseded and withdrawn artifacts, and archived sessions
	Limit           int  // 0 for all
}

// Check returns an error of kind Invalid if the text has no word, or too many.
func (q Query) Check() error {
	if err := words.Check(len(terms(q.Text))); err != nil {
		return handoff.E("search", strconv.Quote(q.Text), handoff.Invalid, err,
			handoff.Advice("search for a few words of a title, summary, name, tag or body"))
	}
	return nil
}

// A Match is one result of a search.
type Match struct {
	Artifact handoff.Artifact
	Snippets []Snippet
}

// A Snippet is the part of a field that contains words of the query. Each word
// is enclosed in Begin and End.
type Snippet struct {
	Field string // title, summary, name (or path), tags or body; of sessions, one of their own
	Text  string
}

// The marks around a matched word in a Snippet.
const (
	Begin = "\x02"
	End   = "\x03"
)

// Split returns snippets in pieces.
func Split(list []Snippet) []storage.Snippet {
	split := make([]storage.Snippet, len(list))
	for i, s := range list {
		pieces := strings.Split(strings.ReplaceAll(s.Text, End, Begin), Begin)
		split[i] = storage.Snippet{Field: s.Field, Text: strings.Join(pieces, ""), Pieces: pieces}
	}
	return split
}

var fields = []string{"title", "summary", "name", "tags", "body"}

// Search returns the artifacts whose titles, summaries, names, tags and bodies
// contain all of the words, newest first, among those that IndexText has
// indexed. Its kind is Check's.
func (x *Index) Search(ctx context.Context, q Query) (list []Match, err error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	err = x.read(ctx, func(c *sqlite.Conn) error {
		s := newStore(ctx, c)
		list = nil
		states, err := s.search(q, &list)
		if err != nil {
			return err
		}
		if err := s.prefetchViews(states); err != nil {
			return err
		}
		for i, a := range states {
			if list[i].Artifact, err = fold.View(s, a); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// search appends the matches to list, and returns their artifacts.
func (s *store) search(q Query, list *[]Match) ([]*fold.ArtifactState, error) {
	query := `SELECT a.id`
	for i := range fields {
		query += `, snippet(texts, ` + string(rune('0'+i)) + `, char(2), char(3), '…', 16)`
	}
	query += ` FROM texts CROSS JOIN artifacts a ON a.seq = texts.rowid WHERE texts MATCH ?`
	if !q.IncludeInactive {
		query += ` AND a.status = 'active'`
	}
	query += ` ORDER BY texts.rowid DESC LIMIT ?`
	limit := q.Limit
	if limit <= 0 {
		limit = -1
	}
	var ids []string
	err := s.load(query, func(r *sqlite.Row) error {
		ids = append(ids, r.Text())
		var m Match
		m.Snippets = snippets(r, fields)
		*list = append(*list, m)
		return nil
	}, expression(q.Text), limit)
	if err != nil {
		return nil, err
	}
	if err := s.loadAll(artifactRow, s.scanArtifact, slices.Clone(ids)); err != nil {
		return nil, err
	}
	states := make([]*fold.ArtifactState, len(ids))
	for i, id := range ids {
		if states[i], err = s.Artifact(id); err != nil {
			return nil, err
		}
		if states[i] == nil {
			return nil, damaged("artifact %s has texts but no row", id)
		}
	}
	return states, nil
}

// expression returns the full-text expression for words.
func expression(text string) string { return strings.Join(terms(text), " ") }

// terms returns the words of a query. Each is quoted, so none of its characters is an
// operator.
func terms(text string) (list []string) {
	for _, word := range strings.Fields(strings.ReplaceAll(plain(text), `"`, " ")) {
		stem := strings.TrimRight(word, "*")
		if !strings.ContainsFunc(stem, isWordRune) {
			continue
		}
		quoted := `"` + stem + `"`
		if stem != word {
			quoted += "*"
		}
		list = append(list, quoted)
	}
	return list
}

// plain returns a text without control characters, among them the marks of a
// Snippet.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
}

// isWordRune reports whether the tokenizer can take a character as part of a
// word.
func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
