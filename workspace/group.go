package workspace

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/workspace/news"
)

// A Group has the artifacts of a list that have the same agent, task or session.
type Group struct {
	Key       string // "" for those without one
	Name      string // of a session
	Artifacts []handoff.Artifact
}

// Grouped groups artifacts by agent, task or session. The groups are in the order of
// their first artifacts, those without a key last.
//
// Kind: Invalid (by), and those of reading the log.
func (w *Workspace) Grouped(ctx context.Context, by string, list []handoff.Artifact) ([]Group, error) {
	key, err := news.Grouping(by)
	if err != nil {
		return nil, err
	}
	var groups []Group
	for _, a := range list {
		k := key(a.PublishedBy())
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
	order.Sort(groups, func(a, b Group) int {
		return cmp.Compare(min(1, len(b.Key)), min(1, len(a.Key)))
	})
	return groups, nil
}
