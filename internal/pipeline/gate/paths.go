package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// maxPatterns is the maximum number of patterns in a list of paths, since each is
// matched against each file. Patterns beyond it are matched literally.
const maxPatterns = 200

// A paths is a list of files and patterns. In a pattern, * and ? do not match a
// slash, and ** does.
type paths struct {
	list     []string
	exact    map[string]bool
	patterns [][]string // in segments
}

func newPaths(list []string) paths {
	p := paths{list: list, exact: setOf(list)}
	for _, name := range list {
		if contract.IsPattern(name) && len(p.patterns) < maxPatterns {
			p.patterns = append(p.patterns, segments(name))
		}
	}
	return p
}

func segments(name string) []string { return strings.Split(clean(name), "/") }

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[clean(name)] = true
	}
	return set
}

// match reports whether the list contains a file.
func (p paths) match(file string) bool {
	if p.exact[clean(file)] {
		return true
	}
	at := segments(file)
	return slices.ContainsFunc(p.patterns, func(pattern []string) bool { return contract.Glob(pattern, at) })
}

// unused reports, for each entry of the list, whether it matches none of the
// files.
func (p paths) unused(files []string) []bool {
	set := setOf(files)
	split := make([][]string, 0, len(set))
	for file := range set {
		split = append(split, strings.Split(file, "/"))
	}
	unused, patterns := make([]bool, len(p.list)), 0
	for i, name := range p.list {
		unused[i] = !set[clean(name)]
		if unused[i] && contract.IsPattern(name) && patterns < maxPatterns {
			patterns++
			pattern := segments(name)
			unused[i] = !slices.ContainsFunc(split, func(file []string) bool { return contract.Glob(pattern, file) })
		}
	}
	return unused
}

func clean(file string) string {
	if file == "" {
		return ""
	}
	return path.Clean(file)
}
