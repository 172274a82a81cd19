package sqlindex

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// TestPlans checks that every filter is answered from an index of its own, and
// no list by looking at every artifact.
func TestPlans(t *testing.T) {
	x, err := Open(t.Context(), filepath.Join(t.TempDir(), "index.db"), "log1")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, tt := range []struct {
		name, index string
		query       handoff.ArtifactQuery
	}{
		{"all", "by_status", handoff.ArtifactQuery{}},
		{"channel", "by_channel", handoff.ArtifactQuery{Channel: "v"}},
		{"kind", "by_kind", handoff.ArtifactQuery{Kind: "v"}},
		{"name", "by_name", handoff.ArtifactQuery{Name: "v"}},
		{"namespace", "by_namespace", handoff.ArtifactQuery{Namespace: "v"}},
		{"key", "by_key", handoff.ArtifactQuery{Key: "v"}},
		{"tag", "l USING ", handoff.ArtifactQuery{Tag: "v"}},
		{"parent", "l USING ", handoff.ArtifactQuery{Parent: "v"}},
		{"since", "by_created", handoff.ArtifactQuery{Since: time.Unix(1, 0)}},
		{"until", "by_created", handoff.ArtifactQuery{Until: time.Unix(1, 0)}},
		{"prefix", "by_id", handoff.ArtifactQuery{IDPrefix: "art_"}},
		{"suffix", "by_suffix", handoff.ArtifactQuery{IDSuffix: "123456"}},
		{"long suffix", "by_suffix", handoff.ArtifactQuery{IDSuffix: "1234567", Channel: "v", IncludeInactive: true}},
		{"paths", "by_path", handoff.ArtifactQuery{Paths: []string{"v", "w"}}},
		{"path of a channel", "by_path (path=? AND status=?",
			handoff.ArtifactQuery{Channel: "v", Paths: []string{"v"}, Status: handoff.Active}},
		{"paths and since", "by_path", handoff.ArtifactQuery{Paths: []string{"v"}, Since: time.Unix(1, 0)}},
		{"IDs", "a USING ", handoff.ArtifactQuery{IDs: []string{"v", "w"}, IncludeInactive: true}},
		{"any parent", "a USING INTEGER PRIMARY KEY",
			handoff.ArtifactQuery{AnyParent: []string{"v", "w"}, IncludeInactive: true}},
		{"label", "l USING ", handoff.ArtifactQuery{Label: "v", Channel: "v", IncludeInactive: true}},
		{"used by", "users USING PRIMARY KEY (user=?)", handoff.ArtifactQuery{UsedBy: "v"}},
		{"competing", "by_family", handoff.ArtifactQuery{Competing: true}},
		{"stale", "l USING ", handoff.ArtifactQuery{Stale: true}},
		{"claimed", "l USING ", handoff.ArtifactQuery{Claimed: true}},
		{"revision of a channel", "by_revision", handoff.ArtifactQuery{Channel: "v", Revision: 2, IncludeInactive: true}},
		{"revision of a family", "by_family", handoff.ArtifactQuery{Family: "v", Revision: 2, IncludeInactive: true}},
		{"revision of a name", "a USING ", handoff.ArtifactQuery{
			Namespace: "v", Name: "v", Revision: 2, IncludeInactive: true}},
		{"family", "by_family", handoff.ArtifactQuery{Family: "v"}},
		{"session", "by_session", slot("session")},
		{"run", "by_run", slot("run")},
		{"operation", "by_operation", slot("operation")},
		{"task", "by_task", slot("task")},
		{"work", "by_work", slot("work")},
		{"parent-work", "by_parent_work", slot("parent-work")},
		{"agent", "by_agent", slot("agent")},
		{"harness", "by_harness", slot("harness")},
		{"thread", "by_thread", slot("thread")},
		{"tool-call", "l USING ", slot("tool-call")},
		{"turn", "l USING ", slot("turn")},
		{"tag and channel", "l USING ", handoff.ArtifactQuery{Tag: "v", Channel: "v"}},
		{"channel and since", "by_channel", handoff.ArtifactQuery{Channel: "v", Since: time.Unix(1, 0)}},
		{"after", "a USING INTEGER PRIMARY KEY (rowid>?", handoff.ArtifactQuery{After: 9}},
		{"after, by much else", "a USING INTEGER PRIMARY KEY (rowid>?",
			handoff.ArtifactQuery{After: 9, Channel: "v", Tag: "v", Family: "v", Since: time.Unix(1, 0)}},
	} {
		for _, q := range []handoff.ArtifactQuery{tt.query, withLimit(tt.query)} {
			plan := planOf(t, x, q)
			if !strings.Contains(plan, tt.index) || strings.Contains(plan, "SCAN a") {
				t.Errorf("%s: the plan does not use %s:\n%s", tt.name, tt.index, plan)
			}
		}
	}
}

func slot(name string) handoff.ArtifactQuery {
	return handoff.ArtifactQuery{Producer: map[string]string{name: "v"}}
}

func withLimit(q handoff.ArtifactQuery) handoff.ArtifactQuery {
	q.Limit, q.Cursor = 50, handoff.NewCursor(1000)
	return q
}

// TestSessionPlans checks that sessions come newest first from an index, and
// that what they made is looked up one session at a time.
func TestSessionPlans(t *testing.T) {
	x, err := Open(t.Context(), filepath.Join(t.TempDir(), "index.db"), "log1")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	every := func(string) bool { return true }
	for _, tt := range []struct {
		query   handoff.SessionQuery
		indexes []string
	}{
		{handoff.SessionQuery{Limit: 1}, []string{"a USING COVERING INDEX sessions_by_"}},
		{handoff.SessionQuery{Limit: 1, Cursor: handoff.SessionOrder{Start: 1, Opened: 9}.Cursor()},
			[]string{"a USING COVERING INDEX sessions_by_"}},
		{handoff.SessionQuery{IncludeRuns: true, Agent: "v", Status: "v", HasKind: every, Limit: 1},
			[]string{"a USING COVERING INDEX sessions_by_", "x USING INDEX by_session", "x USING INDEX by_run"}},
		{handoff.SessionQuery{IncludeRuns: true, IncludeArchived: true, BootID: "v"},
			[]string{"a USING COVERING INDEX sessions_by_boot"}},
	} {
		plan := explain(t, x, func(s *store) (string, []any, error) {
			after, err := handoff.ParseSessionCursor(tt.query.Cursor)
			if err != nil {
				return "", nil, err
			}
			return showingSessions(s, tt.query, after)
		})
		for _, index := range tt.indexes {
			if !strings.Contains(plan, index) || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%+v: the plan does not use %s:\n%s", tt.query, index, plan)
			}
		}
	}
}

// TestSearchPlans checks that a search of sessions reads the texts that match from the end of the log, and
// for each a row of an index: it looks at no other session.
func TestSearchPlans(t *testing.T) {
	x, err := Open(t.Context(), filepath.Join(t.TempDir(), "index.db"), "log1")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, archived := range []bool{false, true} {
		plan := explain(t, x, func(*store) (string, []any, error) { return matching(archived), []any{`"v"`, 31}, nil })
		if !strings.HasPrefix(plan, "SCAN t VIRTUAL TABLE") || strings.Contains(plan, "SCAN s") ||
			!strings.Contains(plan, "s USING COVERING INDEX sessions_by_record (opened=?") ||
			strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("archived %t: the plan reads other sessions, or sorts:\n%s", archived, plan)
		}
	}
	plan := explain(t, x, func(*store) (string, []any, error) { return startedLater, []any{1, 2}, nil })
	if !strings.Contains(plan, "USING COVERING INDEX sessions_by_opened (openedAt>?") {
		t.Errorf("the plan reads sessions that started earlier:\n%s", plan)
	}
}

func planOf(t *testing.T, x *Index, q handoff.ArtifactQuery) string {
	t.Helper()
	return explain(t, x, func(s *store) (string, []any, error) {
		w, err := selects(s, q)
		if err != nil {
			return "", nil, err
		}
		before, err := handoff.ParseCursor(q.Cursor)
		query, args := showing(q, w, before)
		return query, args, err
	})
}

func explain(t *testing.T, x *Index, showing func(*store) (string, []any, error)) string {
	t.Helper()
	var plan []string
	err := x.read(t.Context(), func(c *sqlite.Conn) error {
		query, args, err := showing(newStore(t.Context(), c))
		if err != nil {
			return err
		}
		for rows, err := range c.Each(t.Context(), "EXPLAIN QUERY PLAN "+query, args...) {
			if err != nil {
				return err
			}
			plan = append(plan, rows.Value(3).(string))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "\n")
}

// TestProductionPlans checks that productions read an index and no row of artifacts.
func TestProductionPlans(t *testing.T) {
	x, err := Open(t.Context(), filepath.Join(t.TempDir(), "index.db"), "log1")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, by := range []string{"''", "channel", "revision IS NOT NULL", "created / 86400000000000"} {
		for _, query := range []string{
			producing("by_producer", "NULL, NULL", "thread IS NOT NULL AND", "thread", by),
			producing("by_producer", "work, harness", "thread IS NULL AND", unnamed, by),
			producing("by_producer", "work, harness", "thread IS NOT NULL AND", "thread, work, harness", by),
		} {
			plan := explain(t, x, func(*store) (string, []any, error) { return query, []any{"[1]", 0, 1}, nil })
			if !strings.Contains(plan, "COVERING INDEX by_producer") || by == "''" && strings.Contains(plan, "TEMP") {
				t.Errorf("%s: the plan does not use by_producer alone, or sorts:\n%s", query, plan)
			}
		}
	}
	for _, where := range []string{"thread IS NOT NULL AND", "thread IS NULL AND"} {
		plan := explain(t, x, func(*store) (string, []any, error) {
			return eachProduced("by_producer", where), []any{"[1]", 0, 1}, nil
		})
		if !strings.Contains(plan, "COVERING INDEX by_producer") || strings.Contains(plan, "TEMP") {
			t.Errorf("%s: the plan does not use by_producer alone, or sorts:\n%s", where, plan)
		}
	}
}
