package provenance

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names/refs"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/trace"
)

// Why traces what a name identifies: a line of a file, as FILE:LINE; the complete ID
// of a commit; the ref of an artifact; a file; or another revision of git. The first
// of these decides. Worktrees are those of the workspace.
//
// Kinds: NotFound (nothing has this name), Conflict (an ambiguous ref), Invalid (a
// line that the file does not have), and those of reading the log.
func (s Sources) Why(ctx context.Context, resolver refs.Resolver, worktrees []string, name string) (trace.Origin,
	error) {
	file := real(resolver.Dir, name)
	t, at, err := found(ctx, s.Conversations, func() located {
		at := s.in(ctx, resolver.Dir, worktrees, file, name)
		if at.err != nil {
			return at
		}
		if path, line, ok := cutLine(name); ok && !exists(file) && exists(real(resolver.Dir, path)) {
			at.Subject, at.err = at.lineOf(ctx, real(resolver.Dir, path), line)
		} else {
			at.Subject, at.err = at.find(ctx, resolver, file, name)
		}
		at.Name = name
		return at
	})
	if err == nil && !t.Known() && at.Artifact == nil && at.Commit == nil && at.Line == nil && !exists(file) {
		_, err = resolver.Find(ctx, name) // the error names similar refs
		if e, ok := errors.AsType[*handoff.Error](err); ok && e.Kind == handoff.NotFound {
			e.Op, e.Err = "trace", errors.New("no such file, artifact or commit")
		}
	}
	return t, err
}

// in returns the sources with the repository of a file, or else of the directory in
// which it was named.
func (s Sources) in(ctx context.Context, dir string, worktrees []string, file, name string) located {
	if at := filepath.Dir(file); filepath.Dir(name) != "." && exists(at) {
		dir = at
	}
	repository, err := git.Open(ctx, dir)
	s.Roots = worktrees
	switch {
	case err == nil:
		s.Repository = &repository
		if !slices.Contains(worktrees, repository.Top) {
			s.Roots = []string{repository.Top}
		}
	case !errors.Is(err, git.ErrNone) && !errors.Is(err, git.ErrNotInstalled):
		return located{err: err}
	}
	return located{Sources: s}
}

// real returns a path as typed in a directory as an absolute one, with the links of
// its directory resolved.
func real(dir, name string) string {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	if at, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		return filepath.Join(at, filepath.Base(name))
	}
	return filepath.Clean(name)
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// cutLine separates the number of a line from a name.
func cutLine(name string) (file string, line int, ok bool) {
	i := strings.LastIndexByte(name, ':')
	if i < 1 {
		return "", 0, false
	}
	line, err := strconv.Atoi(name[i+1:])
	return name[:i], line, err == nil && line > 0
}

var commitID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })

// find returns the artifact, the file or the commit that a name identifies.
func (s Sources) find(ctx context.Context, resolver refs.Resolver, file, name string) (Subject, error) {
	if commitID().MatchString(name) {
		if subject, ok := s.revision(ctx, name); ok {
			return subject, nil
		}
	}
	found, err := resolver.Find(ctx, name)
	switch {
	case err == nil && found.Unrecorded():
		return Subject{File: found.File}, nil
	case err == nil:
		return s.artifact(ctx, found.ID, file)
	case !errors.Is(err, handoff.NotFound) && !errors.Is(err, handoff.Invalid):
		return Subject{}, err
	case exists(file):
		return Subject{File: file}, nil
	}
	if a, ok, err := s.movedFrom(ctx, file); ok || err != nil {
		return Subject{File: file, Artifact: &a}, err
	}
	if subject, ok := s.revision(ctx, name); ok {
		return subject, nil
	}
	return Subject{File: file}, nil
}

// movedFrom returns the newest artifact that was published at a path where there is no
// file, and moved since.
func (s Sources) movedFrom(ctx context.Context, file string) (handoff.Artifact, bool, error) {
	r := tracer{Sources: s}
	_, relative := r.places(file)
	if relative == "" {
		return handoff.Artifact{}, false, nil
	}
	page, err := s.Reader.Artifacts(ctx, handoff.ArtifactQuery{Paths: []string{filepath.ToSlash(relative)},
		IncludeInactive: true, Limit: maxRevisions})
	i := slices.IndexFunc(page.Artifacts, func(a handoff.Artifact) bool { return slices.Contains(pathsOf(a), file) })
	if err != nil || i < 0 {
		return handoff.Artifact{}, false, err
	}
	return page.Artifacts[i], true, nil
}

// revision returns the commit that a revision of git names.
func (s Sources) revision(ctx context.Context, name string) (Subject, bool) {
	if s.Repository == nil {
		return Subject{}, false
	}
	c, err := s.Repository.Commit(ctx, name)
	return Subject{Commit: &c}, err == nil
}

// artifact returns an artifact. It is traced with a file if that is, or was, its path.
func (s Sources) artifact(ctx context.Context, id, file string) (Subject, error) {
	page, err := s.Reader.Artifacts(ctx, handoff.ArtifactQuery{IDs: []string{id}, IncludeInactive: true})
	if err == nil && len(page.Artifacts) == 0 {
		_, err = s.Reader.Artifact(ctx, id)
	}
	if err != nil || len(page.Artifacts) == 0 {
		return Subject{}, err
	}
	a := page.Artifacts[0]
	subject := Subject{Artifact: &a}
	if slices.Contains(pathsOf(a), file) {
		subject.File = file
	}
	return subject, nil
}

// lineOf returns a line of a file, with the commit that last changed it.
func (s Sources) lineOf(ctx context.Context, file string, n int) (Subject, error) {
	invalid := func(err error) error {
		return handoff.E("trace", file+":"+strconv.Itoa(n), handoff.Invalid, err,
			handoff.Advice("name a line of a file in a git repository"))
	}
	b, err := plainfile.Read(file, maxBytes)
	if err != nil {
		return Subject{}, invalid(err)
	}
	lines := slices.Collect(bytes.Lines(b))
	if n > len(lines) {
		return Subject{}, invalid(fmt.Errorf("the last line of the file is %d", len(lines)))
	}
	subject := Subject{File: file, Line: &Origin{Number: n, Text: strings.TrimSuffix(string(lines[n-1]), "\n")}}
	if s.Repository == nil {
		return subject, nil
	}
	path, err := filepath.Rel(s.Repository.Top, file)
	if err != nil {
		return Subject{}, err
	}
	if subject.Line.Line, err = s.Repository.Blame(ctx, path, n); err != nil || subject.Line.Commit == "" {
		return subject, err
	}
	c, err := s.Repository.Commit(ctx, subject.Line.Commit)
	if err != nil {
		return Subject{}, cmp.Or(ctx.Err(), err)
	}
	subject.Commit = &c
	return subject, nil
}
