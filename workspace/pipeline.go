package workspace

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// A PipelineOverview is the run of an issue: its stages, what is stale, and what
// comes next.
type PipelineOverview = pipeline.Overview

// runsRoot returns the directory that .pipeline is in. A linked worktree uses
// that of the main worktree, so that recycling it loses nothing.
func (w *Workspace) runsRoot() string { return cmp.Or(w.Worktree(""), w.Root) }

// withRuns runs do with the workspace's pipeline runs.
func (w *Workspace) withRuns(do func(*pipeline.Runs) error) error {
	stages, err := contract.Load(os.DirFS(filepath.Join(w.Runtime, "pipelines")))
	if err != nil {
		return err
	}
	files, err := openRoot(w.runsRoot())
	if err != nil {
		return err
	}
	defer files.Close()
	return do(&pipeline.Runs{Hub: w.as, Files: files, Pipeline: stages})
}

// isRunning reports whether an issue has a run that is not archived.
func (w *Workspace) isRunning(issue string) bool {
	if contract.CheckIssue(issue) != nil {
		return false
	}
	info, err := os.Lstat(filepath.Join(w.runsRoot(), pipeline.Folder, issue))
	return err == nil && info.IsDir()
}

// isArchived reports whether an issue has an archived run.
func (w *Workspace) isArchived(ctx context.Context, issue string) bool {
	if contract.CheckIssue(issue) != nil || handoff.IsArtifactIDPrefix(issue) {
		return false
	}
	if _, err := os.Lstat(filepath.Join(w.runsRoot(), pipeline.Folder, contract.Completed)); err != nil {
		return false
	}
	return w.withRuns(func(b *pipeline.Runs) error {
		_, err := b.Find(ctx, issue)
		return err
	}) == nil
}

// overview returns the run of an issue, or the one that was archived last.
func (w *Workspace) overview(ctx context.Context, issue string) (o PipelineOverview, err error) {
	err = w.withRuns(func(b *pipeline.Runs) error {
		s, err := b.Find(ctx, issue)
		if err != nil {
			return err
		}
		if dir := w.runsRoot(); dir != w.Root {
			s.Base = filepath.ToSlash(dir)
		}
		o = pipeline.OverviewOf(b.Pipeline, s)
		return nil
	})
	return o, err
}

// stageFile opens the file that a ref, ISSUE/NAME, names in the folder of a run
// and that has no record.
func (w *Workspace) stageFile(ref string) (b Body, ok bool) {
	issue, name, _ := strings.Cut(ref, "/")
	if contract.CheckIssue(issue) != nil || !fs.ValidPath(name) {
		return b, false
	}
	root, err := os.OpenRoot(filepath.Join(w.runsRoot(), pipeline.Folder, issue))
	if err != nil {
		return b, false
	}
	defer root.Close()
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return b, false
	}
	f, err := root.Open(name)
	if err != nil {
		return b, false
	}
	file := path.Join(pipeline.Folder, issue, name)
	return Body{Content: handoff.Content{ReadSeekCloser: f}, Unrecorded: file, record: handoff.Suggest("record it", handoff.ActionSubmit, issue, name, file)}, true
}
