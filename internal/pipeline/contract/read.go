package contract

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/durable"
)

// ReadFile reads an artifact, up to one byte more than MaxArtifact. Errors call
// the file name. Their kinds are NotFound and Unavailable.
func ReadFile(file, name string) ([]byte, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, &handoff.Error{Op: "read", Name: name, Kind: handoff.NotFound, Err: errors.New("no such file"),
			Hint: handoff.Advice("check the path")}
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(file)
	}
	if err != nil {
		return nil, &handoff.Error{Op: "read", Name: name, Kind: handoff.Unavailable, Err: durable.Reason(err), Hint: handoff.Advice("name a readable file")}
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxArtifact+1))
}
