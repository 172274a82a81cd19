package contract

import (
	"errors"
	"io"
	"io/fs"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// ReadFile reads an artifact, up to one byte more than MaxArtifact. Errors call
// the file name. Their kinds are NotFound and Unavailable.
func ReadFile(file, name string) ([]byte, error) {
	f, err := plainfile.OpenLinked(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, handoff.E("read", name, handoff.NotFound, errors.New("no such file"),
			handoff.Advice("check the path"))
	}
	if err != nil {
		return nil, handoff.E("read", name, handoff.Unavailable, durable.Reason(err), handoff.Advice("name a readable file"))
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxArtifact+1))
}
