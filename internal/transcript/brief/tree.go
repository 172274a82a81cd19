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
	passage
	name  string     // relative to the root of the worktree, or else to the directory of the thread; or absolute
	lines *git.Lines // since base; nil if git does not count them
	state string     // "not committed", "untracked", or "" for neither
}

// treeOf returns the tree of the directory in which a thread worked.
func treeOf(ctx context.Context, t *thread.Thread, f facts) (tree, error) {
	r := tree{ended: t.Seen()}
	for _, c := range slices.Backward(f.changes.list) {
		r.files = append(r.files, file{passage: c, name: within(t.Cwd, c.text, c.text)})
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
	return r, ctx.Err()
}

// within returns a path relative to a directory that it is in, otherwise another name.
func within(dir, path, otherwise string) string {
	if name, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(name) {
		return filepath.ToSlash(name)
	}
	return otherwise
}

// place names the files as git does, and finds those that are not committed.
func (r *tree) place(top, cwd string) {
	real, err := filepath.EvalSymlinks(cwd) // as git names the root
	for i := range r.files {
		f := &r.files[i]
		path := action.Absolute(cwd, f.text)
		if name := within(cwd, path, ""); name != "" && err == nil {
			path = filepath.Join(real, name)
		}
		f.name = within(top, path, f.name)
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

// history finds the commits since the thread started, of which those that its commands report are its own, and
// counts the lines of the files since then. What can't be read is left out.
func (r *tree) history(ctx context.Context, repository git.Repository, t *thread.Thread, f facts) {
	if r.Head == "" {
		return
	}
	if action.IsCommit(t.Commit) {
		r.base, _ = repository.Resolve(ctx, t.Commit)
	}
	if r.base == "" && !t.Started.IsZero() {
		r.base, _ = repository.Before(ctx, t.Started)
	}
	list, _ := repository.Between(ctx, r.base, "HEAD", maxCommits)
	for _, c := range list {
		reported := func(id string) bool { return strings.HasPrefix(c.ID, id) }
		switch {
		case slices.ContainsFunc(f.commits, reported):
			r.own = append(r.own, c)
		case r.base != "":
			r.commits = append(r.commits, c)
		}
	}
	var paths []string
	for _, f := range r.files {
		if len(paths) < maxPaths && !filepath.IsAbs(f.name) {
			paths = append(paths, f.name)
		}
	}
	if len(paths) == 0 || r.base == "" {
		return
	}
	counts, _ := repository.Changed(ctx, r.base, paths)
	for i := range r.files {
		if n, ok := counts[r.files[i].name]; ok {
			r.files[i].lines = &n
		}
	}
}
