package thread

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/order"
)

// A FileStat is the state of a file as it is known without reading it. It is zero
// for a file that does not exist.
type FileStat struct {
	Size     int64
	Modified time.Time

	changed int64 // nanoseconds since 1970, a change of any kind, which a program can't set
	inode   uint64
	regular bool
}

// A FolderFile is a regular file in a directory, or a link to one.
type FolderFile struct {
	Path string
	Name string // the end of it
	FileStat
}

// A Folder is a directory that was read.
type Folder struct {
	Path  string
	Root  int // the index of the directory in which the search began
	Files []FolderFile
	Dirs  []string // names of the directories in it
}

// Folders reads directories and those in them, down to depth levels, on all
// processors. The files are those whose names want selects. The roots come first, and
// each directory before those in it; names are in order. A directory that does not
// exist has neither files nor directories. Links to directories are not followed.
func (w *Walk) Folders(roots []string, depth int, want func(name string) bool) (all []Folder) {
	level := make([]Folder, len(roots))
	for i, path := range roots {
		level[i] = Folder{Path: path, Root: i}
	}
	for ; len(level) > 0; depth-- {
		errs := make([][]error, len(level))
		Parallel(len(level), func(i int) {
			if w.ctx.Err() == nil {
				errs[i] = level[i].read(want)
			}
		})
		var next []Folder
		for i, f := range level {
			for _, err := range errs[i] {
				w.fail(err)
			}
			for _, name := range f.Dirs {
				if depth > 0 {
					next = append(next, Folder{Path: filepath.Join(f.Path, name), Root: f.Root})
				}
			}
		}
		all, level = append(all, level...), next
	}
	if w.Done() {
		return nil
	}
	return all
}

// CountFiles returns the number of files in folders.
func CountFiles(folders []Folder) (n int) {
	for _, f := range folders {
		n += len(f.Files)
	}
	return n
}

// read reads the directory once and stats each selected file once.
func (f *Folder) read(want func(name string) bool) (errs []error) {
	dir, err := openDir(f.Path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || isFile(f.Path) {
			return nil
		}
		return []error{err}
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		errs = append(errs, &fs.PathError{Op: "read directory", Path: f.Path, Err: err})
	}
	size := 0 // of all paths
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		if e.IsDir() {
			f.Dirs = append(f.Dirs, e.Name())
			return true
		}
		wanted := (e.Type().IsRegular() || e.Type() == fs.ModeSymlink) && want(e.Name())
		if wanted {
			size += len(f.Path) + 1 + len(e.Name())
		}
		return !wanted
	})
	slices.Sort(f.Dirs)
	order.Sort(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	f.Files = make([]FolderFile, 0, len(entries))
	var paths strings.Builder // one allocation for all
	paths.Grow(size)
	for _, e := range entries {
		s, err := dir.stat(e.Name())
		if err == nil && s.regular {
			start := paths.Len()
			paths.WriteString(f.Path)
			paths.WriteByte(filepath.Separator)
			paths.WriteString(e.Name())
			path := paths.String()[start:]
			f.Files = append(f.Files, FolderFile{path, path[len(f.Path)+1:], s})
		} else if err != nil && !isMissing(err) {
			errs = append(errs, &fs.PathError{Op: "stat", Path: filepath.Join(f.Path, e.Name()), Err: errors.Unwrap(err)})
		}
	}
	return errs
}

// isMissing reports whether an error of a stat means that there is no such file.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}
