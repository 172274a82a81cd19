package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/jsonschema"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// A Scope is what changed in the repository since a base.
type Scope struct {
	Base    string   `json:"base"`    // the commit; "" before the first one
	Changed []string `json:"changed"` // paths below the workspace, sorted; ../ leads out of it
}

// A Git runs git in a directory and returns what it prints.
type Git func(ctx context.Context, dir string, args ...string) ([]byte, error)

// RunGit runs the git of this machine. It takes no lock that another git could
// wait for.
func RunGit(ctx context.Context, dir string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks", "-C", dir}, args...)...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil && stderr.Len() > 0 {
		err = errors.New(strings.TrimSpace(stderr.String()))
	}
	return out, err
}

// bases are what a run is held against unless the caller says otherwise, first
// the one found first.
var bases = []string{"origin/HEAD", "main", "master", "HEAD"}

// Changes returns what changed in the workspace's repository since it parted
// from base: commits, what is staged, what is not, and files that git doesn't
// know. A rename is two paths. Without a base it is the main branch. That there
// is no repository is kind NotFound, an unknown base Invalid.
func Changes(ctx context.Context, git Git, workspace, base string) (Scope, error) {
	scopeError := func(kind handoff.Kind, err error, hint string) error {
		return &handoff.Error{Op: "scope", Name: cmp.Or(base, workspace), Kind: kind, Err: err, Hint: handoff.Advice(hint)}
	}
	b, err := git(ctx, workspace, "rev-parse", "--show-toplevel", "--show-prefix")
	if errors.Is(err, exec.ErrNotFound) {
		return Scope{}, scopeError(handoff.Unavailable, errors.New("there is no git"), "install git, which knows what changed")
	}
	if err != nil {
		return Scope{}, scopeError(handoff.NotFound, errors.New("is in no git repository, so what changed can't be known"), "git init makes one; --workspace names another directory")
	}
	top, prefix, _ := strings.Cut(strings.TrimSuffix(string(b), "\n"), "\n")
	commit, err := parted(ctx, git, top, base)
	if err != nil {
		return Scope{}, scopeError(handoff.Invalid, err, "git branch --all lists the branches")
	}
	files := map[string]bool{}
	for _, args := range listings(commit) {
		out, err := git(ctx, top, args...)
		if err != nil {
			return Scope{}, scopeError(handoff.Unavailable, err, "")
		}
		for _, name := range strings.Split(string(out), "\x00") {
			if name != "" {
				files[below(prefix, name)] = true
			}
		}
	}
	return Scope{commit, slices.Sorted(maps.Keys(files))}, nil
}

// listings are the calls of git that together list every change since a commit.
// The index and the working tree are listed apart: what was staged and then
// undone in the working tree would still be committed.
func listings(commit string) [][]string {
	untracked := []string{"ls-files", "-z", "--others", "--exclude-standard", "--full-name"}
	if commit == "" {
		return [][]string{untracked, {"ls-files", "-z", "--cached", "--full-name"}}
	}
	diff := []string{"diff", "--no-ext-diff", "--no-renames", "--no-relative", "--ignore-submodules=none", "--name-only", "-z"}
	return [][]string{
		append(slices.Clone(diff), commit, "HEAD", "--"),
		append(slices.Clone(diff), "--cached", commit, "--"),
		append(slices.Clone(diff), commit, "--"),
		untracked,
	}
}

// parted returns the commit at which HEAD parted from base, "" before the first
// commit.
func parted(ctx context.Context, git Git, dir, base string) (string, error) {
	head, err := commitOf(ctx, git, dir, "HEAD")
	if err != nil && base == "" {
		return "", nil
	}
	names := bases
	if base != "" {
		names = []string{base}
	}
	for _, name := range names {
		commit, err := commitOf(ctx, git, dir, name)
		if err != nil {
			continue
		}
		if b, err := git(ctx, dir, "merge-base", commit, head); err == nil {
			return strings.TrimSpace(string(b)), nil
		}
		if base != "" {
			return "", errors.New("has no commit in common with HEAD")
		}
	}
	return "", errors.New("is no commit")
}

func commitOf(ctx context.Context, git Git, dir, name string) (string, error) {
	b, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	return strings.TrimSpace(string(b)), err
}

// below makes a path below the repository one below the workspace, which lies
// at prefix.
func below(prefix, name string) string {
	rel, err := filepath.Rel(filepath.FromSlash(path.Clean("/"+prefix)), filepath.FromSlash("/"+name))
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

// exempt are the folders that handoff and its runs live in.
var exempt = []string{Folder + "/", ".handoff/"}

// implement holds three lists against each other: what was planned, what the
// worker says it changed, and what git says changed.
func (v *Verdict) implement(p *contract.Pipeline, s State, a map[string]any) {
	planned, ok := v.planned(p, s)
	if !ok {
		return
	}
	claimed := texts(a["files_changed"])
	completed := text(a["status"]) == "completed"
	mayChange, changed := newPaths(planned), newPaths(nil)
	if v.Scope != nil {
		changed.exact = setOf(v.Scope.Changed)
	}
	for i, file := range claimed {
		at := jsonschema.Pointer("files_changed", fmt.Sprint(i))
		if planned != nil && completed && !mayChange.cover(file) {
			v.error("claim_planned", at, "the worker says it changed %s, which is not in affected_files", file)
		} else if v.Scope != nil && !changed.cover(file) {
			v.error("claim_changed", at, "the worker says it changed %s, which did not change", file)
		}
	}
	v.scope(planned, claimed, a != nil)
}

// planned returns the files that the plan names, nil where the issue needs no
// plan.
func (v *Verdict) planned(p *contract.Pipeline, s State) ([]string, bool) {
	stage, err := p.Stage("plan")
	plan := s.Outputs["plan"].Report.Value
	if err != nil || plan == nil && stage.Skip != "" && stage.Skip == s.Complexity {
		return nil, true
	}
	if plan == nil {
		v.error("plan_exists", "", "%s not found or empty", stage.Artifact)
		return nil, false
	}
	return append([]string{}, texts(plan["affected_files"])...), true
}

// scope holds what changed against what was planned and, where it is known,
// against what was said to have changed.
func (v *Verdict) scope(planned, claimed []string, said bool) {
	if v.Scope == nil {
		return
	}
	mayChange, told := newPaths(planned), setOf(claimed)
	for _, file := range v.Scope.Changed {
		switch {
		case slices.ContainsFunc(exempt, func(folder string) bool { return strings.HasPrefix(file, folder) }):
		case planned != nil && !mayChange.cover(file):
			v.error("scope_extra", "", "%s changed, which is not in affected_files", file)
		case said && !told[file]:
			v.error("change_claimed", "/files_changed", "%s changed, which the worker does not say", file)
		}
	}
	for i, idle := range mayChange.idle(v.Scope.Changed) {
		if idle {
			v.warn("scope_missing", "", "%s is planned and did not change", planned[i])
		}
	}
}

// git holds that tests and review passed before anything is merged.
func (v *Verdict) git(s State) {
	switch said := outcome(s.Outputs["test"].Report.Value); said {
	case "PASS":
	case "SKIP":
		v.warn("tests_passed", "", "the tests were skipped")
	default:
		v.error("tests_passed", "", "the tests did not pass%s", saying(said))
	}
	if said := outcome(s.Outputs["review"].Report.Value); said != "PASS" {
		v.error("review_passed", "", "the review did not pass%s", saying(said))
	}
	if plan := s.Outputs["plan"].Report.Value; plan != nil {
		v.scope(append([]string{}, texts(plan["affected_files"])...), nil, false)
	}
}

func saying(said string) string {
	if said == "" {
		return ""
	}
	return ": " + said
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// integer returns a JSON number that is whole.
func integer(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	if i, err := n.Int64(); err == nil {
		return i, true
	}
	f, err := n.Float64()
	return int64(f), err == nil && f == float64(int64(f))
}
