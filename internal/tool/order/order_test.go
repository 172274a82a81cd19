package order_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff/internal/tool/order"
)

func TestSort(t *testing.T) {
	type element struct{ key, at int }
	byKey := func(a, b element) int { return cmp.Compare(a.key, b.key) }
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		list := make([]element, n)
		for i := range list {
			list[i] = element{r.IntN(1 + n/3), i}
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, byKey)
		if got := order.Sort(list, byKey); !slices.Equal(got, want) || !slices.Equal(list, want) {
			t.Fatalf("%d elements: got %v, want %v", n, got, want)
		}
	}
}
