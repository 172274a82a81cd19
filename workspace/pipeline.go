package workspace

import (
	"github.com/agent-handoff/handoff/internal/trace/outcome"
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
		Hub: w.c.Hub, Producer: w.c.Producer, Workspace: w.c.Dirs.Root,
		Root: cmp.Or(w.c.Dirs.Worktree(""), w.c.Dirs.Root),
		Own:  w.ownFolders, Path: w.c.Path, Resolve: w.c.ResolveAll, Finish: w.c.Finish, Now: w.c.Now,
		Verify: w.Claims(nil).Attested, Session: w.c.OwnSession(),
		Conclude: func(ctx context.Context, list []handoff.Work) []handoff.Work {
			return outcome.Conclude(ctx, w.sessions, nil, w.c.Now(), list)
		},
	})
}

// ownFolders returns the folders that handoff writes to, relative to the
// workspace.
func (w *Workspace) ownFolders() []string {
	own := []string{".handoff", below(w.c.Dirs.Root, w.c.Dirs.Runtime)}
	if outputs, err := w.Sessions().Explain("agent_outputs_folder", session.VariableOptions{}); err == nil {
		own = append(own, below(w.c.Dirs.Root, outputs.Value))
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

// stages finds the files of stages that have no record.
type stages struct{ w *Workspace }

func (s stages) FindUnrecorded(ref string) (file string, record handoff.Hint, ok bool) {
	b, ok := s.w.stageFile(ref)
	if ok {
		b.Close()
	}
	return b.Unrecorded, b.record, ok
}
