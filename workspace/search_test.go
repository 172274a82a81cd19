package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/localstate"
)

// TestSearchBodies publishes bodies of many kinds and checks which of them are
// found by a word in them, with an index in a file and with one that
// is elsewhere.
func TestSearchBodies(t *testing.T) {
	long := strings.Repeat("word ", TextLimit/5)
	for _, place := range []string{"in a file", "aside"} {
		t.Run(place, func(t *testing.T) {
			dir := testWorkspace(t)
			if place == "aside" {
				must(t, os.MkdirAll(filepath.Join(dir, ".handoff", localstate.LockName), 0o700))
			}
			w := openDir(t, dir)
			var want []string
			for _, tt := range []struct {
				name, body, mediaType string
				keep                  handoff.Keep
				then                  string // what becomes of the file
				found                 bool
			}{
				{name: "kept.md", body: "A lantern.", found: true},
				{name: "kept-changed.md", body: "A lantern.", then: "Another one.", found: true},
				{name: "loose.md", body: "A lantern.", keep: handoff.KeepNever, found: true},
				{name: "loose-changed.md", body: "A lantern.", keep: handoff.KeepNever, then: "A changed lantern."},
				{name: "empty.md", body: ""},
				{name: "list.json", body: `{"a":["lantern"]}`, found: true},
				{name: "data.bin", body: "lantern\x00"},
				{name: "says-text.md", body: "lantern \x00", mediaType: "text/markdown"},
				{name: "other-letters.md", body: "lantern \xff", mediaType: "text/markdown", found: true},
				{name: "picture.svg", body: "<svg>lantern</svg>"},
				{name: "own.md", body: "lantern", mediaType: "application/x-own"},
				{name: "own+json.md", body: `"lantern"`, mediaType: "application/vnd.own+json; charset=utf-8", found: true},
				{name: "early.md", body: "lantern " + long, found: true},
				{name: "late.md", body: long + " lantern"},
				{name: "cut.md", body: "lantern" + strings.Repeat("é", TextLimit/2), found: false}, // one word with what follows
				{name: "cut2.md", body: "lantern " + long[:TextLimit-9] + "é", found: true},
				{name: "large.md", body: "lantern " + strings.Repeat(long, 17), keep: handoff.KeepAlways},
				{name: "gone.md", body: "lantern", keep: handoff.KeepNever, then: "-"},
			} {
				file := filepath.Join(dir, tt.name)
				must(t, os.WriteFile(file, []byte(tt.body), 0o600))
				p, err := w.Publish(t.Context(), handoff.Draft{Path: tt.name, Channel: "design", Keep: tt.keep,
					MediaType: tt.mediaType})
				must(t, err)
				switch tt.then {
				case "":
				case "-":
					must(t, os.Remove(file))
				default:
					must(t, os.WriteFile(file, []byte(tt.then), 0o600))
				}
				if tt.found {
					want = append(want, p.Path)
				}
			}
			slices.Reverse(want)
			for range 2 {
				found, err := w.Search(t.Context(), SearchOptions{Text: "lantern"})
				must(t, err)
				var got []string
				for _, m := range found.Matches {
					got = append(got, m.Artifact.Path)
				}
				if !slices.Equal(got, want) {
					t.Errorf("found in %q, want %q", got, want)
				}
			}
		})
	}
}

// TestSearchAnew checks that an index that was deleted finds the same as
// before, kept bodies and all.
func TestSearchAnew(t *testing.T) {
	dir := testWorkspace(t)
	publishSome(t, dir, 30)
	w := openDir(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, "b.md"), []byte("A lantern."), 0o600))
	_, err := w.Publish(t.Context(), handoff.Draft{Path: "b.md", Channel: "design", Title: "Of light"})
	must(t, err)
	ask := func(w *Workspace) (answers [][]Match) {
		for _, text := range []string{"lantern", "light lantern", "retry", "md", "nothing"} {
			found, err := w.Search(t.Context(), SearchOptions{Text: text, IncludeInactive: true})
			must(t, err)
			for i := range found.Matches {
				found.Matches[i].Artifact = handoff.Artifact{Record: handoff.Record{ID: found.Matches[i].Artifact.ID}}
			}
			answers = append(answers, found.Matches)
		}
		return answers
	}
	want := ask(w)
	if len(want[0]) != 1 || len(want[2]) == 0 {
		t.Fatalf("the first text has %d matches, the third %d, want 1 and more than 0", len(want[0]), len(want[2]))
	}
	must(t, w.Close())
	must(t, os.Remove(filepath.Join(dir, ".handoff", localstate.FileName)))
	for i, got := range ask(openDir(t, dir)) {
		if !slices.EqualFunc(got, want[i], func(a, b Match) bool {
			return a.Artifact.ID == b.Artifact.ID && reflect.DeepEqual(a.Snippets, b.Snippets)
		}) {
			t.Errorf("text %d: after a rebuild %.500q, want %.500q", i, fmt.Sprint(got), fmt.Sprint(want[i]))
		}
	}
}
