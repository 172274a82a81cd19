package cost_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/trace/cost"
)

// units are an index of work. It counts the work that it returned.
type units struct {
	list []handoff.Work
	read int
}

func (u *units) Work(_ context.Context, harness, id string) (handoff.Work, error) {
	list := u.all(func(w handoff.Work) bool { return w.Harness == harness && w.ID == id })
	if len(list) == 0 {
		return handoff.Work{}, handoff.E("find work", id, handoff.NotFound, nil)
	}
	return list[0], nil
}

func (u *units) WorkIn(_ context.Context, place string) ([]handoff.Work, error) {
	return u.all(func(w handoff.Work) bool { return place == "" || w.Thread == place }), nil
}

func (u *units) WorkUnder(_ context.Context, harness, parent string) ([]handoff.Work, error) {
	return u.all(func(w handoff.Work) bool { return w.Harness == harness && w.Parent == parent }), nil
}

func (u *units) all(selects func(handoff.Work) bool) []handoff.Work {
	list := slices.DeleteFunc(slices.Clone(u.list), func(w handoff.Work) bool { return !selects(w) })
	u.read += len(list)
	return list
}

// TestPartOf has much work inside other work: all of it counts, no other, and no other is read.
func TestPartOf(t *testing.T) {
	const thread = "agents://codex/t"
	u := &units{list: []handoff.Work{{Harness: "flue", ID: "0", Parent: "1000"}, {Harness: "flue", ID: "other"},
		{Harness: "pi", ID: "1"}, {Harness: "codex", ID: "c", Thread: thread}, {Harness: "codex", ID: "d", Parent: "c"}}}
	for i := range 1000 {
		u.list = append(u.list, handoff.Work{Harness: "flue", ID: fmt.Sprint(i + 1), Parent: fmt.Sprint(i)})
	}
	for _, tt := range []struct {
		p    handoff.Producer
		uris []string
		want int
	}{
		{handoff.Producer{Harness: "flue", WorkID: "0"}, nil, 1001},
		{handoff.Producer{Harness: "flue", WorkID: "none"}, nil, 0},
		{handoff.Producer{Harness: "codex"}, []string{thread}, 2},
		{handoff.Producer{Harness: "flue", WorkID: "other"}, []string{thread}, 3},
	} {
		u.read = 0
		part, err := cost.PartOf(t.Context(), u, tt.p, tt.uris)
		if err != nil || len(part) != tt.want || u.read > tt.want+1 {
			t.Errorf("%+v in %v: got %d units of work, read %d, %v, want %d", tt.p, tt.uris, len(part), u.read, err, tt.want)
		}
	}
}
