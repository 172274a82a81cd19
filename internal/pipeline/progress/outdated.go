package progress

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
	"github.com/agent-handoff/handoff/pipeline"
)

// addOutdated finds the outdated files of a run that is not archived.
func (s *State) addOutdated(p *contract.Pipeline) {
	if s.Archived {
		return
	}
	for _, stage := range p.Stages {
		if out, ok := s.Outputs[stage.Name]; ok {
			s.checkNewest(stage.Name, out.File, s.last(stage.Name), s.Attempts)
		}
	}
	s.checkNewest(contract.State, contract.StateFile, s.currentNotes(), s.NoteAttempts)
}

// checkNewest adds a file to Outdated if its attempt, which is that at an index, is
// not the newest of its stage.
func (s *State) checkNewest(stage, file string, at int, attempts []Attempt) {
	if at < 0 {
		return
	}
	for _, a := range slices.Backward(attempts[at+1:]) {
		if a.Stage == stage && a.ID != "" {
			s.Outdated = append(s.Outdated, pipeline.Outdated{Stage: stage, Path: s.file(file), Ref: a.Ref, Rev: a.Revision})
			return
		}
	}
}

func (s *State) isOutdated(stage string) bool {
	return slices.ContainsFunc(s.Outdated, func(o pipeline.Outdated) bool { return o.Stage == stage })
}

// currentNotes returns the index of the revision of the notes that state.yaml has,
// -1 if it has none of them.
func (s *State) currentNotes() int {
	digest := digestOf(s.Notes)
	for i, a := range slices.Backward(s.NoteAttempts) {
		if s.Notes != nil && a.Digest == digest {
			return i
		}
	}
	return -1
}

// RestoreStage writes the newest attempt of a stage to its file, if that is missing
// or has the content of an earlier attempt. Kinds: Conflict (the file has an edit
// that is not recorded), and those of Read and Get.
func (r *Runs) RestoreStage(ctx context.Context, issue, stage string) (pipeline.File, error) {
	name := contract.StateFile
	if !r.isState(stage) {
		st, err := r.Pipeline.Stage(stage)
		if err != nil {
			return pipeline.File{}, err
		}
		if name = st.Artifact; st.IsPattern() {
			name = stage
		}
	}
	if _, err := r.Read(ctx, issue); err != nil { // the lock would create the folder of all runs
		return pipeline.File{}, err
	}
	// The shared lock keeps Archive from moving the folder.
	err := folder.Lock(ctx, r.Files, syscall.LOCK_SH, func(*os.Root) error {
		records, err := r.records(ctx, issue)
		head, ok := r.currentHeads(records, issue)[name]
		if err != nil || !ok {
			return err
		}
		if missing, err := r.writer(issue).Restore(ctx, head); missing || err != nil {
			return err
		}
		edited, err := r.writer(issue).RenderHead(ctx, head)
		if edited {
			err = handoff.E("restore", issue+"/"+name, handoff.Conflict, errors.New("the file has an edit that is not recorded"),
				handoff.Suggest("record it", handoff.ActionSubmit, issue, name, head.Path))
		}
		return err
	})
	if err != nil {
		return pipeline.File{}, err
	}
	return r.Get(ctx, issue, stage)
}
