package sqlindex

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/agent-handoff/handoff"
)

// A Query asks for artifacts by words of their texts.
type Query struct {
	// Text is words, each of which must be found, in any field and any case. A
	// word that ends in * is the beginning of one. Nothing else in it has a
	// meaning.
	Text string

	Hidden bool // those that were superseded or withdrawn too
	Limit  int  // 0 for all
}

// A Match is an artifact that a search has found.
type Match struct {
	Artifact handoff.Artifact
	Snippets []Snippet
}

// A Snippet is the part of a field in which words were found. Each of them
// stands between Begin and End.
type Snippet struct {
	Field string // title, summary, name (or path), tags or body
	Text  string
}

// What a found word stands between in a Snippet.
const (
	Begin = "\x02"
	End   = "\x03"
)

// maxWords is how many words of a search are looked at.
const maxWords = 32

var fields = []string{"title", "summary", "name", "tags", "body"}

// insertText sets an artifact's row of texts.
const insertText = `INSERT OR REPLACE INTO texts (rowid, title, summary, name, tags, body) VALUES (?, ?, ?, ?, ?, ?)`

func textOf(a *handoff.ArtifactState, body string) []any {
	p := a.Published
	return []any{int64(a.Record.Seq), p.Title, p.Summary, cmp.Or(p.Name, p.Path), strings.Join(p.Tags, " "), body}
}

// PutText makes an artifact findable by the words of its body too. It lasts as
// long as the index: one that is rebuilt has to be told again. Its kind is
// NotFound.
func (x *Index) PutText(ctx context.Context, id, body string) error {
	never := func(Place) bool { return false }
	return x.write(ctx, never, func(c *conn) error {
		a, err := newStore(ctx, c).Artifact(id)
		if err != nil {
			return err
		}
		if a == nil || a.Published == nil {
			return &handoff.Error{Op: "find artifact", Name: id, Kind: handoff.NotFound}
		}
		return c.exec(ctx, insertText, textOf(a, body)...)
	})
}

// Search returns the artifacts in whose titles, summaries, names, tags and
// bodies all of the words are found, newest first. Its kind is Invalid where
// the text has no word.
func (x *Index) Search(ctx context.Context, q Query) (list []Match, err error) {
	match := expression(q.Text)
	if match == "" {
		return nil, &handoff.Error{Op: "search", Name: q.Text, Kind: handoff.Invalid, Err: errors.New("has no word"), Hint: "name a word of a title, summary, name or tag"}
	}
	err = x.read(ctx, func(c *conn) error {
		s := newStore(ctx, c)
		list = nil
		states, err := s.search(match, q, &list)
		if err != nil {
			return err
		}
		if err := s.prefetchViews(states); err != nil {
			return err
		}
		for i, a := range states {
			if list[i].Artifact, err = handoff.View(s, a); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// search appends what was found to list, and returns whose it is.
func (s *store) search(match string, q Query, list *[]Match) ([]*handoff.ArtifactState, error) {
	query := `SELECT a.id`
	for i := range fields {
		query += `, snippet(texts, ` + string(rune('0'+i)) + `, char(2), char(3), '…', 16)`
	}
	query += ` FROM texts CROSS JOIN artifacts a ON a.seq = texts.rowid WHERE texts MATCH ?`
	if !q.Hidden {
		query += ` AND a.status = 'active'`
	}
	query += ` ORDER BY texts.rowid DESC LIMIT ?`
	limit := q.Limit
	if limit <= 0 {
		limit = -1
	}
	var ids []string
	err := s.load(query, func(rows *sql.Rows) error {
		var id string
		text := make([]string, len(fields))
		if err := rows.Scan(&id, &text[0], &text[1], &text[2], &text[3], &text[4]); err != nil {
			return err
		}
		var m Match
		for i, field := range fields {
			if strings.Contains(text[i], Begin) {
				m.Snippets = append(m.Snippets, Snippet{field, text[i]})
			}
		}
		ids = append(ids, id)
		*list = append(*list, m)
		return nil
	}, match, limit)
	if err != nil {
		return nil, err
	}
	if err := s.loadAll(artifactRow, s.scanArtifact, slices.Clone(ids)); err != nil {
		return nil, err
	}
	states := make([]*handoff.ArtifactState, len(ids))
	for i, id := range ids {
		if states[i], err = s.Artifact(id); err != nil {
			return nil, err
		}
		if states[i] == nil {
			return nil, damaged("artifact %s has texts and no row", id)
		}
	}
	return states, nil
}

// expression returns the full-text expression for words, "" for none. Each is
// quoted, so that no character of it is an operator.
func expression(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	var words []string
	for _, word := range strings.Fields(text) {
		stem := strings.TrimRight(word, "*")
		if !strings.ContainsFunc(stem, isWordRune) {
			continue
		}
		quoted := `"` + stem + `"`
		if stem != word {
			quoted += "*"
		}
		words = append(words, quoted)
	}
	return strings.Join(words[:min(len(words), maxWords)], " ")
}

// isWordRune reports whether a character can be part of a word, as far as the
// tokenizer goes.
func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
