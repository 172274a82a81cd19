package sessions

import (
	"context"
	"errors"
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
	return compare.Sessions(ctx, s.o.Sessions, first, second, lifecycle.ThisObserver(), s.o.Now())
}
