package sqlindex

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// sessionFields are the texts of a session that are searched.
var sessionFields = []string{"name", "workflow", "agent", "summary", "tags", "inputs", "outputs"}

// A SessionMatch is one session that a search found.
type SessionMatch struct {
	Session  handoff.Session
	Snippets []Snippet
}

// toDescribe marks the texts of a session as out of date.
func (k *keeper) toDescribe(id string) error {
	return k.exec(`INSERT OR IGNORE INTO undescribed (id) SELECT id FROM sessions WHERE id = ? AND opened > 0`, id)
}

// indexSessions brings the texts of sessions up to date. As for artifacts, only a
// workspace that is searched has any.
func (x *Index) indexSessions(ctx context.Context) error {
	const batch = 256
	for {
		var ids []string
		err := x.read(ctx, func(c *sqlite.Conn) error {
			ids = nil
			return newStore(ctx, c).load(`SELECT id FROM undescribed LIMIT ?`, func(r *sqlite.Row) error {
				ids = append(ids, r.Text())
				return nil
			}, batch)
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		never := func(Position) bool { return false }
		err = x.write(ctx, never, func(c *sqlite.Conn) error {
			if _, err := position(ctx, c, x.log); err != nil {
				return err
			}
			for _, id := range ids {
				if err := describeSession(ctx, c, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// describeSession stores the texts of one session.
func describeSession(ctx context.Context, c *sqlite.Conn, id string) error {
	st := newStore(ctx, c)
	s, err := st.Session(id)
	if err != nil {
		return err
	}
	if s != nil {
		outputs, err := st.outputTexts(s)
		if err != nil {
			return err
		}
		err = c.Exec(ctx,
			`INSERT OR REPLACE INTO session_texts (rowid, id, name, workflow, agent, summary, tags, inputs, outputs) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			int64(s.Opened), id, plain(s.Name), plain(s.Workflow.Name+" "+s.Workflow.Description),
			plain(s.Agent.Name+" "+s.Agent.Title), plain(s.Summary),
			plain(strings.Join(s.Tags, " ")), plain(inputTexts(s)), plain(outputs))
		if err != nil {
			return err
		}
	}
	return c.Exec(ctx, `DELETE FROM undescribed WHERE id = ?`, id)
}

// inputTexts returns the inputs of a session that are texts.
func inputTexts(s *handoff.Session) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(s.Inputs)) {
		var text string
		if json.Unmarshal(s.Inputs[name], &text) == nil {
			texts = append(texts, name+": "+text)
		}
	}
	return strings.Join(texts, "; ")
}

// outputTexts returns the names, titles and summaries of what a session has
// published and not withdrawn.
func (s *store) outputTexts(of *handoff.Session) (string, error) {
	column := "session"
	if of.Parent != "" {
		column = "run"
	}
	var texts []string
	err := s.load(`SELECT seq, id, record, state, sum, family, coalesce(contest, ''), status FROM artifacts WHERE `+column+
		` = ? AND status = 'active' ORDER BY seq`, func(r *sqlite.Row) error {
		a, err := artifactFrom(r)
		var p handoff.Artifact
		if err == nil {
			p, err = fold.Readable(s, a)
			texts = append(texts, strings.TrimSpace(nameOf(p)+" "+p.Title+" "+p.Summary))
		}
		return err
	}, of.ID)
	return strings.Join(texts, "; "), err
}

// SearchSessions returns the sessions and runs whose texts contain all of the
// words, the one that started last first, among those that IndexSessions has
// indexed. An archived session is left out without IncludeInactive. Its kind is
// Check's.
func (x *Index) SearchSessions(ctx context.Context, q Query) (list []SessionMatch, err error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	err = x.Do(ctx, func(at *Index) error {
		if err := at.indexSessions(ctx); err != nil {
			return err
		}
		list, err = at.searchSessions(ctx, q)
		return err
	})
	return list, err
}

func (x *Index) searchSessions(ctx context.Context, q Query) (list []SessionMatch, err error) {
	query := `SELECT s.id, s.state`
	for i := range sessionFields {
		query += `, snippet(t.session_texts, ` + string(rune('1'+i)) + `, char(2), char(3), '…', 16)` // column 0 is the ID
	}
	// The unary plus prevents a search for each row of the result.
	query += ` FROM session_texts t CROSS JOIN sessions s ON s.id = t.id WHERE t.session_texts MATCH ?1
		AND t.rowid BETWEEN ?2 AND ?3 AND +t.rowid IN (SELECT value FROM json_each(?4))
		ORDER BY s.openedAt DESC, s.opened DESC`
	err = x.read(ctx, func(c *sqlite.Conn) error {
		list = nil
		s := newStore(ctx, c)
		keys, err := s.withWords(q)
		if err != nil || len(keys) == 0 {
			return err
		}
		among, err := encode(keys)
		if err != nil {
			return err
		}
		return s.load(query, func(r *sqlite.Row) error {
			var m SessionMatch
			if err := decode("session "+r.Text(), r.Text(), &m.Session); err != nil {
				return err
			}
			m.Snippets = snippets(r, sessionFields)
			list = append(list, m)
			return nil
		}, expression(q.Text), slices.Min(keys), slices.Max(keys), among)
	})
	return list, err
}

// withWords returns the keys of the texts that q selects, which are the records that opened the
// sessions. Texts are found in the order of the log, from its end, which is nearly that of the starts: a
// few are enough, unless a session before them in the log started later than one of the result.
func (s *store) withWords(q Query) (keys []int64, err error) {
	most := q.Limit
	if most <= 0 {
		most = -1
	}
	for ; ; most *= 8 {
		var found []handoff.SessionOrder
		err := s.load(matching(q.IncludeInactive), func(r *sqlite.Row) error {
			found = append(found, handoff.SessionOrder{Start: r.Integer(), Opened: handoff.Seq(r.Integer())})
			return nil
		}, expression(q.Text), most)
		newest := order.Sort(slices.Clone(found), func(a, b handoff.SessionOrder) int { return b.Compare(a) })
		if q.Limit > 0 {
			newest = newest[:min(q.Limit, len(newest))]
		}
		isEnough := len(found) != most
		if err == nil && !isEnough {
			_, err = s.c.One(s.ctx, startedLater, []any{newest[len(newest)-1].Start, int64(found[most-1].Opened)},
				func(r *sqlite.Row) { isEnough = r.Integer() == 0 })
		}
		if err != nil {
			return nil, err
		}
		if isEnough {
			for _, at := range newest {
				keys = append(keys, int64(at.Opened))
			}
			return keys, nil
		}
	}
}

// matching returns the query for the sessions whose texts have the words, from the end of the log.
func matching(archived bool) string {
	query := `SELECT s.openedAt, s.opened FROM session_texts t CROSS JOIN sessions s INDEXED BY sessions_by_record
		ON s.opened = t.rowid WHERE t.session_texts MATCH ?1`
	if !archived {
		query += ` AND s.archived = 0`
	}
	return query + ` ORDER BY t.rowid DESC LIMIT ?2`
}

// startedLater asks whether a session started after a time although it was opened before a record.
const startedLater = `SELECT EXISTS (SELECT 1 FROM sessions INDEXED BY sessions_by_opened
	WHERE openedAt > ? AND opened < ? AND opened > 0)`

// snippets returns the snippets of a row that contain a match.
func snippets(r *sqlite.Row, fields []string) (list []Snippet) {
	for _, field := range fields {
		if text := r.Text(); strings.Contains(text, Begin) {
			list = append(list, Snippet{field, text})
		}
	}
	return list
}
