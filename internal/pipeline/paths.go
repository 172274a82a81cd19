package pipeline

import (
	"path"
	"slices"
	"strings"
)

// maxPatterns is how many patterns a list of paths may have: each is held
// against each file. Those beyond it are taken as they are written.
const maxPatterns = 200

// A list of paths says which files it names, by their own names or by patterns:
// * and ? stop at slashes, and ** does not.
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

// cover reports whether the list names a file.
func (p paths) cover(file string) bool {
	if p.exact[clean(file)] {
		return true
	}
	at := segments(file)
	return slices.ContainsFunc(p.patterns, func(pattern []string) bool { return glob(pattern, at) })
}

// idle reports, for each entry of the list, whether it names none of the files.
func (p paths) idle(files []string) []bool {
	there := setOf(files)
	split := make([][]string, 0, len(there))
	for file := range there {
		split = append(split, strings.Split(file, "/"))
	}
	idle, looked := make([]bool, len(p.list)), 0
	for i, name := range p.list {
		idle[i] = !there[clean(name)]
		if idle[i] && isPattern(name) && looked < maxPatterns {
			looked++
			pattern := segments(name)
			idle[i] = !slices.ContainsFunc(split, func(file []string) bool { return glob(pattern, file) })
		}
	}
	return idle
}

// maxDepth is how many segments a path may have for a pattern to match it.
const maxDepth = 62

// glob reports whether a pattern matches a file, both in segments.
func glob(pattern, file []string) bool {
	if len(file) > maxDepth {
		return false
	}
	reach := uint64(1) // bit j says whether the pattern so far matches the first j segments
	for _, part := range pattern {
		var next uint64
		if part == "**" {
			next = -(reach & -reach) // the first of them, and all after it
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
