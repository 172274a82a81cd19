package gate

import (
	"path"
	"slices"
	"strings"
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
		if isPattern(name) && len(p.patterns) < maxPatterns {
			p.patterns = append(p.patterns, segments(name))
		}
	}
	return p
}

func isPattern(name string) bool { return strings.ContainsAny(name, `*?[\`) }

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
	return slices.ContainsFunc(p.patterns, func(pattern []string) bool { return glob(pattern, at) })
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
		if unused[i] && isPattern(name) && patterns < maxPatterns {
			patterns++
			pattern := segments(name)
			unused[i] = !slices.ContainsFunc(split, func(file []string) bool { return glob(pattern, file) })
		}
	}
	return unused
}

// maxDepth is the maximum number of segments of a path that a pattern matches.
const maxDepth = 62

// glob reports whether a pattern matches a file, both split into segments.
func glob(pattern, file []string) bool {
	if len(file) > maxDepth {
		return false
	}
	reach := uint64(1) // bit j: the pattern so far matches the first j segments
	for _, part := range pattern {
		var next uint64
		if part == "**" {
			next = -(reach & -reach) // the lowest set bit and all above it
		} else {
			for j, name := range file {
				if reach>>j&1 == 0 {
					continue
				}
				if ok, err := path.Match(part, name); ok && err == nil {
					next |= 1 << (j + 1)
				}
			}
		}
		if reach = next; reach == 0 {
			return false
		}
	}
	return reach>>len(file)&1 == 1
}

func clean(file string) string {
	if file == "" {
		return ""
	}
	return path.Clean(file)
}
