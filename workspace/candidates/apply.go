package candidates

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/git"
)

// An Applied is the result of applying an artifact, or of checking whether it can be.
type Applied struct {
	ID       string        `json:"id"`
	Commit   string        `json:"commit"` // HEAD, to which it was applied
	Files    []AppliedFile `json:"files"`
	Existing bool          `json:"existing,omitempty"` // every file was so already
	Warnings []string      `json:"warnings,omitempty"`
}

// ApplyOptions change what Apply does.
type ApplyOptions struct {
	Check bool   // write and record nothing
	User  string // the name of the person, if no agent is known
}

// An AppliedFile is a file that applying an artifact changes.
type AppliedFile struct {
	Path   string `json:"path"`   // relative to the root of the worktree, slash-separated
	Change string `json:"change"` // A, M or D: added, modified or deleted
}

// Apply puts the patch or directory that a ref names into the working tree of the caller:
// all of it or nothing. Each file that it changes must be as in HEAD, or as the artifact makes
// it, so that applying it again completes what a killed process began. A file of a directory
// gets the path below the recorded path of the directory; other files stay. What was applied
// to which commit is recorded, once for a commit if nothing is left to write. The index and
// the commits of the repository never change, and no program runs that the repository names.
//
// Kinds: those of Workspace.Resolve and Hub.Open; Invalid (a path that may not be written, a
// link, a submodule, too large); Conflict (it was withdrawn or redacted or has no digest, a file
// has uncommitted changes, or the patch does not fit HEAD); NotFound (no git repository);
// Unsupported (neither a patch nor a directory); Unavailable (git, or a file); and those of
// Log.Append, after the files were written.
func (c Candidates) Apply(ctx context.Context, ref string, o ApplyOptions) (done Applied, err error) {
	a, err := c.applicable(ctx, ref)
	if err != nil {
		return done, err
	}
	done.ID = a.ID
	repository, err := git.Open(ctx, c.c.Dir)
	if err != nil {
		return done, applyError(a, err)
	}
	var list []git.Change
	if a.IsDirectory() {
		done.Commit, list, err = c.placed(ctx, a, repository)
	} else {
		done.Commit, list, err = c.patched(ctx, a, repository)
	}
	if err != nil {
		return done, applyError(a, err)
	}
	w, err := repository.Begin(ctx, c.c.Dir, list)
	if err != nil {
		return done, applyError(a, err)
	}
	defer w.Close()
	done.Files = make([]AppliedFile, len(list))
	for i, change := range list {
		done.Files[i] = AppliedFile{change.Path, change.Kind()}
	}
	if a.Status == handoff.Superseded {
		done.Warnings = append(done.Warnings, a.ID+" is superseded")
	}
	if done.Existing = w.Done(); !done.Existing && !o.Check {
		err = w.Write(ctx)
	}
	if err != nil || o.Check {
		return done, applyError(a, err)
	}
	isHere := func(b handoff.Application) bool { return b.Commit == done.Commit }
	if done.Existing && slices.ContainsFunc(a.Applied, isHere) {
		return done, nil
	}
	_, warnings, err := c.c.Hub.Record(ctx, &handoff.ArtifactApplied{ArtifactID: a.ID, Digest: a.Digest,
		Commit: done.Commit, User: o.User})
	done.Warnings = append(done.Warnings, warnings...)
	if err == nil {
		done.Warnings = append(done.Warnings, c.o.Finish(ctx, a)...)
	}
	return done, err
}

// applicable returns the artifact that a ref names, if its exact bytes are known.
func (c Candidates) applicable(ctx context.Context, ref string) (a handoff.Artifact, err error) {
	id, err := c.c.Resolve(ctx, ref)
	if err == nil {
		a, err = c.c.Hub.Artifact(ctx, id)
	}
	switch {
	case err != nil:
		return a, err
	case a.Status == handoff.Withdrawn:
		return a, handoff.E("apply", a.ID, handoff.Conflict, errors.New("it was withdrawn"))
	case a.Digest == (handoff.Digest{}):
		return a, handoff.E("apply", a.ID, handoff.Conflict, errors.New("it has no digest, so its bytes can't be verified"),
			handoff.Suggest("keep a copy", handoff.ActionPublishKept, a.ID))
	case a.Redacted != nil && a.Redacted.Body != "":
		return a, handoff.E("apply", a.ID, handoff.Conflict, errors.New("its content was redacted"))
	}
	return a, nil
}

// patched returns what the patch of an artifact changes.
func (c Candidates) patched(ctx context.Context, a handoff.Artifact, r git.Repository) (string, []git.Change, error) {
	body, err := c.c.Hub.Open(ctx, a.ID)
	if err != nil {
		return "", nil, err
	}
	defer body.Close()
	patch, err := io.ReadAll(io.LimitReader(body, git.MaxApplied+1))
	if err == nil && len(patch) > git.MaxApplied {
		err = fmt.Errorf("it has more than %d bytes: %w", git.MaxApplied, git.ErrUnsafe)
	}
	if err != nil {
		return "", nil, err
	}
	return r.Patched(ctx, patch)
}

// placed returns what the files of the directory of an artifact change.
func (c Candidates) placed(ctx context.Context, a handoff.Artifact, r git.Repository) (string, []git.Change, error) {
	root, err := filepath.EvalSymlinks(c.c.Dirs.Root)
	if err == nil {
		root, err = filepath.Rel(r.Top, root)
	}
	if err != nil {
		return "", nil, err
	}
	if a.Root != "" || !filepath.IsLocal(root) {
		return "", nil, handoff.E("apply", a.ID, handoff.Conflict, errors.New("its path is not inside this worktree"),
			handoff.Suggest("write it elsewhere", handoff.ActionReadTo, a.ID, "PATH"))
	}
	body, err := c.c.Hub.Open(ctx, a.ID)
	if err != nil {
		return "", nil, err
	}
	defer body.Close()
	files, err := filesIn(body, path.Join(filepath.ToSlash(root), a.Path))
	if err == nil {
		_, err = io.Copy(io.Discard, body) // to the end, at which it is verified
	}
	if err != nil {
		return "", nil, err
	}
	return r.Placed(ctx, files)
}

// filesIn returns the files of a directory, with paths below dir.
func filesIn(body io.Reader, dir string) (files []git.Change, err error) {
	size := int64(0)
	for t := tar.NewReader(body); ; {
		h, err := t.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		name := path.Clean(h.Name)
		switch {
		case h.Typeflag == tar.TypeDir:
			continue
		case !filepath.IsLocal(name):
			return nil, fmt.Errorf("%q leaves the directory: %w", h.Name, git.ErrUnsafe)
		case h.Typeflag != tar.TypeReg:
			return nil, fmt.Errorf("%q is not a regular file: %w", h.Name, git.ErrUnsafe)
		}
		if size += h.Size; size > git.MaxApplied {
			return nil, fmt.Errorf("its files have more than %d bytes: %w", git.MaxApplied, git.ErrUnsafe)
		}
		b, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		files = append(files, git.Change{Path: path.Join(dir, name), Content: b, Executable: h.Mode&0o100 != 0})
	}
}

// applyError gives an error of applying an artifact its kind.
func applyError(a handoff.Artifact, err error) error {
	var known *handoff.Error
	e := handoff.E("apply", a.ID, handoff.Unavailable, err)
	switch {
	case err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, git.ErrNoPatch):
		e.Kind, e.Err = handoff.Unsupported, errors.New("it is neither a patch nor a directory")
		e.Hint = handoff.Suggest("write it to a file", handoff.ActionReadTo, a.ID, "PATH")
	case errors.Is(err, git.ErrUnsafe):
		e.Kind, e.Hint = handoff.Invalid, handoff.Suggest("look at it", handoff.ActionRead, a.ID)
	case errors.Is(err, git.ErrDiffers):
		e.Kind = handoff.Conflict
		e.Hint = handoff.Advice("commit your own changes first, or check out the commit that it was made for")
	case errors.Is(err, git.ErrNoCommit):
		e.Kind, e.Err = handoff.Conflict, errors.New("the repository has no commit")
		e.Hint = handoff.Advice("make the first commit")
	case errors.Is(err, git.ErrNone):
		e.Kind, e.Hint = handoff.NotFound, handoff.Advice("call it in a worktree of the repository")
	}
	return e
}
