package formerdir

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// A form is what a file of handoff looks like: its path in one of the directories,
// and how its content begins. Files that are only known by their name prove nothing.
type form struct {
	path  *regexp.Regexp
	valid func(start []byte) bool // nil for a file that is only known by its name
}

// database are the names of the files of a database, but for the database itself.
const database = `(-wal|-shm|-journal|\.damaged(-wal|-shm|-journal)?)`

// forms has every file that a version of handoff has written in the directories.
// Environment variables can make them one directory.
var forms = sync.OnceValue(func() []form {
	return []form{
		{regexp.MustCompile(`^trust/[0-9a-f]{64}$`), func(b []byte) bool {
			return bytes.HasPrefix(b, []byte("workspace ")) && bytes.Contains(b, []byte("\nlog "))
		}},
		{regexp.MustCompile(`^init\.json$`), func(b []byte) bool { return bytes.HasPrefix(b, []byte("{\n  \"edits\": ")) }},
		{regexp.MustCompile(`^(workspaces|opened)$`), func(b []byte) bool { return filepath.IsAbs(string(b)) }},
		{regexp.MustCompile(`^clients/[a-z]+\.json$`), func(b []byte) bool { return bytes.HasPrefix(b, []byte(`{"last`)) }},
		{regexp.MustCompile(`^clients/gemini\.sessions\.json$`), func(b []byte) bool {
			return bytes.HasPrefix(b, []byte(`[{"process":`))
		}},
		{regexp.MustCompile(`^[0-9A-Za-z_-]{1,128}/index\.db$`), isDatabase},
		{regexp.MustCompile(`^threads/threads-[0-9a-f]{16}\.db$`), isDatabase},
		{regexp.MustCompile(`^[0-9A-Za-z_-]{1,128}/index\.(lock|db` + database + `)$`), nil},
		{regexp.MustCompile(`^threads/threads-[0-9a-f]{16}\.db` + database + `$`), nil},
	}
})

func isDatabase(b []byte) bool { return bytes.HasPrefix(b, []byte("SQLite format 3\x00")) }

// startLength is how much of a file is read to recognize it.
const startLength = 4096

// isOurs reports whether a directory has files of handoff and nothing else. It stops
// at the first entry that is foreign, and reads the start of a file only.
func isOurs(dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	proven := false
	used := map[string]bool{} // the directories that have a file
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path, err := filepath.Rel(dir, file)
		if err != nil || path == "." {
			return err
		}
		if d.IsDir() {
			if strings.ContainsRune(path, filepath.Separator) {
				return fs.ErrInvalid // no directory of handoff is inside another one
			}
			used[path] = used[path] || slices.Contains([]string{"trust", "clients", "threads"}, path)
			return nil
		}
		used[filepath.Dir(path)] = true
		ours, proof := recognize(file, filepath.ToSlash(path), d)
		proven = proven || proof
		if !ours {
			return fs.ErrInvalid
		}
		return nil
	})
	empty := slices.Contains(slices.Collect(maps.Values(used)), false)
	return err == nil && proven && !empty
}

// recognize reports whether a file is one of handoff, and whether its content shows
// that.
func recognize(file, path string, d fs.DirEntry) (ours, proof bool) {
	if !d.Type().IsRegular() {
		return false, false
	}
	if durable.IsTemporary(d.Name()) {
		return true, false
	}
	i := slices.IndexFunc(forms(), func(f form) bool { return f.path.MatchString(path) })
	if i < 0 || forms()[i].valid == nil {
		return i >= 0, false
	}
	start, err := readStart(file)
	if err != nil {
		return false, false
	}
	if len(start) == 0 {
		return true, false // a process died before it wrote to it
	}
	valid := forms()[i].valid(start)
	return valid, valid
}

// readStart returns the first bytes of a file.
func readStart(file string) ([]byte, error) {
	f, err := plainfile.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, startLength))
}
