package progress

import (
	"cmp"
	"context"
	"os"
	"path"
	"slices"
	"syscall"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
	"github.com/agent-handoff/handoff/pipeline"
)

// Adopt records the artifacts in the folder of a run as they are: those without a
// record, and those that violate their contract. What they violate is a warning
// from then on, so that a run of another tool continues from its state. The
// order is that of the run's own trace, otherwise that of the stages. A file that is
// not a JSON object, or has another name than the artifact of its stage, is left
// out. Its kinds are those of Read and of Put.
func (r *Runs) Adopt(ctx context.Context, issue string) (pipeline.Adoption, error) {
	return r.adoptAll(ctx, pipeline.Adoption{Issue: issue, Adopted: []pipeline.AdoptedStage{}})
}

// Adoptable returns what Adopt would record, without IDs, and records nothing.
func (r *Runs) Adoptable(ctx context.Context, issue string) (pipeline.Adoption, error) {
	return r.adoptAll(ctx, pipeline.Adoption{Issue: issue, Adopted: []pipeline.AdoptedStage{}, DryRun: true})
}

func (r *Runs) adoptAll(ctx context.Context, adoption pipeline.Adoption) (pipeline.Adoption, error) {
	issue := adoption.Issue
	s, err := r.Read(ctx, issue)
	if err != nil {
		return adoption, err
	}
	if err := r.checkUnused(ctx, issue); err != nil {
		return adoption, err
	}
	stages := slices.Clone(r.Pipeline.Stages)
	slices.SortStableFunc(stages, func(a, b *contract.Stage) int { return cmp.Compare(s.last(a.Name), s.last(b.Name)) })
	each := func(*os.Root) error {
		for _, stage := range stages {
			if err := r.adopt(ctx, &adoption, stage); err != nil {
				return err
			}
		}
		return nil
	}
	if adoption.DryRun { // without the lock, which would create the folder of pipelines
		err = each(nil)
	} else {
		// The lock keeps Archive from moving the folder, and another Adopt from recording the same.
		err = folder.Lock(ctx, r.Files, syscall.LOCK_EX, each)
	}
	return adoption, err
}

// leaveOut notes that a file is not recorded, and why.
func leaveOut(a *pipeline.Adoption, file, reason string) {
	a.LeftOut = append(a.LeftOut, file)
	a.Warnings = append(a.Warnings, file+" is left out: "+reason)
}

// adopt records the artifact of a stage.
func (r *Runs) adopt(ctx context.Context, adoption *pipeline.Adoption, stage *contract.Stage) error {
	s, err := r.Read(ctx, adoption.Issue) // with what was adopted before
	if err != nil {
		return err
	}
	out, ok := s.Outputs[stage.Name]
	for _, name := range stage.Files() {
		if name != stage.Artifact && exists(r.Files, path.Join(s.Folder, name)) {
			leaveOut(adoption, s.file(name), "only "+stage.Artifact+" is recorded as the artifact of "+stage.Name)
		}
	}
	switch {
	case ok && out.File == stage.Artifact && out.Report.Value == nil:
		leaveOut(adoption, s.file(out.File), out.Unusable())
		return nil
	case !ok || out.File != stage.Artifact:
		return nil
	}
	if stage.IsPattern() {
		return r.adoptFiles(ctx, adoption, stage, s)
	}
	if at := s.last(stage.Name); at >= 0 && s.Attempts[at].ID != "" && s.Attempts[at].Digest == out.Digest &&
		out.Report.Valid() {
		return nil
	}
	if adoption.DryRun {
		adoption.Adopted = append(adoption.Adopted,
			pipeline.AdoptedStage{Stage: stage.Name, Path: s.file(out.File), Problems: out.Report.Errors})
		return nil
	}
	draft := draftOf(stage, adoption.Issue, out.Report.Value, r.assume(stage, &s), true)
	draft.Metadata["adopted"], draft.Parents = true, s.withSet(draft.Parents)
	written, err := r.writer(adoption.Issue).Adopt(ctx, draft)
	if err != nil {
		return err
	}
	adoption.Adopted = append(adoption.Adopted, pipeline.AdoptedStage{Stage: stage.Name, Path: s.file(out.File),
		ID: written.ID, Problems: out.Report.Errors})
	adoption.Warnings = append(adoption.Warnings, written.Warnings...)
	return nil
}
