package lifecycle

import (
	"cmp"
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
	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/safepath"
)

// An Addition is an output to register with a session.
type Addition struct {
	File        string // slash-separated, in the session's folder
	Type        string // document, data, report or artifact
	Description string // one line
	Channel     string // "handoff" if ""
	Title       string
	Key         string
	Replaces    []string
	Parents     []string
	Tags        []string
}

// Types are the output types of the manifest specification.
var Types = []string{"document", "data", "report", "artifact"}

// Add publishes a file in the session's folder as an artifact of the session,
// with p as its producer, and renders the manifest. Nothing is written if the
// file is outside the folder or is a link that leaves it, or if it was added
// already and neither the file nor its description changed.
//
// Error kinds: Invalid, Conflict (the file was added by another agent and
// changed since), and those of Hub.Publish.
func (ss *Sessions) Add(ctx context.Context, id string, p handoff.Producer, o Addition) (handoff.Published, error) {
	if !slices.Contains(Types, o.Type) {
		return handoff.Published{}, handoff.E("add output", o.File, handoff.Invalid, fmt.Errorf("invalid type %q", o.Type),
			handoff.Advice("use one of "+strings.Join(Types, ", ")))
	}
	s, err := ss.Session(ctx, id)
	if err != nil {
		return handoff.Published{}, err
	}
	warnings, err := ss.checkInside("add output", s.Folder, o.File)
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
	file := path.Join(s.Folder, o.File)
	ss.setPath(&d, top, file)
	if known, ok, err := ss.added(ctx, top, p, d, file); err != nil || ok {
		return known, err
	}
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

// added returns the artifact that a session has for the file of a draft, if
// nothing changed. Without the intent to replace it, a file that another agent
// added and that has changed is an error: that agent's output is lost.
func (ss *Sessions) added(ctx context.Context, top handoff.Session, p handoff.Producer, d handoff.Draft,
	file string) (known handoff.Published, ok bool, err error) {
	inTop := strings.TrimPrefix(file, top.Folder+"/") // its path if it was added in another worktree
	page, err := ss.hub.Artifacts(ctx, handoff.ArtifactQuery{
		Paths: []string{file, inTop}, Producer: map[string]string{"session": top.ID}})
	if err != nil || d.Key != "" || len(d.Replaces) > 0 {
		return known, false, err
	}
	for _, a := range page.Artifacts {
		if name, _ := manifest.FileOf(top, a); name != inTop {
			continue
		}
		if a, err = ss.hub.Artifact(ctx, a.ID); err != nil { // which compares the file
			return known, false, err
		}
		if a.Target == handoff.Modified && a.Producer.Agent != p.Agent {
			return known, false, handoff.E("add output", d.Path, handoff.Conflict,
				fmt.Errorf("agent %s added this file as %s, and it has changed since", a.Producer.Agent, a.ID),
				handoff.Advice("write the file in the folder of your run, or name "+a.ID+" as replaced"))
		}
		same := a.Kind == d.Kind && a.Channel == d.Channel && a.Title == d.Title && a.Summary == d.Summary &&
			slices.Equal(a.Tags, d.Tags) && slices.Equal(a.Parents, d.Parents)
		if same && a.Target == handoff.Available {
			return handoff.Published{Artifact: a, Existing: true}, true, nil
		}
	}
	return known, false, nil
}

// setPath sets the path of a draft's file, which is given relative to
// Options.Files: relative to the workspace or, for a file outside it, to the
// folder of its session.
func (ss *Sessions) setPath(d *handoff.Draft, top handoff.Session, file string) {
	full := filepath.Join(ss.Files.Name(), filepath.FromSlash(file))
	if rel, err := filepath.Rel(ss.Root, full); err == nil && filepath.IsLocal(rel) {
		d.Path = filepath.ToSlash(rel)
		return
	}
	d.Root, d.RootDir = handoff.SessionRoot, filepath.Join(ss.Files.Name(), filepath.FromSlash(top.Folder))
	d.Path = strings.TrimPrefix(file, top.Folder+"/")
}

// Locate returns the path of a file that a caller in dir names, relative to the
// folder of a session, and the agent that adds it: by default the session's. In a
// run of the session, a relative name is first looked up in the run's folder.
// Error kind: NotFound.
func (ss *Sessions) Locate(ctx context.Context, id string, p handoff.Producer, dir, file string) (name, agent string,
	err error) {
	s, err := ss.Session(ctx, id)
	if err != nil {
		return "", "", err
	}
	agent = cmp.Or(p.Agent, s.Agent.Name)
	name = locate(ss.absolute(s), dir, file)
	run, err := ss.Session(ctx, p.RunID)
	if err != nil || !strings.HasPrefix(run.Folder, s.Folder+"/") || filepath.IsAbs(file) ||
		name != path.Clean(filepath.ToSlash(file)) {
		return name, agent, nil
	}
	if own := path.Join(run.Folder, name); name != "" && filepath.IsLocal(name) {
		if _, err := ss.Files.Stat(filepath.FromSlash(own)); err == nil {
			name = strings.TrimPrefix(own, s.Folder+"/")
		}
	}
	return name, agent, nil
}

// locate returns the path of a file relative to a session's folder. A file that
// is inside the folder when its name is resolved against dir is that file; any
// other relative name is taken as relative to the folder. An absolute name
// outside the folder is returned as it is, and Add rejects it.
func locate(folder, dir, file string) string {
	full := file
	if !filepath.IsAbs(file) {
		full = filepath.Join(dir, file)
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil {
		full = filepath.Join(real, filepath.Base(full)) // the last element may be a link inside the folder
	}
	if rel, err := filepath.Rel(folder, full); err == nil && filepath.IsLocal(rel) && rel != "." {
		return filepath.ToSlash(rel)
	}
	if filepath.IsAbs(file) || file == "" {
		return file
	}
	return path.Clean(filepath.ToSlash(file))
}

// checkInside checks that a file is in a session's folder after its links are
// resolved, and is not one of handoff's own files. Error kinds: Invalid,
// NotFound, Unavailable.
func (ss *Sessions) checkInside(op, folder, file string) (warnings []string, err error) {
	hint := handoff.Advice("write the file in the session's folder, or publish it as an artifact of the workspace")
	switch {
	case file == "" || strings.ContainsAny(file, "\x00\\"):
		return nil, handoff.E(op, fmt.Sprintf("%q", file), handoff.Invalid, errors.New("not a valid manifest path"),
			handoff.Advice("use a slash-separated path in the session's folder"))
	case file != path.Clean(file) || file == "." || !filepath.IsLocal(filepath.FromSlash(file)):
		return nil, handoff.E(op, file, handoff.Invalid, errors.New("path is outside the session's folder"), hint)
	case safepath.Check(file) != nil:
		return nil, handoff.E(op, file, handoff.Invalid, errors.New(safepath.Check(file).Error()), hint)
	case isInternal(file):
		return nil, handoff.E(op, file, handoff.Invalid, errors.New("file is reserved by handoff"),
			handoff.Advice("add the files that the agent wrote"))
	}
	root, err := ss.Files.OpenRoot(folder)
	if err != nil {
		return nil, handoff.E(op, folder, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("check that the session's folder is on this machine and can be read"))
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(file))
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		return nil, handoff.E(op, file, handoff.NotFound, errors.New("no such file in "+folder),
			handoff.Advice("write the file in that folder first, or publish it as an artifact of the workspace"))
	case errors.Is(err, fs.ErrPermission):
		return nil, handoff.E(op, file, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("make the file readable for this process"))
	default: // os.Root does not distinguish a link that leaves it from a loop of links
		return nil, handoff.E(op, file, handoff.Invalid, errors.New("path is outside the session's folder"), hint)
	}
	if n := linkCount(info); n > 1 && info.Mode().IsRegular() {
		warnings = append(warnings, fmt.Sprintf("%s has %d hard links; a write through another one changes it", file, n))
	}
	return warnings, nil
}

func linkCount(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
