package lifecycle

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/session"
)

// Adopt imports every session folder in a directory, or the
// directory if it is one. A folder that can't be imported does not keep others
// from it; its problems are in the result.
//
// Error kinds: Invalid, NotFound (there is no session folder), Unavailable, and
// those of Adopt if the directory is a session folder itself.
func (ss *Sessions) Adopt(ctx context.Context, dir string, o session.AdoptOptions) ([]session.Adoption, []string,
	error) {
	folders, err := ss.sessionFolders(dir)
	if err != nil {
		return nil, nil, err
	}
	if len(folders) == 0 || folders[0] == dir && !o.DryRun {
		s, warnings, err := ss.adoptFolder(ctx, dir, o.Lenient)
		if err != nil {
			return nil, nil, err
		}
		return []session.Adoption{{ID: s.ID, Folder: s.Folder, Status: session.Adopted}}, warnings, nil
	}
	list, warnings := []session.Adoption{}, []string(nil)
	for _, folder := range folders {
		a, more, err := ss.adoptOne(ctx, folder, o)
		if err != nil {
			return list, warnings, err
		}
		list, warnings = append(list, a), append(warnings, more...)
	}
	return list, warnings, nil
}

// Unrecorded returns what Adopt would do with the session folders in a
// directory that are not recorded. A directory that does not exist has none.
// Error kinds: those of Adopt.
func (ss *Sessions) Unrecorded(ctx context.Context, dir string) ([]session.Adoption, error) {
	all, _, err := ss.Adopt(ctx, dir, session.AdoptOptions{DryRun: true})
	if errors.Is(err, handoff.NotFound) {
		err = nil
	}
	list := []session.Adoption{}
	for _, a := range all {
		if a.Status != session.Recorded && a.Status != session.Adopted {
			list = append(list, a)
		}
	}
	return list, err
}

// adoptOne imports or checks one folder of a tree.
func (ss *Sessions) adoptOne(ctx context.Context, folder string, o session.AdoptOptions) (session.Adoption, []string,
	error) {
	a := session.Adoption{ID: path.Base(folder), Folder: folder, Status: session.NoManifest}
	if _, err := ss.Files.Lstat(filepath.FromSlash(path.Join(folder, manifest.Name))); errors.Is(err, fs.ErrNotExist) {
		if known, err := ss.Session(ctx, a.ID); err == nil && known.Folder == folder {
			a.Status = session.Recorded // it is in the trash
		}
		return a, nil, ctx.Err()
	}
	m, err := ss.readImported(folder)
	if err != nil {
		a.Status, a.Problems = session.Unadopted, problemsOf(err)
		return a, nil, ctx.Err()
	}
	if m.SessionID != "" {
		a.ID = m.SessionID
	}
	for _, p := range m.problems {
		a.Problems = append(a.Problems, p.String())
	}
	known, err := ss.Session(ctx, m.SessionID)
	switch {
	case err != nil && !errors.Is(err, handoff.NotFound):
		return a, nil, err
	case err == nil && known.Folder == folder && (known.Adopted == nil || o.DryRun):
		if a.Status, a.Problems = session.Recorded, nil; known.Adopted != nil {
			a.Status = session.Adopted
		}
		return a, nil, nil
	case len(m.problems) > 0 && !o.Lenient:
		a.Status = session.Unadopted
		return a, nil, nil
	case o.DryRun:
		a.Status = session.Adoptable
		return a, nil, nil
	}
	_, warnings, err := ss.adoptFolder(ctx, folder, o.Lenient)
	if errors.Is(err, handoff.Invalid) || errors.Is(err, handoff.Conflict) {
		a.Status, a.Problems = session.Unadopted, problemsOf(err)
		return a, nil, nil
	}
	a.Status, a.Problems = session.Adopted, nil
	for i := range warnings {
		warnings[i] = folder + ": " + warnings[i]
	}
	return a, warnings, err
}

// problemsOf returns the reasons of an error without its subject, which the
// result names.
func problemsOf(err error) []string {
	var e *handoff.Error
	switch {
	case errors.As(err, &e) && len(e.Details) > 0:
		return e.Details
	case e != nil && e.Err != nil:
		return []string{e.Err.Error()}
	}
	return []string{err.Error()}
}

// uuid matches a UUID of any version: another engine's may have one.
var uuid = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
})

// treeDepth is how deep sessionFolders looks.
const treeDepth = 4

// sessionFolders returns the folders in a directory, or the directory itself,
// that have a manifest or whose name is a UUID, sorted by path. It looks neither
// into them nor into hidden directories.
func (ss *Sessions) sessionFolders(dir string) ([]string, error) {
	if dir == "." {
		return nil, handoff.E("adopt session", dir, handoff.Invalid, errors.New("is the workspace itself"),
			handoff.Advice("name a directory inside the workspace"))
	}
	var folders []string
	err := fs.WalkDir(ss.Files.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case name == dir && err != nil:
			return handoff.E("adopt session", dir, handoff.NotFound, durable.Reason(err),
				handoff.Advice("name the folder that contains the manifest"))
		case err != nil || !d.IsDir():
			return nil
		case name != dir && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		_, missing := ss.Files.Lstat(filepath.FromSlash(path.Join(name, manifest.Name)))
		if missing == nil || name != dir && uuid().MatchString(d.Name()) {
			folders = append(folders, name)
			return fs.SkipDir
		}
		if strings.Count(name, "/")-strings.Count(dir, "/") >= treeDepth {
			return fs.SkipDir
		}
		return nil
	})
	slices.Sort(folders)
	return folders, err
}
