package pipelines

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// definitions returns the pipelines of the repository. They are read when they are needed,
// once.
func (p Runs) definitions(files *os.Root) progress.Definitions {
	return sync.OnceValues(func() (map[string]*contract.Pipeline, error) {
		b, err := plainfile.ReadIn(files, contract.Definition, contract.MaxFile)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, handoff.E("read pipeline", contract.Definition, handoff.Unavailable, durable.Reason(err),
				handoff.Advice("make it a readable file of at most 1 MiB"))
		}
		return contract.Parse(contract.Definition, b, plainfile.FS(p.o.Root, contract.MaxFile))
	})
}
