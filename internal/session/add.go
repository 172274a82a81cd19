package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agent-handoff/handoff"
)

// An Addition is an output that a session's agent registers.
type Addition struct {
	File        string // slash-separated, below the session's folder
	Type        string // document, data, report or artifact
	Description string // one line
	Channel     string // "handoff" where it is ""
	Title       string
	Key         string
	Replaces    []string
	Parents     []string
	Tags        []string
}

// Types are the types of outputs that a manifest knows.
var Types = []string{"document", "data", "report", "artifact"}

// Add publishes a file of the session's folder as an artifact of the session,
// as the hub's producer, and renders the manifest. A file outside the folder,
// or that leads out of it through a link, is refused before anything is
// written.
//
// Kinds: Invalid, and those of Hub.Publish.
func (ss *Sessions) Add(ctx context.Context, id string, p handoff.Producer, o Addition) (handoff.Published, error) {
	if !slices.Contains(Types, o.Type) {
		return handoff.Published{}, refuse("add output", o.File, handoff.Invalid, fmt.Sprintf("no type %q", o.Type), "the types are "+strings.Join(Types, ", "))
	}
	s, err := ss.session(ctx, id)
	if err != nil {
		return handoff.Published{}, err
	}
	warnings, err := ss.within("add output", s.Folder, o.File)
	if err != nil {
		return handoff.Published{}, err
	}
	if o.Channel == "" {
		o.Channel = "handoff"
	}
	top, err := ss.Top(ctx, s)
	if err != nil {
		return handoff.Published{}, err
	}
	p.Session = top.ID
	if s.Parent != "" {
		p.RunID = id
	}
	d := handoff.Draft{
		Channel: o.Channel, Kind: o.Type, Title: o.Title, Summary: o.Description,
		Key: o.Key, Replaces: o.Replaces, Parents: o.Parents, Tags: o.Tags,
	}
	ss.place(&d, top, path.Join(s.Folder, o.File))
	done, err := ss.hub.As(p).Publish(ctx, d)
	if err != nil {
		return done, err
	}
	done.Warnings = append(done.Warnings, warnings...)
	if err := ss.Changed(ctx, p.Session); err != nil {
		done.Warnings = append(done.Warnings, err.Error())
	}
	return done, nil
}

// place sets the path of a draft's file, which is given below the book's Files:
// below the workspace, or, where it lies outside, below its session's folder.
func (ss *Sessions) place(d *handoff.Draft, top handoff.Session, file string) {
	full := filepath.Join(ss.Files.Name(), filepath.FromSlash(file))
	if rel, err := filepath.Rel(ss.Root, full); err == nil && filepath.IsLocal(rel) {
		d.Path = filepath.ToSlash(rel)
		return
	}
	d.Root, d.RootDir = handoff.SessionRoot, filepath.Join(ss.Files.Name(), filepath.FromSlash(top.Folder))
	d.Path = strings.TrimPrefix(file, top.Folder+"/")
}

// Locate turns a file as it is named in a directory into one below a session's
// folder: where the two lead to the same place, else taken as below the folder.
// An absolute one that lies elsewhere stays as it is; Add refuses it.
func Locate(folder, dir, file string) string {
	full := file
	if !filepath.IsAbs(file) {
		full = filepath.Join(dir, file)
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil {
		full = filepath.Join(real, filepath.Base(full)) // the last element may be a link within
	}
	if rel, err := filepath.Rel(folder, full); err == nil && filepath.IsLocal(rel) && rel != "." {
		return filepath.ToSlash(rel)
	}
	if filepath.IsAbs(file) || file == "" {
		return file
	}
	return path.Clean(filepath.ToSlash(file))
}

// within checks that a file lies in a session's folder, also where its links
// lead, and is not handoff's own. Its kinds are Invalid, NotFound and
// Unavailable.
func (ss *Sessions) within(op, folder, file string) (warnings []string, err error) {
	const hint = "write the file below the session's folder; handoff publish records a file that lies elsewhere"
	switch {
	case file == "" || strings.ContainsAny(file, "\x00\\"):
		return nil, refuse(op, fmt.Sprintf("%q", file), handoff.Invalid, "is no path of a manifest", "write it with forward slashes, below the session's folder")
	case file != path.Clean(file) || file == "." || !filepath.IsLocal(filepath.FromSlash(file)):
		return nil, refuse(op, file, handoff.Invalid, "path leaves the session's folder", hint)
	case isInternal(file):
		return nil, refuse(op, file, handoff.Invalid, "is the manifest itself", "add the files that the agent wrote")
	}
	root, err := ss.Files.OpenRoot(folder)
	if err != nil {
		return nil, refuse(op, folder, handoff.Unavailable, reason(err), "the session's folder is not on this machine")
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(file))
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		return nil, refuse(op, file, handoff.NotFound, reason(err), "write the file first, then add it")
	case errors.Is(err, fs.ErrPermission):
		return nil, refuse(op, file, handoff.Unavailable, reason(err), "add what this process can read")
	default: // os.Root says no more than that it leads out, or round
		return nil, refuse(op, file, handoff.Invalid, "path leaves the session's folder", hint)
	}
	if n := links(info); n > 1 && info.Mode().IsRegular() {
		warnings = append(warnings, fmt.Sprintf("%s has %d hard links: what is written through another one changes it too", file, n))
	}
	return warnings, nil
}

func links(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
