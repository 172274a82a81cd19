package pipelines

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/workspace"
)

// Running reports whether an issue has a run that is not archived.
func Running(w *workspace.Workspace, issue string) bool {
	if contract.CheckIssue(issue) != nil {
		return false
	}
	info, err := os.Lstat(filepath.Join(home(w), pipeline.Folder, issue))
	return err == nil && info.IsDir()
}

// Archived reports whether an issue has a run that is archived.
func Archived(ctx context.Context, w *workspace.Workspace, issue string) bool {
	if contract.CheckIssue(issue) != nil || handoff.IsArtifactIDPrefix(issue) {
		return false
	}
	if _, err := os.Lstat(filepath.Join(home(w), pipeline.Folder, contract.Completed)); err != nil {
		return false
	}
	return open(w, handoff.Producer{}, func(b *pipeline.Book) error {
		_, err := b.Find(ctx, issue)
		return err
	}) == nil
}

// OpenUnrecorded opens the file that a ref, ISSUE/plan.json, names in the folder
// of an issue's run, and returns its path below the workspace; nil where there
// is none.
func OpenUnrecorded(w *workspace.Workspace, ref string) (*os.File, string) {
	issue, name, _ := strings.Cut(ref, "/")
	if contract.CheckIssue(issue) != nil || !fs.ValidPath(name) {
		return nil, ""
	}
	root, err := os.OpenRoot(filepath.Join(home(w), pipeline.Folder, issue))
	if err != nil {
		return nil, ""
	}
	defer root.Close()
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, ""
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, ""
	}
	return f, path.Join(pipeline.Folder, issue, name)
}

// Show prints the run of an issue at a glance, the one that was archived last
// where it has none now: its stages, what is stale, and what comes next. Its
// kinds are those of pipeline.Book.Find.
func Show(ctx context.Context, a *cli.App, w *workspace.Workspace, issue string) error {
	d := &desk{a}
	return open(w, handoff.Producer{}, func(b *pipeline.Book) error {
		s, err := b.Find(ctx, issue)
		if err != nil {
			return err
		}
		s.Base = base(w)
		o := pipeline.OverviewOf(b.Pipeline, s)
		return d.print(o, func() { d.overview(o) })
	})
}

func (d *desk) overview(o pipeline.Overview) {
	rows := make([][]string, len(o.Stages))
	for i, v := range o.Stages {
		rows[i] = v.Row()
	}
	fmt.Fprintf(d.Out, "%-6s  %s\n%-6s  %s\n", "issue", o.Issue, "folder", o.Folder)
	d.Table([]string{"stage", "outcome", "attempts", "path", "what it says"}, rows)
	d.lines(o.Next.String())
}
