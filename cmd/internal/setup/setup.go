// Package setup registers handoff in the configuration of agent programs, and
// takes it back. It changes nothing else in their files.
package setup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// maxFile is the largest configuration file that is changed.
const maxFile = 16 << 20

// An Edit is a file with handoff's entries.
type Edit struct {
	Client  string   `json:"client"` // the program that reads the file
	Scope   Scope    `json:"scope"`
	Root    string   `json:"root,omitempty"` // the repository, for Project
	File    string   `json:"file"`           // absolute
	Created bool     `json:"created,omitempty"`
	Dirs    []string `json:"dirs,omitempty"`   // directories that had to be made, the innermost first
	Before  []byte   `json:"before,omitempty"` // what the file contained, without what init wrote
	After   []byte   `json:"-"`
	Digest  string   `json:"digest"`  // of After
	Changes []Change `json:"changes"` // that were made
	Skipped string   `json:"-"`       // why the file is left as it is
}

// Changed reports whether the file differs from what it was.
func (e Edit) Changed() bool { return !bytes.Equal(e.Before, e.After) }

// Detect returns the programs that the user has: those on PATH, and those with a
// directory of their own.
func Detect(t Target, onPath func(string) bool) []string {
	var found []string
	user := t
	user.Scope = User
	for _, name := range Names() {
		c := clients()[name]
		if exists(c.dir(user)) || onPath(name) || c.program != "" && onPath(c.program) {
			found = append(found, name)
		}
	}
	return found
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// A Program is how handoff is set up in one agent program, or why it can't be.
type Program struct {
	Name  string
	Edits []Edit
	Todo  []string // what the user must do afterwards
	Err   error    // of kind Invalid or Unavailable; there are no edits then
	File  string   // that can't be edited, if that is why
	Lines string   // what the user may add to it
}

// Plan returns how to set up handoff in some programs. It changes nothing.
// Programs are independent: one that can't be set up does not prevent others.
func Plan(t Target, j *Journal, names []string) ([]Program, error) {
	var list []Program
	planned := map[string]bool{} // several programs read some files
	for _, name := range names {
		c, ok := clients()[name]
		if !ok {
			return nil, handoff.E("init", name, handoff.Invalid, errors.New("unknown agent program"),
				handoff.Advice("the programs are "+strings.Join(Names(), ", ")))
		}
		p := t.plan(c, j, planned)
		if p.Err == nil {
			for _, e := range p.Edits {
				planned[e.File] = true
			}
			for _, line := range c.steps(t) {
				p.Todo = append(p.Todo, c.title+": "+line)
			}
		}
		list = append(list, p)
	}
	return list, nil
}

func (t Target) plan(c client, j *Journal, planned map[string]bool) Program {
	p := Program{Name: c.name}
	files := c.changes(t)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		e, err := t.edit(c.name, file, files[file], j)
		if err != nil {
			return Program{Name: c.name, Err: err, File: file, Lines: linesFor(file, files[file], err)}
		}
		if planned[e.File] {
			continue
		}
		p.Edits = append(p.Edits, e)
	}
	return p
}

// root returns the repository that is changed, "" for none.
func (t Target) root() string {
	if t.Scope == Project {
		return t.Root
	}
	return ""
}

// linesFor returns what a user may add to a file that can't be edited because of an error.
func linesFor(file string, changes []Change, why error) string {
	if isOwnFile(changes) || errors.Is(why, errForm) || errors.Is(why, errInline) {
		return ""
	}
	lines, _, err := applyAll(file, nil, changes, nil)
	if err != nil {
		return ""
	}
	return string(lines)
}

func (t Target) edit(name, file string, changes []Change, j *Journal) (Edit, error) {
	e := Edit{Client: name, Scope: t.Scope, Root: t.root()}
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
	if e.After = e.Before; isOwnFile(changes) {
		if !e.Created && string(e.Before) != changes[0].File {
			e.Skipped = foreign(e.Before)
		}
		if e.Skipped == "" {
			e.After, e.Changes = []byte(changes[0].File), changes
		}
	} else if e.After, e.Changes, err = applyAll(e.File, e.Before, changes, j.written(e.File)); err == nil && e.Changed() {
		err = writable(e)
	}
	if err != nil {
		return e, handoff.E("init", e.File, handoff.Invalid, err, adviceFor(err, e))
	}
	e.Digest = digest(e.After)
	return e, nil
}

// applyAll returns a file with some changes, and those that were needed. written is
// what init wrote to it before. The result has been checked: its value is that of
// the file with the changes, and nothing else.
func applyAll(file string, text []byte, changes, written []Change) (after []byte, made []Change, err error) {
	e, err := newEditor(formatOf(file), text)
	if err != nil {
		return text, nil, err
	}
	for _, c := range changes {
		did, err := c.apply(e, written)
		if err != nil {
			return text, nil, err
		}
		if did {
			made = append(made, c)
		}
	}
	return e.text, made, e.check()
}

var errReadOnly = errors.New("is read-only")

// writable returns an error for a file that its owner protected.
func writable(e Edit) error {
	if info, err := os.Stat(e.File); err == nil && info.Mode().Perm()&0o200 == 0 {
		return errReadOnly
	}
	return nil
}

func adviceFor(err error, e Edit) handoff.Hint {
	name := e.Client
	if errors.Is(err, errReadOnly) {
		return handoff.Advice("make it writable, or leave out " + name)
	}
	if errors.Is(err, errInexact) {
		return handoff.Advice("add handoff's entry in the form that the file has, or leave out " + name)
	}
	if errors.Is(err, errForm) {
		form := "a list"
		if formatOf(e.File) == (tomlFormat{}) {
			form = "an array of tables, each below a line with [[ ]]"
		}
		return handoff.Advice("change it to " + form + ", or leave out " + name)
	}
	if errors.Is(err, errInline) {
		return handoff.Advice("change it to tables, each below a line with [ ], or leave out " + name)
	}
	return handoff.Advice("correct the file, or leave out " + name)
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
		at := t.Root
		for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
			if at = filepath.Join(at, name); isLink(at) {
				return "", handoff.E("init", at, handoff.Invalid, errors.New("is a symbolic link"),
					handoff.Advice("set up handoff for the user instead of the project"))
			}
		}
		return file, nil
	}
	real, err := filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		if isLink(file) {
			return "", failed(file, errors.New("is a link to a file that does not exist"))
		}
		return file, nil
	}
	if err != nil {
		return "", failed(file, err)
	}
	return real, nil
}

// Apply writes edits, and returns how many it wrote. Each is stored in the journal
// before its file is changed, so that Undo knows it whatever happens.
func Apply(j *Journal, edits []Edit) (int, error) {
	for i, e := range edits {
		if !e.Changed() {
			continue
		}
		err := j.add(e)
		if err == nil {
			err = replace(e)
		}
		if err != nil {
			return i, err
		}
	}
	return len(edits), nil
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
	return handoff.E("init", file, handoff.Unavailable, durable.Reason(err), hint)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
