package workspace

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
)

// A Group has the artifacts of a list that have the same agent, task or session.
type Group struct {
	Key       string // "" for those without one
	Name      string // of a session
	Artifacts []handoff.Artifact
}

// groupings are what Grouped can group by, with the fields of a producer that decide.
var groupings = map[string]func(handoff.Producer) string{
	"agent":   func(p handoff.Producer) string { return cmp.Or(p.Agent, p.Harness) },
	"task":    func(p handoff.Producer) string { return p.Slot("task") },
	"session": func(p handoff.Producer) string { return cmp.Or(p.Session, p.RunID) },
}

// Grouped groups artifacts of w by agent, task or session. The groups are in the order of
// their first artifacts, those without a key last.
//
// Kind: Invalid (by), and those of reading the log.
func Grouped(ctx context.Context, w *Workspace, by string, list []handoff.Artifact) ([]Group, error) {
	key, ok := groupings[by]
	if !ok {
		return nil, handoff.E("list", by, handoff.Invalid, errors.New("unknown group"),
			handoff.Advice("group by agent, task or session"))
	}
	var groups []Group
	for _, a := range list {
		k := key(a.Producer)
		i := slices.IndexFunc(groups, func(g Group) bool { return g.Key == k })
		if i < 0 {
			g := Group{Key: k}
			if by == "session" && k != "" {
				s, err := w.sessions.Session(ctx, k)
				if err != nil && !errors.Is(err, handoff.NotFound) {
					return nil, err
				}
				g.Name = cmp.Or(s.Name, s.Title, strings.Trim(s.Agent.Name+": "+s.Workflow.Name, ": "))
			}
			i, groups = len(groups), append(groups, g)
		}
		groups[i].Artifacts = append(groups[i].Artifacts, a)
	}
	slices.SortStableFunc(groups, func(a, b Group) int {
		return cmp.Compare(min(1, len(b.Key)), min(1, len(a.Key)))
	})
	return groups, nil
}
