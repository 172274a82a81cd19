package contract

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/agent-handoff/handoff"
)

// ReadFile reads an artifact, by its path from a directory, or from standard
// input where that is "-", up to one byte more than an artifact may have. Its kinds are NotFound and Unavailable.
func ReadFile(dir, name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(stdin, MaxArtifact+1))
	}
	file := name
	if !filepath.IsAbs(name) {
		file = filepath.Join(dir, name)
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, &handoff.Error{Op: "read", Name: name, Kind: handoff.NotFound, Err: errors.New("there is no such file"),
			Hint: handoff.Advice("its stage has not been written yet")}
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is no regular file")
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(file)
	}
	if err != nil {
		return nil, &handoff.Error{Op: "read", Name: name, Kind: handoff.Unavailable, Err: err, Hint: handoff.Advice("name a file that can be read")}
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxArtifact+1))
}
