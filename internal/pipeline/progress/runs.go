package progress

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/pipeline"
)

// Runs are the pipeline runs of a workspace. In its records an issue is a
// namespace and plan.json a name in it: the newest revision is in the run's
// folder, and every earlier one can be read.
type Runs struct {
	Hub      *handoff.Hub
	Files    *os.Root // the directory that contains .pipeline
	Pipeline *contract.Pipeline

	// Definitions are the pipelines of which Pipeline is one.
	Definitions Definitions

	// Repository is what gates compare with artifacts.
	Repository gate.Repository

	// Verify returns the verdict on a command in a directory of the workspace, with the
	// reason. It is needed only for stages that require one.
	Verify func(ctx context.Context, argv []string, dir string) (v handoff.Verdict, reason string, err error)

	// Who uses the runs, for the work on stages: its session of handoff, "" for none, and
	// the process of its program, zero if it is not known.
	Producer handoff.Producer
	Session  string
	Process  handoff.Process

	Now      func() time.Time
	Conclude func(context.Context, []handoff.Work) []handoff.Work // the status of work without an end

	// Base is the prefix of the paths in answers, "" if they are relative to the
	// workspace.
	Base string

	definition *handoff.Artifact  // the record of the definition, nil for none; see Of
	edited     *pipeline.Outdated // the file of the definition, if it does not have it
}

// verdict returns the result of the gate of a stage whose artifact is submitted, nil if
// it can't be known.
func (r *Runs) verdict(ctx context.Context, s State, stage *contract.Stage, out gate.Output) *pipeline.GateVerdict {
	if gate.ComparesChanges(stage) && r.Repository.Git == nil || len(stage.Gate.Verified) > 0 && r.Verify == nil {
		return nil
	}
	s.Outputs = maps.Clone(s.Outputs)
	if s.Outputs == nil {
		s.Outputs = map[string]gate.Output{}
	}
	s.Outputs[stage.Name] = out
	result, err := r.check(ctx, s, stage, "")
	if err != nil {
		return nil
	}
	return result.Verdict()
}

// Read returns the state of a run from its folder and its records. Attempts made
// before the folder was archived belong to another run. An artifact without a
// record, or changed since it was recorded, is an attempt too; see addUnrecorded
// for its place. A file that has the
// content of an attempt before the newest is that attempt; see State.Outdated.
//
// Kinds: Invalid, for the ID, NotFound and Unavailable.
func (r *Runs) Read(ctx context.Context, issue string) (State, error) {
	if isArchived(issue) {
		s, err := r.readArchived(ctx, issue)
		if err == nil {
			err = archived(issue, s.Folder)
		}
		return s, err
	}
	s, _, err := r.read(ctx, issue)
	if errors.Is(err, handoff.NotFound) {
		return s, r.missing(ctx, s)
	}
	return s, err
}

// read is Read with the records of the issue. A run without a folder has its records,
// and the kind is NotFound.
func (r *Runs) read(ctx context.Context, issue string) (State, []handoff.Artifact, error) {
	s, missing := Read(r.Files, r.Pipeline, issue)
	if missing != nil && !errors.Is(missing, handoff.NotFound) {
		return s, nil, missing
	}
	records, err := r.records(ctx, issue)
	if err != nil {
		return s, nil, err
	}
	s.Base = r.Base
	r.addRecords(ctx, &s, records)
	if r.edited != nil && missing == nil {
		s.Outdated = append(s.Outdated, *r.edited)
	}
	return s, records, missing
}

// Stale reports whether the file of a stage's artifact, of which head is the newest
// record, was not written by the process that recorded head. See names.Writer.Stale.
func (r *Runs) Stale(ctx context.Context, head handoff.Artifact) (bool, error) {
	stage, err := r.Pipeline.Stage(head.Name)
	if known := err == nil && stage.Owns(head.Name) || head.Name == contract.StateFile; !known ||
		contract.CheckIssue(head.Namespace) != nil {
		return false, nil
	}
	if _, err := r.Files.Lstat(path.Join(contract.Folder, head.Namespace)); err != nil {
		return false, nil // the run was removed
	}
	return r.writer(head.Namespace).Stale(ctx, head)
}

// writer returns the writer of the files of a run.
func (r *Runs) writer(issue string) names.Writer {
	dir := r.Files.Name()
	return names.Writer{Hub: r.Hub, Workspace: dir,
		Scope: names.Scope{Run: issue, Dir: dir, Within: dir,
			Folders: append(strings.Split(r.Pipeline.Folder, "/"), issue)}}
}

// Find is Read for a run that may be archived. A name is that of an issue, or
// that of a folder of an archived run: 42~2, or completed/42. Without a current
// run, an issue has the one that was archived last; without a folder, its state
// comes from the records alone.
func (r *Runs) Find(ctx context.Context, name string) (State, error) {
	if base, ok := strings.CutPrefix(name, contract.Completed+"/"); ok {
		return r.readArchived(ctx, base)
	}
	if isArchived(name) {
		return r.readArchived(ctx, name)
	}
	s, err := Read(r.Files, r.Pipeline, name)
	if !errors.Is(err, handoff.NotFound) {
		return r.Read(ctx, name)
	}
	records, err := r.records(ctx, name)
	if err != nil {
		return s, err
	}
	switch folder := r.lastFolder(name, records); {
	case folder == "":
		return s, s.readError(fs.ErrNotExist)
	case folder == s.Folder:
		s.Missing, s.Base = true, r.Base
		r.addRecords(ctx, &s, records)
		return s, nil
	default:
		return r.readArchived(ctx, path.Base(folder))
	}
}

// lastFolder returns the folder that the last run of an issue is or was in, "" if
// there is none. Of an archived run it is the folder that exists.
func (r *Runs) lastFolder(issue string, records []handoff.Artifact) string {
	for _, a := range slices.Backward(records) {
		in := strings.TrimSuffix(a.Path, "/"+a.Name)
		if _, err := r.Files.Lstat(in); in == path.Join(contract.Folder, issue) || err == nil &&
			path.Dir(in) == path.Join(contract.Folder, contract.Completed) {
			return in
		}
	}
	if folder := path.Join(contract.Folder, contract.Completed, issue); exists(r.Files, folder) {
		return folder
	}
	return ""
}

// readArchived reads the run in a folder of .pipeline/completed.
func (r *Runs) readArchived(ctx context.Context, name string) (State, error) {
	issue := contract.IssueOf(name)
	s, err := readFolder(r.Files, r.Pipeline, issue, path.Join(contract.Folder, contract.Completed, name))
	if err != nil {
		return s, err
	}
	s.Archived, s.Base = true, r.Base
	records, err := r.records(ctx, issue)
	r.addRecords(ctx, &s, records)
	return s, err
}

// missing returns the error for an issue without a folder: its run was archived,
// its folder was removed, or it has no run.
func (r *Runs) missing(ctx context.Context, s State) error {
	e := handoff.E("read run", s.Issue, handoff.NotFound, nil)
	records, err := r.records(ctx, s.Issue)
	if err != nil {
		return err
	}
	switch folder := r.lastFolder(s.Issue, records); folder {
	case "":
		return s.readError(fs.ErrNotExist)
	case s.Folder:
		e.Err = fmt.Errorf("%s was removed; its records exist", s.Folder)
		e.Hint = handoff.Suggest("write its files again", handoff.ActionRestoreRun, s.Issue)
	default:
		return archived(s.Issue, folder)
	}
	return e
}

// Restore writes the missing files of a run from the records of its newest
// attempts. Its kinds are NotFound (there is no record) and those of Put.
func (r *Runs) Restore(ctx context.Context, issue string) (pipeline.Run, error) {
	s := pipeline.Run{Issue: issue, Path: path.Join(r.Base, contract.Folder, issue)}
	if err := contract.CheckIssue(issue); err != nil {
		return s, err
	}
	// The shared lock keeps Archive from moving the folder.
	err := folder.Lock(ctx, r.Files, syscall.LOCK_SH, func(*os.Root) (err error) {
		s.Restored, err = r.restore(ctx, issue)
		return err
	})
	return s, err
}

// restore is Restore for a caller that has the lock.
func (r *Runs) restore(ctx context.Context, issue string) ([]string, error) {
	records, err := r.records(ctx, issue)
	if err != nil {
		return nil, err
	}
	heads := r.currentHeads(records, issue)
	if r.isDefined(issue) {
		heads[contract.RunDefinition] = *r.definition
	}
	if len(heads) == 0 {
		return nil, handoff.E("restore run", issue, handoff.NotFound, errors.New("no records of a current run"),
			handoff.Suggest("list the runs", handoff.ActionRuns))
	}
	restored := []string{}
	for _, name := range slices.Sorted(maps.Keys(heads)) {
		w := r.writer(issue)
		if name == contract.RunDefinition {
			w = r.definitionWriter(issue)
		}
		missing, err := w.Restore(ctx, heads[name])
		if err != nil {
			return restored, err
		}
		if missing {
			restored = append(restored, path.Join(r.Base, heads[name].Path))
		}
	}
	return restored, nil
}

// currentHeads returns the newest attempts of an issue's current run, by file name.
func (r *Runs) currentHeads(records []handoff.Artifact, issue string) map[string]handoff.Artifact {
	heads := map[string]handoff.Artifact{}
	for _, a := range records {
		if current := a.Path == path.Join(r.Pipeline.Folder, issue, a.Name) ||
			a.Path == path.Join(contract.Folder, issue, contract.RunDefinition); current && a.Status == handoff.Active &&
			a.Root == "" {
			heads[a.Name] = a
		}
	}
	return heads
}

// checkUnused returns an error of kind Conflict if an issue's ID is that of a
// session or run, or if a run has names in that namespace.
func (r *Runs) checkUnused(ctx context.Context, issue string) error {
	records, err := r.records(ctx, issue)
	if err != nil {
		return err
	}
	conflict := func(reason string) error {
		return handoff.E("put", issue, handoff.Conflict, errors.New(reason),
			handoff.Advice("use another issue ID, such as issue-"+issue))
	}
	for _, a := range records {
		if own := strings.HasPrefix(a.Path, path.Join(r.Pipeline.Folder, issue)+"/"); a.Root != "" ||
			!own && !strings.HasPrefix(a.Path, contract.Folder+"/") {
			return conflict("this is the ID of a run that wrote " + a.Name)
		}
	}
	session, err := r.Hub.Session(ctx, issue)
	if err == nil && session.Opened != 0 {
		return conflict("this is the ID of a session or run")
	}
	if errors.Is(err, handoff.NotFound) {
		return nil
	}
	return err
}

// Get returns the file of a stage's artifact in a run, archived or not. Its kinds
// are those of Find, NotFound if the stage has not been done, and Unavailable if it
// was and its file is missing.
func (r *Runs) Get(ctx context.Context, name, stage string) (pipeline.File, error) {
	f := pipeline.File{Issue: name, Stage: stage}
	s, err := r.Find(ctx, name)
	if err != nil {
		return f, err
	}
	if r.isState(stage) && s.Notes != nil {
		f.Path = s.file(contract.StateFile)
		return f, nil
	}
	st, err := r.Pipeline.Stage(stage)
	if err != nil {
		return f, err
	}
	if out, ok := s.Outputs[st.Name]; ok {
		f.Path = strings.Join(s.paths(out), "\n")
		if failedGate(HistoryOf(r.Pipeline, s)) == st.Name {
			f.Notices = []handoff.Notice{pipeline.GateFailed(st.Name)}
		}
		return f, nil
	}
	ref := s.Issue + "/" + st.Artifact
	if s.last(st.Name) >= 0 {
		return f, handoff.E("get", ref, handoff.Unavailable, errors.New("file is missing"),
			handoff.Suggest("print the stored copy", handoff.ActionRead, ref))
	}
	return f, handoff.E("get", ref, handoff.NotFound, errors.New("stage has not been done"),
		handoff.Suggest("see what comes next", handoff.ActionNext, s.Issue))
}
