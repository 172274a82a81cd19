package evidence

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/order"
)

// Files are the files of a tree, in the order of their paths.
type Files []File

// A File is one of a tree, by its path in the repository.
type File struct {
	path  string
	entry string // its mode and hash
}

func byPath(a, b File) int { return cmp.Compare(a.path, b.path) }

// get returns the entry of a file, "" if there is none.
func (f Files) get(name string) string {
	i, found := slices.BinarySearchFunc(f, File{path: name}, byPath)
	if !found {
		return ""
	}
	return f[i].entry
}

// digest returns the digest of the files: of one entry for each, in the order of
// their paths.
func (f Files) digest() string {
	sum := sha256.New()
	var line []byte
	for _, file := range f {
		line = append(append(append(append(line[:0], file.entry...), '\t'), file.path...), 0)
		sum.Write(line)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// pairs calls do with the entries of each path in two trees, in the order of the paths,
// until it returns false. The entry is "" where a tree does not have the file.
func pairs(a, b Files, do func(path, a, b string) bool) {
	for len(a) > 0 || len(b) > 0 {
		more := true
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].path < b[0].path:
			more, a = do(a[0].path, a[0].entry, ""), a[1:]
		case len(a) == 0 || b[0].path < a[0].path:
			more, b = do(b[0].path, "", b[0].entry), b[1:]
		default:
			more, a, b = do(a[0].path, a[0].entry, b[0].entry), a[1:], b[1:]
		}
		if !more {
			return
		}
	}
}

// with returns the files as changes make them. A change to deleted removes a file.
func (f Files) with(changes Files) Files {
	if len(changes) == 0 {
		return f
	}
	changed := make(Files, 0, len(f)+len(changes))
	pairs(f, changes, func(path, old, now string) bool {
		if entry := cmp.Or(now, old); entry != deleted {
			changed = append(changed, File{path, entry})
		}
		return true
	})
	return changed
}

// without returns the files that are not in a directory, and not the file of its name.
func without(files Files, name string) Files {
	in := func(f File) bool { return f.path == name || strings.HasPrefix(f.path, name+"/") }
	if !slices.ContainsFunc(files, in) {
		return files
	}
	return slices.DeleteFunc(slices.Clone(files), in)
}

// A change is a difference between two trees.
type change struct{ verb, path string }

func (c change) String() string { return c.verb + " " + c.path }

// compare returns the differences from one tree to another, in the order of the paths.
func compare(before, after Files) (list []change) {
	pairs(before, after, func(path, old, now string) bool {
		switch {
		case old == now:
		case old == "":
			list = append(list, change{"added", path})
		case now == "":
			list = append(list, change{"deleted", path})
		default:
			list = append(list, change{"changed", path})
		}
		return true
	})
	return list
}

// sorted sorts files by their paths. Of several with one path, the last one remains.
func sorted(files Files) Files {
	slices.Reverse(files)
	order.Sort(files, byPath)
	return slices.CompactFunc(files, func(a, b File) bool { return a.path == b.path })
}
