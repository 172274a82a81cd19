package sessions

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/compare"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/session"
)

// Compare compares two sessions or runs, each named by a ref. If the
// second is only #2, it is an execution of the workflow that the first ref names.
//
// Kinds: NotFound, Conflict (an ambiguous ref), Invalid.
func (s Sessions) Compare(ctx context.Context, before, after string) (session.Comparison, error) {
	if i := strings.LastIndex(before, "#"); i > 0 && strings.HasPrefix(after, "#") {
		after = before[:i] + after
	}
	if before == "" || after == "" {
		return session.Comparison{}, handoff.E("compare sessions", "", handoff.Invalid, errors.New("a session is missing"),
			handoff.Advice("name two sessions, such as WORKFLOW#1 WORKFLOW#2"))
	}
	first, err := s.Resolve(ctx, before)
	if err != nil {
		return session.Comparison{}, err
	}
	second, err := s.Resolve(ctx, after)
	if err != nil {
		return session.Comparison{}, err
	}
	return compare.Sessions(ctx, s.all, first, second, lifecycle.ThisObserver(), s.c.Now())
}

// maxBefore is how many executions that were opened before one are looked at.
const maxBefore = 16

// Previous compares a session with the execution before of the same workflow by the same agent.
// It returns nil if there is none.
//
// Kind: NotFound.
func Previous(ctx context.Context, s Sessions, id string) (*session.Comparison, error) {
	of, err := s.all.Session(ctx, id)
	if err != nil || of.Execution < 2 {
		return nil, err
	}
	name, err := lifecycle.WorkflowPattern("^" + regexp.QuoteMeta(of.Workflow.Name) + "$")
	if err != nil {
		return nil, nil // a name that is longer than a pattern
	}
	page, err := s.c.Hub.Sessions(ctx, handoff.SessionQuery{Agent: of.Agent.Name, Workflow: name, IncludeRuns: true,
		IncludeArchived: true, Until: of.OpenedAt.Add(1), Limit: maxBefore})
	for _, before := range page.Sessions {
		if before.Agent.Name == of.Agent.Name && before.Execution == of.Execution-1 {
			c, err := compare.Sessions(ctx, s.all, before.ID, of.ID, lifecycle.ThisObserver(), s.c.Now())
			return &c, err
		}
	}
	return nil, err
}
