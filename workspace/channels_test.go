package workspace

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/agent-handoff/handoff"
)

// TestChannelCounts compares the counts of the index with those of a list, in an
// index file and in memory.
func TestChannelCounts(t *testing.T) {
	dir := testWorkspace(t)
	publishSome(t, dir, 20)
	w := openDir(t, dir)
	for i, channel := range []string{"design", "patch", "patch", "security-review"} {
		p := handoff.Draft{Path: "a.md", Channel: channel, Tags: []string{"x"}, Kind: "report", Title: strconv.Itoa(i)}
		done, err := w.Publish(t.Context(), p)
		must(t, err)
		if i == 1 {
			_, err := w.Withdraw(t.Context(), done.ID, "")
			must(t, err)
		}
	}
	memory := openDir(t, dir)
	must(t, os.RemoveAll(filepath.Join(dir, ".handoff", "index.lock")))
	must(t, os.Mkdir(filepath.Join(dir, ".handoff", "index.lock"), 0o700)) // so that it has no file
	for _, w := range []*Workspace{w, memory} {
		for _, f := range []Filter{
			{}, {IncludeInactive: true}, {Status: "withdrawn"}, {Tag: "x"}, {Tag: "x", IncludeInactive: true},
			{Channel: "patch"}, {Kind: "report", Channel: "patch"},
			{Since: "1h"}, {Until: "1h"}, {Name: "none"}, {Producer: map[string]string{"agent": "nobody"}},
		} {
			list, err := w.List(t.Context(), ListOptions{Filter: f})
			must(t, err)
			want := map[string]int{}
			for _, a := range list.Artifacts {
				want[a.Channel]++
			}
			channels, err := w.Channels(t.Context(), f)
			must(t, err)
			for _, c := range channels.Channels {
				if c.Count != want[c.Name] {
					t.Errorf("%+v: channel %s has %d artifacts, want %d", f, c.Name, c.Count, want[c.Name])
				}
				delete(want, c.Name)
			}
			if len(want) > 0 {
				t.Errorf("%+v: channels %v are missing", f, want)
			}
		}
	}
}
