package threadtest

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/page"
)

var update = flag.Bool("update", false, "rewrite the pages in testdata")

// pages compares every page of the threads with golden files: as markdown with all
// details, and as JSON. The home directory is replaced by HOME, and all files have
// the same modification time.
func (s Suite) pages(t *testing.T) {
	home := t.TempDir()
	want := s.Write(t, home)
	written := time.Unix(1_790_000_000, 0)
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(path, written, written)
	})
	if err != nil {
		t.Fatal(err)
	}
	set := s.set(home)
	var markdown, objects strings.Builder
	for _, w := range want {
		u := thread.URI{Provider: s.Driver.Name, Thread: w.ID}
		o := page.Options{Tools: true, Usage: true, Now: written.Add(time.Hour)}
		markdown.WriteString(s.page(t, set, home, u, o))
		objects.WriteString(s.object(t, set, home, u, o))
		if len(w.Agents) == 0 {
			continue
		}
		markdown.WriteString(s.page(t, set, home, u, page.Options{List: true}))
		markdown.WriteString(s.page(t, set, home, u.Child(w.Agents[0].ID), page.Options{Full: true}))
		objects.WriteString(s.object(t, set, home, u.Child(w.Agents[0].ID), page.Options{}))
	}
	Golden(t, "pages.md", markdown.String())
	Golden(t, "pages.json", objects.String())
}

func (s Suite) page(t *testing.T, set *thread.Set, home string, u thread.URI, o page.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(t.Context(), &b, set, u, o); err != nil {
		t.Fatalf("%s %+v: %v", u, o, err)
	}
	return strings.ReplaceAll(b.String(), home, "HOME") + "\n"
}

// object returns a page as JSON with one member per line.
func (s Suite) object(t *testing.T, set *thread.Set, home string, u thread.URI, o page.Options) string {
	t.Helper()
	o.JSON = true
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(s.page(t, set, home, u, o)), "", " "); err != nil {
		t.Fatalf("%s: %v", u, err)
	}
	return b.String()
}

// Golden compares got with a file in testdata. With -update it writes the file.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		WriteFile(t, got, path)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run with -update to create it", err)
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s:%d: got %q, want %q; run with -update to rewrite it", path, i+1, g[i],
				append(w, "")[min(i, len(w))])
		}
	}
	if len(g) < len(w) {
		t.Errorf("%s: got %d lines, want %d; run with -update to rewrite it", path, len(g), len(w))
	}
}
