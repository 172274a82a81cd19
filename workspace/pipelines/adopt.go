package pipelines

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/pipeline"
)

// AdoptOptions say how AdoptAt adopts the runs in a directory.
type AdoptOptions struct {
	DryRun bool
	Define bool // write handoff.pipeline.yaml with the definition of the tool
}

// IsFolder reports whether what the caller types names a directory with runs, and not a run.
func IsFolder(p Runs, typed string) bool {
	return strings.Contains(typed, "/") || contract.CheckIssue(typed) != nil || !p.IsOpen(typed) &&
		plainfile.CheckDir(p.o.Path(typed)) == nil
}

// AdoptAt records the files of the runs in a directory of another tool as they are: of
// OpenSpec, spec-kit or Kiro, or of a pipeline whose definition has a folder. Nothing is
// moved, and what is recorded already is not recorded again. Kinds: NotFound (no pipeline
// has its runs there), Conflict, and those of Put.
func AdoptAt(ctx context.Context, p Runs, typed string, o AdoptOptions) (pipeline.AdoptionList, error) {
	rel, err := filepath.Rel(p.o.Root, p.o.Path(typed))
	if err != nil || !filepath.IsLocal(rel) {
		return pipeline.AdoptionList{}, handoff.E("adopt", typed, handoff.Invalid, errors.New("is not in the workspace"),
			handoff.Advice("name a directory of the main worktree"))
	}
	if dir, issue := path.Split(filepath.ToSlash(rel)); path.Clean(dir) == contract.Folder {
		done, err := p.Adopt(ctx, issue, o.DryRun)
		return pipeline.AdoptionList{Runs: []pipeline.Adoption{done}, DryRun: o.DryRun}, err
	}
	list, err := in(p, func(r *progress.Runs) (pipeline.AdoptionList, error) {
		return r.AdoptAt(ctx, filepath.ToSlash(rel), o.DryRun, o.Define)
	})
	if err == nil && !o.DryRun {
		for i, run := range list.Runs {
			if len(run.Adopted) > 0 {
				list.Runs[i].Warnings = append(run.Warnings, p.o.Finish(ctx, p.o.Producer.Session)...)
			}
		}
	}
	return list, err
}
