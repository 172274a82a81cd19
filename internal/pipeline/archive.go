package pipeline

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
)

// A Move is where a run's folder lay and where it lies now, below the
// workspace.
type Move struct {
	Issue    string   `json:"issue"`
	From     string   `json:"from"`
	To       string   `json:"to"`
	Warnings []string `json:"warnings,omitempty"`
}

// Archive moves a run's folder to .pipeline/completed, and records that it was
// moved. Where that has one of its name already, the new one gets the first
// suffix that is free: 42.2. A run that is not finished is moved only by force.
//
// Kinds: those of Read, Conflict (not finished) and those of
// handoff.Hub.Record.
func (b *Book) Archive(ctx context.Context, issue string, force bool) (Move, error) {
	var m Move
	err := b.exclusively(issue, func(dir *os.Root) error {
		s, err := b.Read(ctx, issue)
		if err != nil {
			return err
		}
		if step := Next(b.Pipeline, s); !step.Done && !force {
			return &handoff.Error{Op: "archive", Name: issue, Kind: handoff.Conflict, Err: fmt.Errorf("is not finished: %s", step.Reason),
				Hint: handoff.Advice("handoff pipeline next " + issue + " tells what is missing")}
		}
		if err := dir.MkdirAll(contract.Completed, 0o777); err != nil {
			return unmoved("archive", issue, err)
		}
		to := path.Join(contract.Completed, issue)
		for n := 2; taken(dir, to); n++ {
			to = path.Join(contract.Completed, fmt.Sprintf("%s.%d", issue, n))
		}
		m, err = b.move(ctx, dir, "archive", issue, issue, to)
		return err
	})
	return m, err
}

// Unarchive moves an archived run back, by the name that its folder has in
// .pipeline/completed. Its issue is the one that its records name, where there
// are any: the folder 42.2 may be a run of issue 42.
//
// Kinds: Invalid, NotFound, Conflict (the issue has a run now), Unavailable, and
// those of handoff.Hub.Record.
func (b *Book) Unarchive(ctx context.Context, name string) (Move, error) {
	checked := name
	if base, suffix, ok := cutLast(name, "."); ok && strings.Trim(suffix, "0123456789") == "" {
		checked = base // the suffix is not the issue's
	}
	var m Move
	err := b.exclusively(checked, func(dir *os.Root) error {
		from := path.Join(contract.Completed, name)
		if !taken(dir, from) {
			return &handoff.Error{Op: "unarchive", Name: name, Kind: handoff.NotFound, Err: fmt.Errorf("there is no %s", path.Join(Folder, from)),
				Hint: handoff.Advice("name a folder of " + path.Join(Folder, contract.Completed))}
		}
		issue, err := b.issueOf(ctx, name)
		if err != nil {
			return err
		}
		if taken(dir, issue) {
			return &handoff.Error{Op: "unarchive", Name: name, Kind: handoff.Conflict, Err: fmt.Errorf("there is a %s already", path.Join(Folder, issue)),
				Hint: handoff.Advice("handoff pipeline archive " + issue + " makes room for it")}
		}
		m, err = b.move(ctx, dir, "unarchive", issue, from, issue)
		return err
	})
	return m, err
}

// exclusively runs do while nobody puts into a run, or moves one.
func (b *Book) exclusively(issue string, do func(dir *os.Root) error) error {
	if err := contract.CheckIssue(issue); err != nil {
		return err
	}
	if _, err := b.Files.Lstat(Folder); errors.Is(err, fs.ErrNotExist) {
		return (State{Issue: issue, Folder: path.Join(Folder, issue)}).unread(err)
	}
	return locked(b.Files, syscall.LOCK_EX, func(dir *os.Root, _ *os.File) error { return do(dir) })
}

func taken(dir *os.Root, name string) bool {
	_, err := dir.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// issueOf returns the issue that an archived folder is of: its records are in
// that namespace.
func (b *Book) issueOf(ctx context.Context, name string) (string, error) {
	base, _, numbered := cutLast(name, ".")
	if !numbered || contract.CheckIssue(base) != nil {
		return name, nil
	}
	records, err := b.records(ctx, base)
	for _, a := range records {
		if strings.HasPrefix(a.Path, path.Join(Folder, contract.Completed, name)+"/") {
			return base, err
		}
	}
	return name, err
}

// move renames a folder within that of all runs, and records it. Where it can't
// be recorded the folder is moved back.
func (b *Book) move(ctx context.Context, dir *os.Root, op, issue, from, to string) (Move, error) {
	m := Move{Issue: issue, From: path.Join(Folder, from), To: path.Join(Folder, to)}
	if err := dir.Rename(from, to); err != nil {
		return m, unmoved(op, issue, err)
	}
	var err error
	if _, m.Warnings, err = b.Hub.Record(ctx, &handoff.PathMoved{From: m.From, To: m.To}); err != nil {
		return m, errors.Join(err, dir.Rename(to, from))
	}
	for _, changed := range []string{path.Dir(from), path.Dir(to)} {
		if err := syncDir(dir, changed); err != nil {
			return m, unmoved(op, issue, err)
		}
	}
	return m, nil
}

func unmoved(op, issue string, err error) error {
	return &handoff.Error{Op: op, Name: issue, Kind: handoff.Unavailable, Err: err, Hint: handoff.Advice("whoever archives needs to write to " + Folder)}
}

func syncDir(dir *os.Root, name string) error {
	d, err := dir.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
