// Package order sorts lists. The library's own sort is compiled again for each type of
// element, 20 KB each; here only positions are sorted.
package order

import (
	"cmp"
	"slices"
)

// Sort sorts a list in place, keeps the order of equal elements, and returns the list.
// Each element moves once.
func Sort[S ~[]E, E any](list S, compare func(a, b E) int) S {
	sorted := make(S, 0, len(list))
	for _, at := range positions(len(list), func(i, j int) int { return compare(list[i], list[j]) }) {
		sorted = append(sorted, list[at])
	}
	copy(list, sorted)
	return list
}

// positions returns the numbers below n in the order that compare gives them.
func positions(n int, compare func(i, j int) int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	slices.SortFunc(list, func(i, j int) int { return cmp.Or(compare(i, j), i-j) })
	return list
}
