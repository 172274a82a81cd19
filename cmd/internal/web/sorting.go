package web

import (
	"maps"
	"net/url"
	"slices"
)

// sorted is how many rows a sorted list has: the newest.
const sorted = 200

// A sorting is the order of a list, which the address names.
type sorting struct {
	Sort   string   // "" for the newest first
	Orders []string // that the list can have
	IsCut  bool     // there are more rows than are sorted
	link   url.Values

	IsTextCut bool // more have the words of the list than were looked at: the newest
}

// sortingOf returns the order that an address names, of those that a list can have.
func sortingOf[T any](q url.Values, more bool, orders map[string]func(a, b T) int) sorting {
	s := sorting{Sort: q.Get("sort"), Orders: slices.Sorted(maps.Keys(orders)), link: q}
	if orders[s.Sort] == nil {
		s.Sort = ""
	}
	s.IsCut = more && s.Sort != ""
	return s
}

// SortBy returns the address of the list in another order.
func (s sorting) SortBy(order string) string {
	q := maps.Clone(s.link)
	q.Del("cursor")
	q.Del("sort")
	if order != "" {
		q.Set("sort", order)
	}
	return "?" + q.Encode()
}
