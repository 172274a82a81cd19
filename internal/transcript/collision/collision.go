// Package collision finds the files that several threads changed while each
// other was active.
package collision

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/transcript"
)

func activeAt(w *transcript.Writer, t time.Time) bool {
	return (w.First.IsZero() || !t.Before(w.First)) && (w.Last.IsZero() || !t.After(w.Last))
}

// Find returns the collisions among some changes, by path.
func Find(writes []transcript.Write) []transcript.Collision {
	list := []transcript.Collision{}
	order.Sort(writes, func(a, b transcript.Write) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), a.At.Compare(b.At),
			strings.Compare(a.By.URI.String(), b.By.URI.String()), cmp.Compare(a.URI.From, b.URI.From))
	})
	for len(writes) > 0 {
		n := 1
		for n < len(writes) && writes[n].Path == writes[0].Path {
			n++
		}
		list = append(list, findOn(writes[:n])...)
		writes = writes[n:]
	}
	return list
}

// findOn returns the collisions among the changes of one file, which are in the order
// of time.
func findOn(writes []transcript.Write) (list []transcript.Collision) {
	closest := map[[2]string]transcript.Collision{} // by the URIs of both
	latest := map[string]transcript.Write{}         // by URI
	for _, b := range writes {
		uri := b.By.URI.String()
		for other, a := range latest {
			if other == uri || !activeAt(a.By, b.At) || !activeAt(b.By, a.At) {
				continue
			}
			pair := [2]string{min(uri, other), max(uri, other)}
			if old, ok := closest[pair]; !ok || b.At.Sub(a.At) < old.Second.At.Sub(old.First.At) {
				closest[pair] = transcript.Collision{Path: a.Path, First: a.Change, Second: b.Change}
			}
		}
		latest[uri] = b
	}
	return order.Sort(slices.Collect(maps.Values(closest)), func(a, b transcript.Collision) int {
		return cmp.Or(a.First.At.Compare(b.First.At), a.Second.At.Compare(b.Second.At),
			strings.Compare(a.First.URI.String(), b.First.URI.String()),
			strings.Compare(a.Second.URI.String(), b.Second.URI.String()))
	})
}
