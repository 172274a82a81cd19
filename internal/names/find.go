package names

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/agent-handoff/handoff"
)

// A Candidate is an artifact or file that a ref matches: the newest revision of
// a name, or an unrecorded file, which is in the directory of a namespace but in
// no record.
type Candidate struct {
	handoff.Artifact        // only Name is set for an unrecorded file
	Folder           string // the directory name of an unrecorded file's namespace
	File             string // the unrecorded file, absolute

	scope Scope // in which it was found
}

// Unrecorded reports whether the candidate is a file without a record.
func (c Candidate) Unrecorded() bool { return c.File != "" }

// Ref returns the unambiguous ref of the candidate: run/name.
func (c Candidate) Ref() string {
	if c.Unrecorded() {
		return c.Folder + "/" + c.Name + " (unrecorded)"
	}
	return c.Namespace + "/" + c.Name
}

// Open opens an unrecorded file. It fails if a symbolic link replaced the file.
func (c Candidate) Open() (*os.File, error) {
	root, err := c.scope.open(artifactsDir, c.Folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name := filepath.FromSlash(c.Name)
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && opened.Mode().IsRegular() {
		// A Root follows links inside it even with O_NOFOLLOW, but a link never
		// is the same file as its target.
		if info, err := root.Lstat(name); err == nil && os.SameFile(info, opened) {
			return f, nil
		}
	}
	f.Close()
	return nil, notPlainError{c.File}
}

// Candidates returns what a ref matches in a scope. A ref is run/name, or a name.
// A name is searched in the scope's own namespace, then in the namespaces of its
// session, then in all; the first of these that has the name decides.
//
// Error kind: Invalid.
func Candidates(ctx context.Context, reader handoff.Reader, scope Scope, ref string) ([]Candidate, error) {
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
	return append(qualified, nearest(scope, append(heads, unrecorded(scope, "*", name, heads)...))...), nil
}

// inNamespace returns the candidates for ref as run/name.
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

// named returns the newest revisions of the names that a query selects.
func named(ctx context.Context, reader handoff.Reader, q handoff.ArtifactQuery) ([]Candidate, error) {
	page, err := reader.Artifacts(ctx, q)
	list := make([]Candidate, len(page.Artifacts))
	for i, a := range page.Artifacts {
		list[i] = Candidate{Artifact: a}
	}
	return list, err
}

// unrecorded returns the files of a name in the session's directory that are not
// the file of one of heads. Folder selects one namespace, "*" all.
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

// regular returns the path of a name in its folder if it is a regular file and
// not reached through a symbolic link.
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

// nearest returns the candidates closest to the scope: those of its own
// namespace, otherwise those of its session, otherwise all.
func nearest(scope Scope, all []Candidate) []Candidate {
	own, _ := scope.Namespace()
	tiers := []func(Candidate) bool{
		func(c Candidate) bool { return own != "" && c.belongs(own) },
		func(c Candidate) bool {
			return scope.Session != "" && (c.belongs(scope.Session) || c.Producer.Session == scope.Session ||
				c.Producer.ParentSession == scope.Session || c.Unrecorded())
		},
	}
	for _, matches := range tiers {
		if near := slices.DeleteFunc(slices.Clone(all), func(c Candidate) bool { return !matches(c) }); len(near) > 0 {
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

// Revisions returns every revision of a name, oldest first, including withdrawn
// ones.
func Revisions(ctx context.Context, reader handoff.Reader, namespace, name string) ([]handoff.Artifact, error) {
	page, err := reader.Artifacts(ctx, handoff.ArtifactQuery{Namespace: namespace, Name: name, IncludeInactive: true})
	slices.Reverse(page.Artifacts)
	return page.Artifacts, err
}
