package names

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/agent-handoff/handoff"
)

// A Candidate is what a ref may mean: the head of a name, or a file that lies
// where names lie but that no record tells of.
type Candidate struct {
	handoff.Artifact        // zero where it is unrecorded
	Folder           string // of an unrecorded file's namespace, as it lies on disk
	File             string // of an unrecorded file, absolute

	scope Scope // in which it was found
}

// Unrecorded reports whether no record tells of the file.
func (c Candidate) Unrecorded() bool { return c.File != "" }

// Ref returns how the candidate can be named without doubt: run/name.
func (c Candidate) Ref() string {
	if c.Unrecorded() {
		return c.Folder + "/" + c.Name + " (unrecorded)"
	}
	return c.Namespace + "/" + c.Name
}

// Open opens an unrecorded file, unless a symbolic link took its place.
func (c Candidate) Open() (*os.File, error) {
	root, err := c.scope.open(artifactsDir, c.Folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(filepath.FromSlash(c.Name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

// Find returns the artifact that a ref means to someone in the scope. A ref is
// an artifact's id, run/name, or a name. A name is looked for in the scope's
// own namespace, then in those of the same session, then everywhere; within
// the first of these that has it, it must be the only one.
//
// Kinds: NotFound, and Conflict where several fit: the hint lists them.
func Find(ctx context.Context, reader handoff.Reader, scope Scope, ref string) (Candidate, error) {
	all, err := Candidates(ctx, reader, scope, ref)
	switch {
	case err != nil:
		return Candidate{}, err
	case len(all) == 1:
		return all[0], nil
	}
	hint := "say which, or add --latest:"
	for _, c := range all[:min(len(all), 6)] {
		hint += " " + c.Ref()
	}
	return Candidate{}, &handoff.Error{Op: "find", Name: ref, Kind: handoff.Conflict,
		Err: fmt.Errorf("%d artifacts have this name", len(all)), Hint: handoff.Advice(hint)}
}

// Latest is Find, but of several it takes the one that was written last, in
// the order of the log.
func Latest(ctx context.Context, reader handoff.Reader, scope Scope, ref string) (Candidate, error) {
	all, err := Candidates(ctx, reader, scope, ref)
	if err != nil {
		return Candidate{}, err
	}
	return slices.MaxFunc(all, func(a, b Candidate) int { return int(a.Seq - b.Seq) }), nil
}

// Candidates returns all that a ref may mean, at least one. Its kind is
// NotFound.
func Candidates(ctx context.Context, reader handoff.Reader, scope Scope, ref string) ([]Candidate, error) {
	if handoff.IsArtifactID(ref) {
		a, err := reader.Artifact(ctx, ref)
		return []Candidate{{Artifact: a}}, err
	}
	name, err := Clean(ref)
	if err != nil {
		return nil, err
	}
	qualified, err := inNamespace(ctx, reader, scope, name)
	if err != nil {
		return nil, err
	}
	heads, err := named(ctx, reader, handoff.ArtifactQuery{Name: name})
	if err != nil {
		return nil, err
	}
	bare := nearest(scope, append(heads, unrecorded(scope, "*", name, heads)...))
	if all := append(qualified, bare...); len(all) > 0 {
		return all, nil
	}
	return nil, &handoff.Error{Op: "find", Name: ref, Kind: handoff.NotFound, Err: errors.New("no such artifact"),
		Hint: handoff.Advice("handoff list shows what there is")}
}

// inNamespace returns what a ref means as run/name.
func inNamespace(ctx context.Context, reader handoff.Reader, scope Scope, ref string) ([]Candidate, error) {
	var list []Candidate
	for i := range len(ref) {
		if ref[i] != '/' {
			continue
		}
		namespace, name := ref[:i], ref[i+1:]
		heads, err := named(ctx, reader, handoff.ArtifactQuery{Namespace: namespace, Name: name})
		if err != nil {
			return nil, err
		}
		list = append(list, heads...)
		list = append(list, unrecorded(scope, Folder(namespace), name, heads)...)
	}
	return list, nil
}

// named returns the heads of the names that a query selects.
func named(ctx context.Context, reader handoff.Reader, q handoff.ArtifactQuery) ([]Candidate, error) {
	page, err := reader.Artifacts(ctx, q)
	list := make([]Candidate, len(page.Artifacts))
	for i, a := range page.Artifacts {
		list[i] = Candidate{Artifact: a}
	}
	return list, err
}

// unrecorded returns the files under a name that lie below the session's
// directory, in one folder or ("*") in any, and are none of the heads'.
func unrecorded(scope Scope, folder, name string, heads []Candidate) []Candidate {
	root, err := scope.open(artifactsDir)
	if err != nil {
		return nil
	}
	defer root.Close()
	folders := []string{folder}
	if folder == "*" {
		folders = nil
		entries, err := fs.ReadDir(root.FS(), ".")
		if err != nil {
			return nil
		}
		for _, e := range entries {
			if e.IsDir() {
				folders = append(folders, e.Name())
			}
		}
	}
	var list []Candidate
	for _, folder := range folders {
		if slices.ContainsFunc(heads, func(c Candidate) bool { return Folder(c.Namespace) == folder }) {
			continue
		}
		if file, ok := regular(root, folder, name); ok {
			c := Candidate{Folder: folder, scope: scope, File: filepath.Join(scope.Dir, artifactsDir, folder, file)}
			c.Name = name
			list = append(list, c)
		}
	}
	return list
}

// regular returns the path of a name within its folder, if it is a file there
// and no symbolic link leads to it from elsewhere.
func regular(artifacts *os.Root, folder, name string) (string, bool) {
	root, err := plainDir(artifacts, folder)
	if err != nil {
		return "", false
	}
	defer root.Close()
	file := filepath.FromSlash(name)
	info, err := root.Lstat(file)
	return file, err == nil && info.Mode().IsRegular()
}

// nearest returns those of the candidates that are nearest to the scope: its
// own, else those of its session, else all.
func nearest(scope Scope, all []Candidate) []Candidate {
	own, _ := scope.Namespace()
	tiers := []func(Candidate) bool{
		func(c Candidate) bool { return own != "" && c.belongs(own) },
		func(c Candidate) bool {
			return scope.Session != "" && (c.belongs(scope.Session) || c.Producer.Session == scope.Session || c.Producer.ParentSession == scope.Session || c.Unrecorded())
		},
	}
	for _, fits := range tiers {
		if near := slices.DeleteFunc(slices.Clone(all), func(c Candidate) bool { return !fits(c) }); len(near) > 0 {
			return near
		}
	}
	return all
}

func (c Candidate) belongs(namespace string) bool {
	if c.Unrecorded() {
		return c.Folder == Folder(namespace)
	}
	return c.Namespace == namespace
}

// Revisions returns every revision of a name that was not lost, oldest first,
// those that were withdrawn too.
func Revisions(ctx context.Context, reader handoff.Reader, namespace, name string) ([]handoff.Artifact, error) {
	page, err := reader.Artifacts(ctx, handoff.ArtifactQuery{Namespace: namespace, Name: name, IncludeInactive: true})
	slices.Reverse(page.Artifacts)
	return page.Artifacts, err
}
