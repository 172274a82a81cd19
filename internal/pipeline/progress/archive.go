package progress

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/pipeline"
)

// Archive moves a run's folder to .pipeline/completed and records the move. If
// that name is taken, the folder gets the first free number: 42~2. Files in the
// folder of another tool stay there, and there is a warning. A run that is not
// finished, or whose last gate fails, is only moved with force. Open work on it is
// recorded as cancelled.
//
// Kinds: those of Read, Conflict (not finished, or a gate fails) and those of
// handoff.Hub.Record.
func (r *Runs) Archive(ctx context.Context, issue string, o pipeline.ArchiveOptions) (pipeline.Move, error) {
	var m pipeline.Move
	err := r.exclusively(ctx, issue, func(dir *os.Root) error {
		s, err := r.Read(ctx, issue)
		if errors.Is(err, handoff.NotFound) && r.isRemoved(ctx, issue) {
			if _, err = r.restore(ctx, issue); err == nil {
				s, err = r.Read(ctx, issue)
			}
		}
		if err != nil {
			return err
		}
		s.AcceptStale = o.AcceptStale
		if !o.Force {
			if err := r.checkFinished(ctx, s); err != nil {
				return err
			}
		}
		if err := dir.MkdirAll(contract.Completed, 0o777); err != nil {
			return moveError("archive", issue, err)
		}
		to := path.Join(contract.Completed, issue)
		for n := 2; exists(dir, to); n++ {
			if _, err := dir.Lstat(to); err != nil { // not known to be free
				return moveError("archive", issue, err)
			}
			to = path.Join(contract.Completed, contract.ArchivedName(issue, n))
		}
		m, err = r.move(ctx, dir, "archive", issue, issue, to)
		for _, o := range s.Outdated {
			m.Warnings = append(m.Warnings, o.String())
		}
		if err == nil {
			m.Warnings = append(m.Warnings, r.cancel(ctx, issue)...)
		}
		if err == nil && r.Pipeline.Folder != contract.Folder {
			m.Warnings = append(m.Warnings, "the files of the run stay in "+s.Folder+"; only its definition was moved")
		}
		return err
	})
	return m, err
}

// isRemoved reports whether the folder of an issue's current run was removed.
func (r *Runs) isRemoved(ctx context.Context, issue string) bool {
	s, err := r.Find(ctx, issue)
	return err == nil && s.Missing
}

// checkFinished returns an error of kind Conflict if a run is not finished or if
// the gate of a merge fails.
func (r *Runs) checkFinished(ctx context.Context, s State) error {
	refuse := func(reason string, hint handoff.Hint) error {
		return handoff.E("archive", s.Issue, handoff.Conflict, errors.New(reason), hint)
	}
	if len(s.Outdated) > 0 {
		return refuse(s.Outdated[0].String(), s.Outdated[0].Hint(s.Issue))
	}
	step, err := r.next(ctx, s)
	if err == nil && !step.Done {
		hint := handoff.Suggest("see what is missing", handoff.ActionNext, s.Issue)
		stage, unknown := r.Pipeline.Stage(step.Stage)
		if _, ok := s.Outputs[step.Stage]; ok && unknown == nil && stage.Has(contract.CheckMerge) {
			hint = handoff.Suggest("see every finding", handoff.ActionGate, s.Issue, step.Stage)
		}
		return refuse("not finished: "+step.Reason, hint)
	}
	return err
}

// Unarchive moves an archived run back. Its name is that of its folder in
// .pipeline/completed, also with completed/ before it.
//
// Kinds: Invalid, NotFound, Conflict (the issue has a run now), Unavailable, and
// those of handoff.Hub.Record.
func (r *Runs) Unarchive(ctx context.Context, name string) (pipeline.Move, error) {
	var m pipeline.Move
	name = strings.TrimPrefix(name, contract.Completed+"/")
	issue := contract.IssueOf(name)
	err := r.exclusively(ctx, issue, func(dir *os.Root) error {
		from := path.Join(contract.Completed, name)
		if !exists(dir, from) {
			return handoff.E("unarchive", name, handoff.NotFound,
				fmt.Errorf("%s does not exist", path.Join(contract.Folder, from)),
				handoff.Advice("use the name of a folder in "+path.Join(contract.Folder, contract.Completed)))
		}
		if exists(dir, issue) {
			return handoff.E("unarchive", name, handoff.Conflict, fmt.Errorf("%s exists", path.Join(contract.Folder, issue)),
				handoff.Suggest("archive the current run first", handoff.ActionArchive, issue))
		}
		var err error
		m, err = r.move(ctx, dir, "unarchive", issue, from, issue)
		return err
	})
	return m, err
}

// exclusively runs do while no other process submits to a run or moves one.
func (r *Runs) exclusively(ctx context.Context, issue string, do func(dir *os.Root) error) error {
	if err := contract.CheckIssue(issue); err != nil {
		return err
	}
	if _, err := r.Files.Lstat(contract.Folder); errors.Is(err, fs.ErrNotExist) && !r.isRemoved(ctx, issue) {
		return (State{Issue: issue, Folder: path.Join(contract.Folder, issue)}).readError(err) // the lock would create it
	}
	return folder.Lock(ctx, r.Files, syscall.LOCK_EX, do)
}

func exists(dir *os.Root, name string) bool {
	_, err := dir.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// move renames a folder inside the folder of all runs and records it. If it
// can't be recorded, the folder is moved back.
func (r *Runs) move(ctx context.Context, dir *os.Root, op, issue, from, to string) (pipeline.Move, error) {
	m := pipeline.Move{Issue: issue, From: path.Join(contract.Folder, from), To: path.Join(contract.Folder, to)}
	if err := dir.Rename(from, to); err != nil {
		return m, moveError(op, issue, err)
	}
	var err error
	if _, m.Warnings, err = r.Hub.Record(ctx, &handoff.PathMoved{From: m.From, To: m.To}); err != nil {
		return m, errors.Join(err, dir.Rename(to, from))
	}
	for _, changed := range []string{path.Dir(from), path.Dir(to)} {
		if err := durable.SyncDir(dir, changed); err != nil {
			return m, moveError(op, issue, err)
		}
	}
	return m, nil
}

func moveError(op, issue string, err error) error {
	return handoff.E(op, issue, handoff.Unavailable, durable.Reason(err), handoff.Advice(folder.WritableHint))
}

// isArchived reports whether a name is that of a later archived run of an issue: ISSUE~2.
func isArchived(name string) bool {
	issue := contract.IssueOf(name)
	return issue != name && contract.CheckIssue(issue) == nil
}

// archived returns the error for a run whose folder was moved.
func archived(name, folder string) error {
	return handoff.E("read run", name, handoff.NotFound, fmt.Errorf("was archived to %s", folder),
		handoff.Suggest("move it back", handoff.ActionUnarchive, path.Base(folder)))
}
