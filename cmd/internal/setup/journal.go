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
	"github.com/agent-handoff/handoff/internal/plainfile"
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
		return nil, &handoff.Error{Op: "init", Name: filepath.Join(dir, journalName), Kind: handoff.Corrupt, Err: errors.New("is not valid JSON"),
			Hint: handoff.Advice("move the file away; handoff's entries must then be removed by hand")}
	}
	return j, nil
}

// add stores an edit. If handoff was set up in the file before and nothing else
// changed it, what it contained at first is kept.
func (j *Journal) add(e Edit) error {
	i := slices.IndexFunc(j.Edits, func(old Edit) bool { return old.File == e.File })
	if i < 0 {
		j.Edits = append(j.Edits, e)
		return j.save()
	}
	if old := j.Edits[i]; old.Digest == digest(e.Before) {
		e.Before, e.Created, e.Dirs = old.Before, old.Created, old.Dirs
	}
	j.Edits[i] = e
	return j.save()
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
}

// Undo takes back what was set up in some programs, all if none is named. A file
// that was changed since only loses handoff's entries.
func Undo(j *Journal, names []string) (list []Undone, err error) {
	for _, e := range slices.Clone(j.Edits) {
		if len(names) > 0 && !slices.Contains(names, e.Client) {
			continue
		}
		u, err := undo(e)
		if err != nil {
			return list, err
		}
		list = append(list, u)
		j.Edits = slices.DeleteFunc(j.Edits, func(old Edit) bool { return old.File == e.File })
		if err := j.save(); err != nil {
			return list, err
		}
	}
	return list, nil
}

func undo(e Edit) (Undone, error) {
	if e.Removed {
		return undoRemoval(e)
	}
	u := Undone{File: e.File}
	now, err := plainfile.Read(e.File, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		u.Reason = "the file does not exist"
		return u, nil
	}
	if err != nil {
		return u, failed(e.File, err)
	}
	if digest(now) == e.Digest {
		if u.Removed, u.Restored = e.Created, !e.Created; e.Created {
			return u, removeFile(e)
		}
		return u, replace(Edit{File: e.File, Before: now, After: e.Before})
	}
	if isOwnFile(e.Changes) {
		u.Reason = "the file was changed since; it is left"
		return u, nil
	}
	after := now
	for _, c := range e.Changes {
		if after, _, err = c.remove(after); err != nil {
			u.Reason = "the file was changed and can't be edited: " + err.Error()
			return u, nil
		}
	}
	u.Reason = "the file was changed since; only the entries of handoff were removed"
	if bytes.Equal(after, now) {
		u.Reason = "the file was changed since and has no entry of handoff"
		return u, nil
	}
	return u, replace(Edit{File: e.File, Before: now, After: after})
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
