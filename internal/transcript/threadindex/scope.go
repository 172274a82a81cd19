package threadindex

import (
	"path/filepath"
	"slices"
	"strings"
)

// In returns a function that reports whether a directory is one of dirs or inside one of
// them. Links are followed. The result is for one goroutine.
func In(dirs ...string) func(dir string) bool {
	known := map[string]bool{}
	roots := make([]string, len(dirs))
	for i, dir := range dirs {
		roots[i] = resolve(dir)
	}
	within := func(dir string) bool {
		for _, root := range roots {
			if rest, ok := strings.CutPrefix(dir, root); ok &&
				(rest == "" || rest[0] == filepath.Separator || strings.HasSuffix(root, string(filepath.Separator))) {
				return true
			}
		}
		return false
	}
	return func(dir string) bool {
		if dir == "" {
			return false
		}
		in, ok := known[dir]
		if !ok {
			clean := filepath.Clean(dir)
			in = within(clean) || within(resolve(clean))
			known[dir] = in
		}
		return in
	}
}

// Nearest is In, without what is in those of others that are inside one of dirs.
func Nearest(dirs, others []string) func(dir string) bool {
	in := In(dirs...)
	inside := In(slices.DeleteFunc(slices.Clone(others), func(dir string) bool {
		return slices.Contains(dirs, dir) || !in(dir)
	})...)
	return func(dir string) bool { return in(dir) && !inside(dir) }
}

// resolve follows links in a path. The directory of an old thread may no
// longer exist.
func resolve(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}
