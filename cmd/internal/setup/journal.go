package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// A Journal remembers what was changed in which file. It belongs to the user.
type Journal struct {
	dir   string
	Edits []Edit `json:"edits"` // one for each file
}

// journalName is the name of the journal in the directory of the user's state.
const journalName = "init.json"

// OpenJournal reads the journal in a directory, which need not exist.
func OpenJournal(dir string) (*Journal, error) {
	j := &Journal{dir: dir}
	data, err := plainfile.Read(filepath.Join(dir, journalName), 4*maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err != nil {
		return nil, failed(filepath.Join(dir, journalName), err)
	}
	if err := json.Unmarshal(data, j); err != nil {
		return nil, handoff.E("init", filepath.Join(dir, journalName), handoff.Corrupt, errors.New("is not valid JSON"),
			handoff.Advice("move the file away; handoff's entries must then be removed by hand"))
	}
	return j, nil
}

// find returns where the edit of a file is, -1 for nowhere.
func (j *Journal) find(file string) int {
	return slices.IndexFunc(j.Edits, func(e Edit) bool { return e.File == file })
}

// Has reports whether handoff was set up in a program for a target.
func (j *Journal) Has(program string, t Target) bool {
	return slices.ContainsFunc(j.Edits, func(e Edit) bool { return Undo{Target: t, Names: []string{program}}.includes(e) })
}

// written returns what init wrote to a file before.
func (j *Journal) written(file string) []Change {
	if i := j.find(file); i >= 0 {
		return j.Edits[i].Changes
	}
	return nil
}

// add stores an edit. If handoff was set up in the file before, what the file
// contained at first is kept; if another program changed it since, that is what it
// contains now without handoff's entries.
func (j *Journal) add(e Edit) error {
	i := j.find(e.File)
	if i < 0 {
		j.Edits = append(j.Edits, e)
		return j.save()
	}
	old := j.Edits[i]
	if old.Digest != digest(e.Before) && !isOwnFile(e.Changes) {
		var err error
		if old.Before, err = without(old, e.Before); err != nil {
			return failed(e.File, err)
		}
		old.Created = old.Created && isEmptyFile(e.File, old.Before)
	}
	e.Before, e.Created, e.Dirs = old.Before, old.Created, old.Dirs
	for _, c := range slices.Backward(old.Changes) {
		if !c.replacedBy(e.Changes) {
			e.Changes = slices.Insert(slices.Clone(e.Changes), 0, c)
		}
	}
	j.Edits[i] = e
	return j.save()
}

// without returns a file without what an edit wrote to it.
func without(e Edit, now []byte) ([]byte, error) {
	f := formatOf(e.File)
	before, err := f.decode(e.Before)
	if err != nil {
		return nil, err
	}
	ed, err := newEditor(f, now)
	if err != nil {
		return nil, err
	}
	for _, c := range e.Changes {
		if err := c.takeBack(ed, before); err != nil {
			return nil, err
		}
	}
	return ed.text, ed.check()
}

// isEmptyFile reports whether a file has no value.
func isEmptyFile(file string, text []byte) bool {
	value, err := formatOf(file).decode(text)
	return err == nil && empty(value) && (len(bytes.TrimSpace(text)) <= len("{}"))
}

func (j *Journal) save() error {
	b, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	return writeState(j.dir, journalName, append(b, '\n'))
}

// An Undone is a file that entries were taken back from.
type Undone struct {
	File     string `json:"file"`
	Restored bool   `json:"restored"`         // it is as it was before, byte for byte
	Removed  bool   `json:"removed"`          // it did not exist before
	Reason   string `json:"reason,omitempty"` // why only handoff's own entries were removed, or nothing
	Failed   bool   `json:"failed,omitempty"` // it still has entries, for that reason

	Before []byte `json:"-"` // what the file contains
	After  []byte `json:"-"` // what it contains then
}

// An Undo is what to take back.
type Undo struct {
	Target              // its scope and repository
	Names      []string // of programs, all if empty
	Everywhere bool     // in both scopes and in all repositories
	DryRun     bool     // only return what would be done
}

// Undo takes back what was set up. A file that was changed since only loses
// handoff's entries. One that can't be changed is reported, and stays in the
// journal.
func (j *Journal) Undo(o Undo) (list []Undone, err error) {
	for _, e := range slices.Clone(j.Edits) {
		if !o.includes(e) {
			continue
		}
		u := undo(e, o.DryRun)
		list = append(list, u)
		if o.DryRun || u.Failed {
			continue
		}
		j.Edits = slices.DeleteFunc(j.Edits, func(old Edit) bool { return old.File == e.File })
		if err := j.save(); err != nil {
			return list, err
		}
	}
	return list, nil
}

// Remaining returns how many files of other scopes and repositories have entries.
func (j *Journal) Remaining(o Undo) int {
	n := 0
	for _, e := range j.Edits {
		if !o.includes(e) {
			n++
		}
	}
	return n
}

func (o Undo) includes(e Edit) bool {
	if len(o.Names) > 0 && !slices.Contains(o.Names, e.Client) {
		return false
	}
	return o.Everywhere || (e.Scope == o.Scope && e.Root == o.root())
}

func undo(e Edit, dryRun bool) Undone {
	u := Undone{File: e.File}
	now, err := plainfile.Read(e.File, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		u.Reason = "the file does not exist"
		return u
	case err != nil:
		u.fail(failed(e.File, err))
	default:
		u.Before = now
		undoChanges(e, &u)
	}
	if dryRun || u.Failed || bytes.Equal(u.Before, u.After) && !u.Removed {
		return u
	}
	if u.Removed {
		u.fail(removeFile(e))
		return u
	}
	u.fail(replace(Edit{File: e.File, Before: u.Before, After: u.After}))
	return u
}

func (u *Undone) fail(err error) {
	if err != nil {
		u.Failed, u.Restored, u.Removed, u.Reason, u.After = true, false, false, err.Error(), u.Before
	}
}

// undoChanges finds out what a file contains without what was written to it.
func undoChanges(e Edit, u *Undone) {
	if digest(u.Before) == e.Digest {
		u.Removed, u.Restored, u.After = e.Created, !e.Created, e.Before
		if e.Created {
			u.After = nil
		}
		return
	}
	u.After = u.Before
	if isOwnFile(e.Changes) {
		u.Reason = "the file was changed since; it is left"
		return
	}
	after, err := without(e, u.Before)
	if err != nil {
		u.fail(err)
		return
	}
	u.After = after
	switch u.Reason = "the file was changed since; only the entries of handoff were removed"; {
	case bytes.Equal(after, u.Before):
		u.Reason = "the file was changed since and has no entry of handoff"
	case e.Created && isEmptyFile(e.File, after):
		u.Removed, u.Reason, u.After = true, "", nil
	}
}

// removeFile removes a file that did not exist before, and the directories that
// were made for it if they are empty.
func removeFile(e Edit) error {
	if err := os.Remove(e.File); err != nil {
		return failed(e.File, err)
	}
	for _, dir := range e.Dirs {
		if os.Remove(dir) != nil {
			break // it is not empty
		}
	}
	return nil
}
