// Package collision finds the files that several threads changed while each
// other was active.
package collision

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// A Collision is a file that two threads or subagents changed, each while
// the other was active. Of their changes, it has the two that are closest in time.
type Collision struct {
	Path   string `json:"path"`
	First  Change `json:"first"`
	Second Change `json:"second"`
}

// A Change is a call that changed a file.
type Change struct {
	URI thread.URI `json:"uri"` // of the message
	At  time.Time  `json:"changedAt"`
}

// A Write is a change of a file, which is absolute.
type Write struct {
	Path string `json:"path"`
	Change
	By *Writer `json:"-"`
}

// A Writer is a thread or subagent that changed files.
type Writer struct {
	URI         thread.URI
	First, Last time.Time // when it was active, the zero time if that is not known
}

// Write returns the change of a file by a message.
func (w *Writer) Write(path string, message int, at time.Time) Write {
	uri := w.URI
	uri.From, uri.To = message, message
	return Write{path, Change{uri, at}, w}
}

func (w *Writer) activeAt(t time.Time) bool {
	return (w.First.IsZero() || !t.Before(w.First)) && (w.Last.IsZero() || !t.After(w.Last))
}

// Find returns the collisions among some changes, by path.
func Find(writes []Write) []Collision {
	list := []Collision{}
	slices.SortFunc(writes, func(a, b Write) int {
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
func findOn(writes []Write) (list []Collision) {
	closest := map[[2]string]Collision{} // by the URIs of both
	latest := map[string]Write{}         // by URI
	for _, b := range writes {
		uri := b.By.URI.String()
		for other, a := range latest {
			if other == uri || !a.By.activeAt(b.At) || !b.By.activeAt(a.At) {
				continue
			}
			pair := [2]string{min(uri, other), max(uri, other)}
			if old, ok := closest[pair]; !ok || b.At.Sub(a.At) < old.Second.At.Sub(old.First.At) {
				closest[pair] = Collision{a.Path, a.Change, b.Change}
			}
		}
		latest[uri] = b
	}
	return slices.SortedFunc(maps.Values(closest), func(a, b Collision) int {
		return cmp.Or(a.First.At.Compare(b.First.At), a.Second.At.Compare(b.Second.At),
			strings.Compare(a.First.URI.String(), b.First.URI.String()),
			strings.Compare(a.Second.URI.String(), b.Second.URI.String()))
	})
}
