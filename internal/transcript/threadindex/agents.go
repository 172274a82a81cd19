package threadindex

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/thread"
)

// parents returns those of the subagents that q selects by provider and time.
func (a answer) parents(ctx context.Context, q Query) (parentOf, error) {
	c, _, err := a.where(ctx, Query{Providers: q.Providers, Since: q.Since, Until: q.Until})
	if err != nil {
		return nil, err
	}
	c.add("t.agent AND t.parent <> '' AND t.self IN (SELECT parent FROM threads WHERE agent)")
	rows, err := a.QueryContext(ctx, "SELECT t.self, t.parent FROM threads t WHERE "+c.String()+
		" ORDER BY t.modified DESC, t.key, t.id", c.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	p := parentOf{}
	for rows.Next() {
		var self, parent string
		if err := rows.Scan(&self, &parent); err != nil {
			return nil, err
		}
		p.add(self, parent)
	}
	return p, rows.Err()
}

// missing returns the usage of a subagent without a transcript.
func missing(a subagent, parents parentOf) ThreadUsage {
	return ThreadUsage{URI: a.uri.String(), Self: a.own.String(), Main: parents.main(a.by), By: a.by, Missing: true,
		Completeness: thread.NoUsage, Reason: "the transcript of a subagent is missing"}
}

// missing returns those of the subagents that were not read, and that no transcript is
// named after.
func (all found) missing(started startedBy, parents parentOf, read []ThreadUsage) (list []ThreadUsage) {
	known := map[string]bool{}
	for _, r := range read {
		known[r.Self] = true
	}
	for _, a := range started.subagents() {
		if u := missing(a, parents); !known[u.Self] && !slices.ContainsFunc(all.stored, func(s *thread.Stored) bool {
			return strings.Contains(filepath.Base(s.Source), a.own.Thread)
		}) {
			list = append(list, u)
		}
	}
	return list
}

// missing returns those of the subagents that are not in the index. Their transcripts
// need not name the thread that started them.
func (a answer) missing(ctx context.Context, started startedBy, parents parentOf) (usage []ThreadUsage,
	err error) {
	for _, agent := range started.subagents() {
		known, err := a.strings(ctx, "SELECT uri FROM threads WHERE uri IN (?, ?, ?) LIMIT 1", agent.uri.String(),
			agent.own.String(), agent.beside)
		if err != nil {
			return nil, err
		}
		if len(known) == 0 {
			usage = append(usage, missing(agent, parents))
		}
	}
	return usage, nil
}
