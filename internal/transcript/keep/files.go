package keep

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// filesOf returns the files of a thread or subagent: its transcript and what that needs
// beside it, and the directory of the tool that contains them. The error is Unsupported
// if the program keeps several threads in the same files.
func filesOf(set *thread.Set, t *thread.Thread) (root string, files []string, err error) {
	d, roots, ok := set.Driver(t.Provider)
	if !ok || isDatabase(t.Source) {
		return "", nil, handoff.E("keep thread", t.URI().String(), handoff.Unsupported,
			errors.New("the program keeps several threads in the same files"),
			handoff.Advice("export the thread with the tool"))
	}
	for _, dir := range roots {
		if rel, err := filepath.Rel(dir, t.Source); err == nil && filepath.IsLocal(rel) && len(dir) > len(root) {
			root = dir
		}
	}
	if root == "" {
		return "", nil, outside(t)
	}
	files = []string{t.Source}
	dir, base := filepath.Split(t.Source)
	var more []string
	for _, name := range d.Beside {
		more = append(more, filepath.Join(dir,
			filepath.FromSlash(strings.ReplaceAll(name, "*", strings.TrimSuffix(base, filepath.Ext(base))))))
	}
	if s, ok := t.Reader.(thread.Scattered); ok {
		more = append(more, s.Files()...)
	}
	for _, path := range more {
		rel, err := filepath.Rel(root, path)
		if info, failed := os.Lstat(path); err == nil && failed == nil && filepath.IsLocal(rel) && info.Mode().IsRegular() &&
			path != t.Source {
			files = append(files, path)
		}
	}
	return root, files, nil
}

func outside(t *thread.Thread) error {
	return thread.UnreadableError(t.Source, errors.New("outside the directories of the tool"))
}

// isDatabase reports whether a file is a SQLite database.
func isDatabase(path string) bool {
	const header = "SQLite format 3\x00"
	return string(thread.NewWalk(context.Background()).Head(path, int64(len(header)))) == header
}

// At returns a set of one provider of set, which searches a single directory.
func At(set *thread.Set, provider, dir string) *thread.Set {
	d, _, ok := set.Driver(provider)
	if !ok {
		return set
	}
	d.Roots = func(func(string) string, string) []string { return []string{dir} }
	return thread.NewSet([]thread.Driver{d}, func(string) string { return "" }, "")
}
