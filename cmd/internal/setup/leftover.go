package setup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
)

// The kinds of leftovers.
const (
	Caches    = "caches"    // what can be derived again
	State     = "state"     // what this machine remembers of logs and programs
	Settings  = "settings"  // what the user decided, and the logs that were accepted
	Refs      = "refs"      // logs in refs of a git repository
	Workspace = "workspace" // the runtime directory of a workspace, with its records
)

// A Leftover is something of handoff that init did not write, and that undoing it
// leaves.
type Leftover struct {
	Kind      string   `json:"kind"`
	Path      string   `json:"path"`           // a directory; the repository of refs
	Refs      []string `json:"refs,omitempty"` // full names
	SizeBytes int64    `json:"sizeBytes,omitempty"`
	Removed   bool     `json:"removed"`
	Reason    string   `json:"reason,omitempty"` // why it was not removed, although the user named it
}

// Leftovers returns what is left in the user's directories and in some places, which
// are workspaces and repositories. runtime returns the runtime directory of a
// workspace, "" for one that has none or another program's.
func Leftovers(ctx context.Context, getenv func(string) string, places []string,
	runtime func(place string) string) []Leftover {
	var list []Leftover
	for _, l := range []Leftover{{Kind: Caches, Path: userdir.Cache(getenv)}, {Kind: State, Path: userdir.State(getenv)},
		{Kind: Settings, Path: userdir.Config(getenv)}} {
		if l.Path != "" && exists(l.Path) {
			l.SizeBytes = size(l.Path)
			list = append(list, l)
		}
	}
	for _, place := range places {
		if refs := refsOf(ctx, place); len(refs) > 0 {
			list = append(list, Leftover{Kind: Refs, Path: place, Refs: refs})
		}
		if dir := runtime(place); dir != "" {
			list = append(list, Leftover{Kind: Workspace, Path: dir, SizeBytes: size(dir)})
		}
	}
	return list
}

// refsOf returns the refs of handoff in a repository, nil if it is none.
func refsOf(ctx context.Context, place string) []string {
	if !exists(filepath.Join(place, ".git")) && !exists(filepath.Join(place, "HEAD")) {
		return nil
	}
	out, err := git.Run(ctx, place, "for-each-ref", "--format=%(refname)", "refs/handoff")
	if err != nil {
		return nil
	}
	return strings.Fields(string(out))
}

// size returns how many bytes the files of a directory have, as far as they can be
// listed.
func size(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}

// Remove removes what is left. A directory that several kinds share is removed with all of
// them only: kinds are those that the user named.
func (l *Leftover) Remove(ctx context.Context, all []Leftover, kinds []string) {
	if err := l.remove(ctx, all, kinds); err != nil {
		l.Reason = err.Error()
		return
	}
	l.Removed = true
}

func (l *Leftover) remove(ctx context.Context, all []Leftover, kinds []string) error {
	if l.Kind == Refs {
		for _, ref := range l.Refs {
			if _, err := git.Run(ctx, l.Path, "update-ref", "-d", ref); err != nil {
				return err
			}
		}
		return nil
	}
	for _, other := range all {
		if other.Path == l.Path && !slices.Contains(kinds, other.Kind) {
			return errors.New("the directory also has the " + other.Kind)
		}
	}
	if isLink(l.Path) {
		return errors.New("is a symbolic link")
	}
	return os.RemoveAll(l.Path)
}
