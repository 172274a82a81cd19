package brief

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/internal/transcript/action"
	"github.com/agent-handoff/handoff/thread"
)

// The limits of what git is asked for.
const (
	maxCommits = 200
	maxPaths   = 200 // whose lines are counted
)

// A tree is the working tree of a thread, as it is now.
type tree struct {
	git.Tree
	known   bool         // it is in a repository
	base    string       // the commit at which the thread started, "" if that is not known
	files   []file       // that the thread changed, the newest first
	own     []git.Commit // that its commands report
	commits []git.Commit // the others since the thread started, the newest first
	ended   time.Time    // when there was the last sign of the thread
	dirty   []git.Dirty  // that the thread is not known to have changed
}

// A file is one that the thread changed.
type file struct {
	change
	name  string     // relative to the root of the worktree, or else to the directory of the thread; or absolute
	lines *git.Lines // since base; nil if git does not count them
	state string     // "not committed", "untracked", or "" for neither
}

// treeOf returns the tree of the directory in which a thread worked.
func treeOf(ctx context.Context, t *thread.Thread, f facts) (tree, error) {
	r := tree{ended: t.Seen()}
	for _, c := range slices.Backward(f.changes) {
		name := c.path
		if in, err := filepath.Rel(t.Cwd, name); err == nil && filepath.IsLocal(in) {
			name = in
		}
		r.files = append(r.files, file{change: c, name: name})
	}
	if !filepath.IsAbs(t.Cwd) {
		return r, nil
	}
	repository, err := git.Open(ctx, t.Cwd)
	if err == nil {
		r.Tree, err = repository.Tree(ctx)
	}
	if err != nil {
		return r, ctx.Err() // the directory is gone, or in no repository that git reads
	}
	r.known = true
	r.place(repository.Top, t.Cwd)
	r.history(ctx, repository, t, f)
	r.count(ctx, repository)
	return r, ctx.Err()
}

// place names the files as git does, and finds those that are not committed.
func (r *tree) place(top, cwd string) {
	real, err := filepath.EvalSymlinks(cwd)
	for i := range r.files {
		f := &r.files[i]
		path := f.path
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(cwd, "/")+"/"); ok && err == nil {
			path = filepath.Join(real, rest) // as git names the root
		}
		if name, err := filepath.Rel(top, path); err == nil && filepath.IsLocal(name) {
			f.name = filepath.ToSlash(name)
		}
	}
	for _, d := range r.Dirty {
		own := false
		for i := range r.files {
			f := &r.files[i]
			if f.name != d.Path && (!strings.HasSuffix(d.Path, "/") || !strings.HasPrefix(f.name, d.Path)) {
				continue
			}
			own = true
			if f.state = "not committed"; d.Untracked {
				f.state = "untracked"
			}
		}
		if !own {
			r.dirty = append(r.dirty, d)
		}
	}
}

// history finds the commits since the thread started. Those that its commands report are its own.
func (r *tree) history(ctx context.Context, repository git.Repository, t *thread.Thread, f facts) {
	if r.Head == "" {
		return
	}
	// What can't be read is left out.
	if action.IsCommit(t.Commit) {
		r.base, _ = repository.Resolve(ctx, t.Commit)
	}
	if r.base == "" && !t.Started.IsZero() {
		r.base, _ = repository.Before(ctx, t.Started)
	}
	list, err := repository.Between(ctx, r.base, "HEAD", maxCommits)
	if err != nil {
		return
	}
	for _, c := range list {
		reported := func(id string) bool { return strings.HasPrefix(c.ID, id) }
		switch {
		case slices.ContainsFunc(f.commits, reported):
			r.own = append(r.own, c)
		case r.base != "":
			r.commits = append(r.commits, c)
		}
	}
}

// count counts the lines of the files.
func (r *tree) count(ctx context.Context, repository git.Repository) {
	var paths []string
	for _, f := range r.files {
		if len(paths) < maxPaths && !filepath.IsAbs(f.name) {
			paths = append(paths, f.name)
		}
	}
	if len(paths) == 0 || r.base == "" {
		return
	}
	counts, err := repository.Changed(ctx, r.base, paths)
	if err != nil {
		return
	}
	for i := range r.files {
		if n, ok := counts[r.files[i].name]; ok {
			r.files[i].lines = &n
		}
	}
}
