//go:build !linux && !darwin

package thread

import (
	"os"
	"path/filepath"
)

// openDir opens a directory.
func openDir(path string) (*os.File, error) { return os.Open(path) }

// statIn returns the state of a file in an open directory.
func statIn(dir *os.File, name string) (FileStat, error) {
	return stat(filepath.Join(dir.Name(), name))
}

// stat returns the state of a file. On this system its inode is unknown: a change
// keeps neither size nor time.
func stat(path string) (FileStat, error) {
	info, err := os.Stat(path)
	if err != nil {
		return FileStat{}, err
	}
	return FileStat{Size: info.Size(), Modified: info.ModTime(), changed: info.ModTime().UnixNano(), regular: info.Mode().IsRegular()}, nil
}
