//go:build !linux && !darwin

package thread

import (
	"os"
	"path/filepath"

	"github.com/agent-handoff/handoff/internal/jsonl"
)

// An openedDir is an open directory.
type openedDir struct{ *os.File }

// openDir opens a directory.
func openDir(path string) (openedDir, error) {
	f, err := os.Open(path)
	return openedDir{f}, err
}

// stat returns the state of a file in the directory.
func (d openedDir) stat(name string) (FileStat, error) { return stat(filepath.Join(d.Name(), name)) }

// stat returns the state of a file. On this system its inode is unknown: a change
// keeps neither size nor time.
func stat(path string) (FileStat, error) {
	info, err := os.Stat(path)
	if err != nil {
		return FileStat{}, err
	}
	return FileStat{Size: info.Size(), Modified: jsonl.Encodable(info.ModTime()), changed: info.ModTime().UnixNano(), regular: info.Mode().IsRegular()}, nil
}
