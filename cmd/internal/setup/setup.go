// Package setup registers handoff in the configuration of agent programs, and
// takes it back. It changes nothing else in their files.
package setup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/durable"
	"github.com/agent-handoff/handoff/internal/plainfile"
)

// maxFile is the largest configuration file that is changed.
const maxFile = 16 << 20

// An Edit is a file with handoff's entries.
type Edit struct {
	Client  string   `json:"client"` // the program that reads the file
	File    string   `json:"file"`   // absolute
	Created bool     `json:"created,omitempty"`
	Dirs    []string `json:"dirs,omitempty"`   // directories that had to be made, the innermost first
	Before  []byte   `json:"before,omitempty"` // what the file contained
	After   []byte   `json:"-"`
	Digest  string   `json:"digest"` // of After
	Changes []Change `json:"changes"`
	Removed bool     `json:"removed,omitempty"` // the file is one of an earlier version, which is removed
	Skipped string   `json:"-"`                 // why the file is left as it is
}

// Changed reports whether the file differs from what it was.
func (e Edit) Changed() bool { return !bytes.Equal(e.Before, e.After) }

// Detect returns the programs that the user has: those on PATH, and those with a
// directory of their own.
func Detect(t Target, onPath func(string) bool) []string {
	var found []string
	for _, name := range Names() {
		c := clients()[name]
		if exists(c.home(t)) || slices.ContainsFunc(c.programs, onPath) {
			found = append(found, name)
		}
	}
	return found
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// Plan returns the edits that set up handoff in some programs, and what the user
// must do afterwards. It changes nothing. A file that can't be edited is reported
// as an error of kind Invalid or Unavailable.
func Plan(t Target, names []string) (edits []Edit, todo []string, err error) {
	byFile := map[string]bool{}
	for _, name := range names {
		c, ok := clients()[name]
		if !ok {
			return nil, nil, &handoff.Error{Op: "init", Name: name, Kind: handoff.Invalid, Err: errors.New("unknown agent program"),
				Hint: handoff.Advice("the programs are " + list(Names()))}
		}
		files := c.files(t)
		for _, file := range slices.Sorted(maps.Keys(files)) {
			if byFile[file] {
				continue // several programs read it
			}
			byFile[file] = true
			e, err := plan(t, name, file, files[file])
			if err != nil {
				return nil, nil, err
			}
			edits = append(edits, e)
			if !isOwnFile(files[file]) {
				continue
			}
			if e, ok := planRemoval(t, name, file); ok {
				edits = append(edits, e)
			}
		}
		for _, line := range c.todo(t) {
			todo = append(todo, c.title+": "+line)
		}
	}
	return edits, todo, nil
}

func plan(t Target, name, file string, changes []Change) (Edit, error) {
	e := Edit{Client: name, Changes: changes}
	var err error
	if e.File, err = target(t, file); err != nil {
		return e, err
	}
	e.Before, err = plainfile.Read(e.File, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		e.Created, err = true, nil
		for dir := filepath.Dir(e.File); !exists(dir); dir = filepath.Dir(dir) {
			e.Dirs = append(e.Dirs, dir)
		}
	}
	if err != nil {
		return e, failed(e.File, err)
	}
	e.After = e.Before
	if isOwnFile(changes) && !e.Created && string(e.Before) != changes[0].File {
		e.Skipped = foreign(e.Before)
	}
	if e.Skipped != "" {
		changes = nil
	}
	for _, c := range changes {
		if e.After, err = c.apply(e.After); err != nil {
			return e, &handoff.Error{Op: "init", Name: e.File, Kind: handoff.Invalid, Err: err, Hint: handoff.Advice("correct the file, or leave out " + name)}
		}
	}
	e.Digest = digest(e.After)
	return e, nil
}

// target returns the file that a configuration file is: a user's may be a link,
// and is changed where it leads; a project's may not, because a repository can
// contain a link to anywhere.
func target(t Target, file string) (string, error) {
	if t.Scope == Project {
		rel, err := filepath.Rel(t.Root, file)
		if err != nil {
			return "", failed(file, err)
		}
		for at := t.Root; ; {
			first, rest, more := cutPath(rel)
			at = filepath.Join(at, first)
			if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
				return "", &handoff.Error{Op: "init", Name: at, Kind: handoff.Invalid, Err: errors.New("is a symbolic link"),
					Hint: handoff.Advice("set up handoff for the user instead of the project")}
			}
			if !more {
				return file, nil
			}
			rel = rest
		}
	}
	real, err := filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		if info, lerr := os.Lstat(file); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", failed(file, errors.New("is a link to a file that does not exist"))
		}
		return file, nil
	}
	if err != nil {
		return "", failed(file, err)
	}
	return real, nil
}

func cutPath(rel string) (first, rest string, more bool) {
	for i := range rel {
		if rel[i] == filepath.Separator {
			return rel[:i], rel[i+1:], true
		}
	}
	return rel, "", false
}

// Apply writes the edits. Each is stored in the journal before its file is
// changed, so that Undo knows it whatever happens.
func Apply(j *Journal, edits []Edit) error {
	for _, e := range edits {
		if !e.Changed() {
			continue
		}
		if e.Removed {
			if err := j.remove(e); err != nil {
				return err
			}
			continue
		}
		if err := j.add(e); err != nil {
			return err
		}
		if err := replace(e); err != nil {
			return err
		}
	}
	return nil
}

// replace writes a file, unless it was changed since it was read.
func replace(e Edit) error {
	if err := os.MkdirAll(filepath.Dir(e.File), 0o755); err != nil {
		return failed(e.File, err)
	}
	dir, err := os.OpenRoot(filepath.Dir(e.File))
	if err != nil {
		return failed(e.File, err)
	}
	defer dir.Close()
	name := filepath.Base(e.File)
	err = durable.Replace(dir, name, func(w io.Writer) error {
		now, err := plainfile.ReadIn(dir, name, maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			now, err = nil, nil
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(now, e.Before) {
			return errChanged
		}
		_, err = w.Write(e.After)
		return err
	})
	return failed(e.File, err)
}

var errChanged = errors.New("was changed by another program at the same time")

func failed(file string, err error) error {
	var known *handoff.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	hint := handoff.Advice("check that the file can be read and written")
	if errors.Is(err, errChanged) {
		hint = handoff.Advice("repeat the command")
	}
	return &handoff.Error{Op: "init", Name: file, Kind: handoff.Unavailable, Err: durable.Reason(err), Hint: hint}
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func list(names []string) string {
	text := ""
	for i, name := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			text += " and "
		default:
			text += ", "
		}
		text += name
	}
	return fmt.Sprint(text)
}
