package workspace

import (
	"github.com/agent-handoff/handoff/session"

	"cmp"
	"context"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace/pipelines"
)

// Pipelines returns the pipeline runs of the workspace. A linked worktree uses
// those of the main worktree, so that recycling it loses nothing.
func (w *Workspace) Pipelines() pipelines.Runs {
	return pipelines.New(pipelines.Options{
		Hub: w.as, Producer: w.caller.Producer, Workspace: w.dirs.Root, Root: cmp.Or(w.dirs.Worktree(""), w.dirs.Root),
		Own: w.ownFolders, Path: w.path, Resolve: w.resolveAll, Finish: w.finish, Now: w.now,
		Verify: w.Claims(nil).Attested, Session: w.ownSession(),
		Conclude: func(ctx context.Context, list []handoff.Work) []handoff.Work { return conclude(ctx, w, nil, list) },
	})
}

// ownFolders returns the folders that handoff writes to, relative to the
// workspace.
func (w *Workspace) ownFolders() []string {
	own := []string{".handoff", below(w.dirs.Root, w.dirs.Runtime)}
	if outputs, err := w.Runs().Explain("agent_outputs_folder", session.VariableOptions{}); err == nil {
		own = append(own, below(w.dirs.Root, outputs.Value))
	}
	return own
}

// stageFile opens the file that a ref, ISSUE/NAME, names in the folder of a run
// and that has no record.
func (w *Workspace) stageFile(ref string) (b Body, ok bool) {
	issue, name, _ := strings.Cut(ref, "/")
	f, file, err := w.Pipelines().OpenFile(issue, name)
	if err != nil {
		return b, false
	}
	return Body{Content: handoff.Content{ReadSeekCloser: f}, Unrecorded: file,
		record: handoff.Suggest("record it", handoff.ActionSubmit, issue, name, file)}, true
}
