package collision

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// TestFind has the changes of some threads, each as "thread path minute". The
// threads are active in these minutes: a 0-20, b 10-30, c 20-40, d 50-60; e always.
func TestFind(t *testing.T) {
	zero := time.Date(2026, 2, 3, 4, 0, 0, 0, time.UTC)
	minute := func(n int) time.Time { return zero.Add(time.Duration(n) * time.Minute) }
	writers := map[string]*transcript.Writer{}
	for name, active := range map[string][2]int{"a": {0, 20}, "b": {10, 30}, "c": {20, 40}, "d": {50, 60}} {
		writers[name] = &transcript.Writer{URI: thread.URI{Provider: "x", Thread: name}, First: minute(active[0]),
			Last: minute(active[1])}
	}
	writers["e"] = &transcript.Writer{URI: thread.URI{Provider: "x", Thread: "e"}}
	for changes, want := range map[string][]string{
		"":                               nil,
		"a f 12":                         nil,
		"a f 12, a f 13":                 nil,
		"a f 12, b f 14":                 {"f a 12 b 14"},
		"a f 12, b g 14":                 nil,
		"a f 5, b f 14":                  nil, // b was not active when a changed it
		"a f 12, b f 25":                 nil, // a was not active when b changed it
		"a f 11, a f 15, b f 16":         {"f a 15 b 16"},
		"b f 19, a f 12, b f 14":         {"f a 12 b 14"},
		"a f 5, a f 12, b f 14":          {"f a 12 b 14"},
		"a f 19, c f 21":                 nil,
		"b f 22, c f 24, a f 20":         {"f b 22 c 24"},
		"b g 12, a g 12, c f 30":         {"g a 12 b 12"},
		"d f 55, e f 1, b f 20":          nil,
		"d f 55, e f 52, b f 20":         {"f e 52 d 55"},
		"a f 2, b f 15, e f 16":          {"f a 2 e 16", "f b 15 e 16"},
		"a g 11, b f 12, b g 13, a f 14": {"f b 12 a 14", "g a 11 b 13"},
	} {
		var writes []transcript.Write
		for i, change := range strings.Split(changes, ", ") {
			var name, path string
			var at int
			if n, _ := fmt.Sscan(change, &name, &path, &at); n == 3 {
				writes = append(writes, writers[name].Write(path, i+1, minute(at), false))
			}
		}
		var got []string
		for _, c := range Find(writes) {
			got = append(got, fmt.Sprintf("%s %s %d %s %d", c.Path, c.First.URI.Thread, int(c.First.At.Sub(zero).Minutes()),
				c.Second.URI.Thread, int(c.Second.At.Sub(zero).Minutes())))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", changes, got, want)
		}
	}
}
