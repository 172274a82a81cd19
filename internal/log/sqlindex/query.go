package sqlindex

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// Artifact implements handoff.Reader.
func (x *Index) Artifact(ctx context.Context, id string) (v handoff.Artifact, err error) {
	queued, err := x.view(ctx, func(c *sqlite.Conn) error {
		s := newStore(ctx, c)
		a, err := s.Artifact(id)
		if err != nil {
			return err
		}
		if a == nil || a.Published == nil {
			return handoff.E("find artifact", id, handoff.NotFound, nil,
				handoff.Suggest("list every artifact", handoff.ActionListAll))
		}
		v, err = fold.View(s, a)
		return err
	})
	markQueued(&v, queued)
	return v, err
}

// Work implements handoff.Reader.
func (x *Index) Work(ctx context.Context, harness, id string) (v handoff.Work, err error) {
	_, err = x.view(ctx, func(c *sqlite.Conn) error {
		w, err := newStore(ctx, c).Work(harness, id)
		if err != nil {
			return err
		}
		if w == nil {
			return handoff.E("find work", id, handoff.NotFound, nil)
		}
		v = *w
		return nil
	})
	return v, err
}

// WorkIn implements handoff.WorkLister.
func (x *Index) WorkIn(ctx context.Context, place string) ([]handoff.Work, error) {
	if place == "" {
		return x.work(ctx, `SELECT id, state FROM works`)
	}
	return x.work(ctx, `SELECT id, state FROM works WHERE session = ?1 UNION SELECT id, state FROM works WHERE run = ?1
		UNION SELECT id, state FROM works WHERE thread = ?1`, place)
}

// WorkUnder implements handoff.WorkLister.
func (x *Index) WorkUnder(ctx context.Context, harness, parent string) ([]handoff.Work, error) {
	return x.work(ctx, `SELECT id, state FROM works WHERE harness = ? AND parent = ?`, harness, parent)
}

func (x *Index) work(ctx context.Context, query string, args ...any) (list []handoff.Work, err error) {
	_, err = x.view(ctx, func(c *sqlite.Conn) error {
		list = nil
		return newStore(ctx, c).load(query, func(r *sqlite.Row) error {
			var w handoff.Work
			err := decode("work "+r.Text(), r.Text(), &w)
			list = append(list, w)
			return err
		}, args...)
	})
	order.Sort(list, fold.CompareWork)
	return list, err
}

// Artifacts implements handoff.Reader.
func (x *Index) Artifacts(ctx context.Context, q handoff.ArtifactQuery) (page handoff.ArtifactPage, err error) {
	before, err := handoff.ParseCursor(q.Cursor)
	if err != nil {
		return page, err
	}
	queued, err := x.view(ctx, func(c *sqlite.Conn) error {
		s := newStore(ctx, c)
		page = handoff.ArtifactPage{Artifacts: []handoff.Artifact{}}
		where, err := selects(s, q)
		if err != nil {
			return err
		}
		if page.HiddenCount, err = hidden(s, q, where); err != nil {
			return err
		}
		more, err := shown(s, q, where, before, func(states []*fold.ArtifactState) error {
			page.Artifacts, err = s.appendViews(page.Artifacts, states)
			return err
		})
		if err != nil {
			return err
		}
		if more {
			page.Cursor = handoff.NewCursor(page.Artifacts[q.Limit-1].Seq)
		}
		return s.load(`SELECT seq FROM damaged ORDER BY seq`, func(r *sqlite.Row) error {
			page.Damaged = append(page.Damaged, handoff.Seq(r.Integer()))
			return nil
		})
	})
	for i := range page.Artifacts {
		markQueued(&page.Artifacts[i], queued)
	}
	return page, err
}

// selects returns the clause for q without status and paging.
func selects(s *store, q handoff.ArtifactQuery) (clause, error) {
	w := clause{from: "artifacts a"}.after(q.After)
	w = w.equal("channel", q.Channel).equal("kind", q.Kind).equal("name", q.Name)
	w = w.equal("namespace", q.Namespace).equal("key", q.Key).revision(q)
	for _, slot := range slices.Sorted(maps.Keys(q.Producer)) {
		w = w.slot(slot, q.Producer[slot])
	}
	if q.Named {
		w = w.and("a.name IS NOT NULL")
	}
	if q.Tag != "" {
		w = w.label(tagSpace, q.Tag)
	}
	if q.Parent != "" {
		w = w.label(parentSpace, q.Parent)
	}
	if q.Label != "" {
		w = w.label(labelSpace, q.Label)
	}
	if q.Stale {
		w = w.label(staleSpace, "true")
	}
	if q.Discussed {
		w = w.label(discussedSpace, "true")
	}
	if q.Claimed {
		w = w.label(claimedSpace, "true")
	}
	if q.Competing {
		w.narrow = true
		w = w.and("+a.status = 'active' AND (a.family IN (SELECT family FROM contested) OR " +
			"a.contest IN (SELECT family FROM contested) OR a.seq IN (SELECT seq FROM labels WHERE space = '" +
			rivalSpace + "'))")
	}
	w.times = !w.ranged && !w.narrow && (!q.Since.IsZero() || !q.Until.IsZero())
	if !q.Since.IsZero() {
		w = w.and("a.created >= ?", instant(q.Since))
	}
	if !q.Until.IsZero() {
		w = w.and("a.created < ?", instant(q.Until))
	}
	if q.Family != "" {
		w = w.and("a.family = (SELECT family FROM artifacts WHERE id = ?)", q.Family)
		w.equals = true
	}
	w, err := w.lists(s, q)
	if err != nil {
		return w, err
	}
	return w.byID(s, q)
}

// byID selects artifacts by a part of their ID, and by that of a comment.
func (w clause) byID(s *store, q handoff.ArtifactQuery) (clause, error) {
	if q.Comment != "" {
		id, err := s.Pointer(fold.CommentSpace, q.Comment)
		if err != nil {
			return w, err
		}
		w.narrow, w.times = true, false
		w = w.and("a.id = ?", id)
	}
	if q.IDSuffix != "" {
		w = w.suffix(q.IDSuffix)
	}
	if q.IDPrefix == "" {
		return w, nil
	}
	w.narrow, w.times = true, false
	a, err := s.Artifact(q.IDPrefix)
	if err != nil {
		return w, err
	}
	if a != nil && a.Published != nil {
		return w.and("a.id = ?", q.IDPrefix), nil
	}
	return w.and("a.id >= ? AND a.id < ?", q.IDPrefix, q.IDPrefix+last), nil
}

// hidden counts the artifacts that q leaves out because of their status.
func hidden(s *store, q handoff.ArtifactQuery, w clause) (int, error) {
	if q.Status != "" || q.IncludeInactive {
		return 0, nil
	}
	var n int64
	count := func(r *sqlite.Row) { n = r.Integer() }
	among := "IN ('" + string(handoff.Superseded) + "', '" + string(handoff.Withdrawn) + "')"
	total := "SELECT coalesce(sum(n), 0) FROM totals WHERE status " + among
	switch {
	case len(w.terms) == 0:
		_, err := s.c.One(s.ctx, total, nil, count)
		return int(n), err
	case len(w.terms) == 1 && q.Channel != "":
		_, err := s.c.One(s.ctx, total+" AND channel = ?", []any{q.Channel}, count)
		return int(n), err
	}
	w = w.status(among)
	few := fmt.Sprintf("SELECT count(*) FROM (SELECT 1%s LIMIT %d)", w, handoff.MaxHidden)
	_, err := s.c.One(s.ctx, few, w.args, count)
	return int(n), err
}

// portion is how many artifacts are loaded before what their views need is. That is beside
// them, in pages that are still in the cache. Tests change it.
var portion = 1024

// shown calls use with the artifacts that q selects, newest first, in portions, and
// reports whether there are more.
func shown(s *store, q handoff.ArtifactQuery, w clause, before handoff.Seq,
	use func([]*fold.ArtifactState) error) (more bool, err error) {
	var list []*fold.ArtifactState
	n := 0
	query, args := showing(q, w, before)
	err = s.load(query, func(r *sqlite.Row) error {
		if more = q.Limit > 0 && n == q.Limit; more {
			return nil
		}
		a, err := artifactFrom(r)
		if err != nil {
			return err
		}
		s.artifacts[a.ID] = a
		n++
		if list = append(list, a); len(list) == portion {
			err, list = use(list), list[:0]
		}
		return err
	}, args...)
	if err != nil {
		return more, err
	}
	return more, use(list)
}

// statuses are those of artifacts, apart in the indexes of columns.
var statuses = []handoff.Status{handoff.Active, handoff.Superseded, handoff.Withdrawn}

// showing returns the query of shown. It finds positions in the indexes first,
// and then reads only the rows of the result.
func showing(q handoff.ArtifactQuery, w clause, before handoff.Seq) (string, []any) {
	one := w.equals && len(w.terms) == 1
	if before != 0 {
		w = w.also(w.key()+" < ?", int64(before))
	}
	var places string
	var args []any
	switch {
	case q.Status != "" || !q.IncludeInactive:
		places, args = placed(w.status("= ?", string(cmp.Or(q.Status, handoff.Active))), q.Limit)
	case q.Limit > 0 && one:
		// The index of the column is in log order for each status.
		var parts []string
		for _, status := range statuses {
			part, more := placed(w.status("= ?", string(status)), q.Limit)
			parts, args = append(parts, "SELECT * FROM ("+part+")"), append(args, more...)
		}
		places, args = strings.Join(parts, " UNION ALL ")+" ORDER BY 1 DESC LIMIT ?", append(args, q.Limit+1)
	default:
		places, args = placed(w, q.Limit)
	}
	return "SELECT seq, id, record, state, sum, family, coalesce(contest, ''), status FROM artifacts WHERE seq IN (" +
		places + ") ORDER BY seq DESC", args
}

// Session implements handoff.Reader.
func (x *Index) Session(ctx context.Context, id string) (v handoff.Session, err error) {
	_, err = x.view(ctx, func(c *sqlite.Conn) error {
		found, err := newStore(ctx, c).Session(id)
		if err != nil {
			return err
		}
		if found == nil {
			return handoff.E("find session", id, handoff.NotFound, nil,
				handoff.Suggest("list the sessions", handoff.ActionSessions))
		}
		v = *found
		return nil
	})
	return v, err
}

// Sessions implements handoff.Reader.
func (x *Index) Sessions(ctx context.Context, q handoff.SessionQuery) (page handoff.SessionPage, err error) {
	after, err := handoff.ParseSessionCursor(q.Cursor)
	if err != nil {
		return page, err
	}
	_, err = x.view(ctx, func(c *sqlite.Conn) error {
		s := newStore(ctx, c)
		query, args, err := showingSessions(s, q, after)
		if err != nil {
			return err
		}
		page = handoff.SessionPage{Sessions: []handoff.Session{}}
		return s.load(query, func(r *sqlite.Row) error {
			id, state := r.Text(), r.Text()
			var v handoff.Session
			if err := decode("session "+id, state, &v); err != nil {
				return err
			}
			page.Sessions = append(page.Sessions, v)
			return nil
		}, args...)
	})
	if q.Limit > 0 && len(page.Sessions) > q.Limit {
		page.Sessions = page.Sessions[:q.Limit]
		page.Cursor = page.Sessions[q.Limit-1].Order().Cursor()
	}
	return page, err
}

// showingSessions returns the query of Sessions: newest first, with one row more
// than the limit if there are more.
func showingSessions(s *store, q handoff.SessionQuery, after handoff.SessionOrder) (string, []any, error) {
	w := selectsSessions(q, after)
	if q.IDs != nil {
		ids, err := encode(q.IDs)
		if err != nil {
			return "", nil, err
		}
		w = w.and("a.id IN (SELECT value FROM json_each(?))", ids)
	}
	if q.Workflow != nil {
		names, err := s.fitting(everyWorkflow, q.Workflow.MatchString)
		if err != nil {
			return "", nil, err
		}
		w = w.and("a.workflow IN (SELECT value FROM json_each(?))", names)
	}
	if q.HasKind != nil {
		kinds, err := s.fitting(everyKind, q.HasKind)
		if err != nil {
			return "", nil, err
		}
		w = w.and("json_array_length(?) > 0 AND ("+madeIn("session")+" OR "+madeIn("run")+")", kinds, kinds, kinds)
	}
	found := "SELECT a.id, a.openedAt, a.opened" + w.String() + " ORDER BY a.openedAt DESC, a.opened DESC"
	if q.Limit > 0 {
		found, w.args = found+" LIMIT ?", append(w.args, q.Limit+1)
	}
	return "SELECT s.id, s.state FROM (" + found +
		") found CROSS JOIN sessions s ON s.id = found.id ORDER BY found.openedAt DESC, found.opened DESC", w.args, nil
}

// madeIn selects sessions by the kinds of their artifacts, whose producers name
// the session in the given column.
func madeIn(column string) string {
	return "EXISTS (SELECT 1 FROM artifacts x WHERE x." + column +
		" = a.id AND x.status = 'active' AND coalesce(x.kind, '') IN (SELECT value FROM json_each(?)))"
}

// everyWorkflow selects the distinct names of workflows, and everyKind the
// distinct kinds of artifacts with "" for none. They step through an index from
// one value to the next, because there are few.
const everyWorkflow = `WITH RECURSIVE known (name) AS (SELECT min(workflow) FROM sessions
	UNION ALL SELECT (SELECT min(workflow) FROM sessions WHERE workflow > known.name) FROM known WHERE known.name IS NOT NULL)
	SELECT name FROM known WHERE name IS NOT NULL`

const everyKind = `WITH RECURSIVE known (kind) AS (SELECT min(kind) FROM artifacts WHERE kind IS NOT NULL
	UNION ALL SELECT (SELECT min(kind) FROM artifacts WHERE kind > known.kind) FROM known WHERE known.kind IS NOT NULL)
	SELECT kind FROM known WHERE kind IS NOT NULL UNION ALL SELECT ''`

// fitting returns the values of a query for which fits is true, as a JSON list:
// SQL has no regular expressions.
func (s *store) fitting(query string, fits func(string) bool) (string, error) {
	words := []string{}
	err := s.load(query, func(r *sqlite.Row) error {
		if word := r.Text(); fits(word) {
			words = append(words, word)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return encode(words)
}

// last sorts after every character.
const last = "\xff"

func selectsSessions(q handoff.SessionQuery, after handoff.SessionOrder) clause {
	w := clause{from: "sessions a"}.also("a.opened > 0").equal("status", q.Status).equal("parent", q.Parent).
		equal("agent", q.Agent).equal("user", q.User).equal("boot", q.BootID)
	if q.Parent == "" && !q.IncludeRuns {
		w = w.and("a.parent = ''")
	}
	if q.IDPrefix != "" {
		w = w.and("a.id >= ? AND a.id < ?", q.IDPrefix, q.IDPrefix+last)
	}
	if q.Tag != "" {
		w = w.and("a.id IN (SELECT id FROM session_tags WHERE tag = ?)", q.Tag)
	}
	if q.LinksTo != "" {
		w = w.and("a.id IN (SELECT id FROM session_links WHERE target = ?)", q.LinksTo)
	}
	if !q.IncludeArchived {
		w = w.and("a.archived = 0")
	}
	if !q.Since.IsZero() {
		w = w.and("a.openedAt >= ?", instant(q.Since))
	}
	if !q.Until.IsZero() {
		w = w.and("a.openedAt < ?", instant(q.Until))
	}
	if q.Cursor != "" {
		w = w.and("(a.openedAt, a.opened) < (?, ?)", after.Start, int64(after.Opened))
	}
	return w
}
