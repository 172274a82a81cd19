package names

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/secret"
	"github.com/agent-handoff/handoff/storage"
)

// maxAdopted is how many files of a directory are adopted at most.
const maxAdopted = 10_000

// The statuses of an Adopted file.
const (
	AdoptedNow    = "adopted"
	AdoptedBefore = "recorded"  // a revision has its content
	Adoptable     = "adoptable" // with a dry run
	Unadoptable   = "invalid"   // its name is not valid, or it is not a regular file
)

// HasArtifacts reports whether a directory has a directory artifacts and is not a
// session's folder.
func HasArtifacts(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "manifest.json"))
	info, failed := os.Lstat(filepath.Join(dir, artifactsDir))
	return err != nil && failed == nil && info.IsDir()
}

// AdoptAll records the files in artifacts/NAMESPACE of a directory, as pi writes them
// for its runs, as names of these namespaces. The files stay where they are. Links are
// not followed. With dryRun it records nothing.
//
// Kinds: NotFound (there is no artifacts directory), Unavailable, and those of
// Hub.Publish.
func AdoptAll(ctx context.Context, hub *handoff.Hub, workspace, dir string, dryRun bool) ([]storage.AdoptedName,
	error) {
	scope := Scope{Dir: dir}
	root, err := scope.open(artifactsDir)
	if err != nil {
		return nil, handoff.E("adopt", dir, handoff.NotFound, err,
			handoff.Advice("name the directory that contains the directory artifacts"))
	}
	defer root.Close()
	list := []storage.AdoptedName{}
	err = fs.WalkDir(root.FS(), ".", func(file string, e fs.DirEntry, err error) error {
		namespace, name, _ := strings.Cut(file, "/")
		if err != nil || e.IsDir() || name == "" {
			return errors.Join(err, ctx.Err())
		}
		if len(list) == maxAdopted {
			return errors.New("the directory has more than 10000 files")
		}
		a := storage.AdoptedName{Ref: file}
		clean, err := Clean(name)
		switch {
		case err == nil && (clean != name || Folder(namespace) != namespace):
			err = errors.New("the name is not valid")
		case err == nil && !e.Type().IsRegular():
			err = errors.New("not a regular file")
		}
		if err != nil {
			a.Status, a.Reason = Unadoptable, err.Error()
		} else if err := adoptFile(ctx, hub, workspace, dir, namespace, name, dryRun, &a); err != nil {
			return err
		}
		list = append(list, a)
		return ctx.Err()
	})
	var known *handoff.Error
	if err != nil && !errors.As(err, &known) && ctx.Err() == nil {
		err = handoff.E("adopt", dir, handoff.Unavailable, err, handoff.Advice("make the files readable"))
	}
	return list, err
}

func adoptFile(ctx context.Context, hub *handoff.Hub, workspace, dir, namespace, name string, dryRun bool,
	a *storage.AdoptedName) error {
	w := Writer{Hub: hub.As(handoff.Producer{RunID: namespace, Source: handoff.FromNone}), Workspace: workspace,
		Scope: Scope{Run: namespace, Dir: dir}}
	d := handoff.Draft{Name: name, Namespace: namespace, Channel: "handoff"}
	digest, err := w.file(d).digest()
	if err != nil {
		return err
	}
	revisions, err := Revisions(ctx, hub, namespace, name)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(revisions, func(r handoff.Artifact) bool { return r.Digest == digest }); i >= 0 {
		a.Status, a.ID = AdoptedBefore, revisions[i].ID
		return nil
	}
	if dryRun {
		a.Status = Adoptable
		return nil
	}
	written, err := w.Adopt(ctx, d)
	if held, ok := errors.AsType[*secret.FileError](err); ok {
		a.Status, a.Reason = Unadoptable, held.Error()
		return nil
	}
	a.Status, a.ID = AdoptedNow, written.ID
	return err
}
