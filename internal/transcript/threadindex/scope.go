package threadindex

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/config"
)

// In returns a function that reports whether a directory is one of dirs or inside one of
// them. Links are followed. The result is for one goroutine.
func In(dirs ...string) func(dir string) bool {
	known, real := map[string]bool{}, links{}
	roots := make([]string, len(dirs))
	for i, dir := range dirs {
		roots[i] = filepath.Clean(config.Resolve(dir))
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
			in = within(clean) || within(real.resolve(clean))
			known[dir] = in
		}
		return in
	}
}

// links are directories by the path that leads to them.
type links map[string]string

// resolve returns what config.Resolve returns. It looks at each directory on the way once.
func (l links) resolve(path string) string {
	real, known := l[path]
	if parent := filepath.Dir(path); !known && parent == path {
		real = path
	} else if !known {
		real = filepath.Join(l.resolve(parent), filepath.Base(path))
		if info, err := os.Lstat(real); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			real = config.Resolve(real)
		}
	}
	l[path] = real
	return real
}

// Nearest is In, without what is in those of others that are inside one of dirs.
func Nearest(dirs, others []string) func(dir string) bool {
	in := In(dirs...)
	inside := In(slices.DeleteFunc(slices.Clone(others), func(dir string) bool {
		return slices.Contains(dirs, dir) || !in(dir)
	})...)
	return func(dir string) bool { return in(dir) && !inside(dir) }
}
