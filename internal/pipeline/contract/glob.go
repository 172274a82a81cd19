package contract

import (
	"path"
	"strings"
)

// IsPattern reports whether a path is a pattern: it contains *, ?, [ or a backslash.
func IsPattern(name string) bool { return strings.ContainsAny(name, `*?[\`) }

// maxDepth is the maximum number of segments of a path that a pattern matches.
const maxDepth = 62

// Glob reports whether a pattern matches a file, both split into segments. In a pattern,
// * and ? do not match a slash, and the segment ** matches any number of segments.
func Glob(pattern, file []string) bool {
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
