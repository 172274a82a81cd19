package progress

import (
	"context"

	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// definitionWriter returns the writer of the definition of a run.
func (r *Runs) definitionWriter(issue string) names.Writer {
	own := *r
	own.Pipeline = &contract.Pipeline{Folder: contract.Folder}
	return own.writer(issue)
}

var _ = context.Background
