package sessions

import (
	"context"
	"errors"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/internal/session/compare"
)

// A Comparison has two sessions side by side: their outputs, inputs and durations.
type Comparison = compare.Comparison

// A ComparedOutput identifies the content of an output in a Comparison.
type ComparedOutput = compare.Digest

// Same is the change of an output or input of a Comparison that is equal in both
// sessions.
const Same = compare.Same

// Compare compares two sessions or runs, each named by a ref. If the
// second is only #2, it is an execution of the workflow that the first ref names.
//
// Kinds: NotFound, Conflict (an ambiguous ref), Invalid.
func (s Sessions) Compare(ctx context.Context, before, after string) (Comparison, error) {
	if i := strings.LastIndex(before, "#"); i > 0 && strings.HasPrefix(after, "#") {
		after = before[:i] + after
	}
	if before == "" || after == "" {
		return Comparison{}, handoff.E("compare sessions", "", handoff.Invalid, errors.New("a session is missing"),
			handoff.Advice("name two sessions, such as WORKFLOW#1 WORKFLOW#2"))
	}
	first, err := s.Resolve(ctx, before)
	if err != nil {
		return Comparison{}, err
	}
	second, err := s.Resolve(ctx, after)
	if err != nil {
		return Comparison{}, err
	}
	return compare.Sessions(ctx, s.o.Sessions, first, second, session.ThisObserver(), s.o.Now())
}
