package gate

import (
	"bytes"
	"cmp"
	"context"
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

// A Scope is the set of files that changed in the repository since a commit.
type Scope struct {
	Base    string   `json:"base"`    // the commit; "" before the first one
	Changed []string `json:"changed"` // relative to the workspace, sorted; ../ is outside of it
}

// A Git runs git in a directory and returns its standard output.
type Git func(ctx context.Context, dir string, args ...string) ([]byte, error)

// RunGit runs the installed git. It takes no lock that another git would wait
// for.
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

// bases are the default bases; the first one that exists is used.
var bases = []string{"origin/HEAD", "main", "master", "HEAD"}

// Changes returns the files that changed in the workspace's repository since the
// merge base of HEAD and base: committed, staged, unstaged and untracked. A
// rename is two paths. The default base is the main branch. Its kinds are
// NotFound (no repository), Invalid (unknown base) and Unavailable.
func Changes(ctx context.Context, git Git, workspace, base string) (Scope, error) {
	scopeError := func(kind handoff.Kind, err error, hint string) error {
		return &handoff.Error{Op: "scope", Name: cmp.Or(base, workspace), Kind: kind, Err: err, Hint: handoff.Advice(hint)}
	}
	b, err := git(ctx, workspace, "rev-parse", "--show-toplevel", "--show-prefix")
	if errors.Is(err, exec.ErrNotFound) {
		return Scope{}, scopeError(handoff.Unavailable, errors.New("git is not installed"), "install git")
	}
	if err != nil {
		return Scope{}, scopeError(handoff.NotFound, errors.New("not a git repository, so changes can't be determined"), "use a workspace in a git repository")
	}
	top, prefix, _ := strings.Cut(strings.TrimSuffix(string(b), "\n"), "\n")
	commit, err := mergeBase(ctx, git, top, base)
	if err != nil {
		return Scope{}, scopeError(handoff.Invalid, err, "name a branch, a tag or a commit")
	}
	files := map[string]bool{}
	for _, args := range listings(commit) {
		out, err := git(ctx, top, args...)
		if err != nil {
			return Scope{}, scopeError(handoff.Unavailable, err, "")
		}
		for _, name := range strings.Split(string(out), "\x00") {
			if name != "" {
				files[relative(prefix, name)] = true
			}
		}
	}
	return Scope{commit, slices.Sorted(maps.Keys(files))}, nil
}

// listings returns the git commands that together list every change since a
// commit. The index and the working tree are listed separately: a change that was
// staged and then undone in the working tree would still be committed.
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

// mergeBase returns the merge base of HEAD and base, "" before the first commit.
func mergeBase(ctx context.Context, git Git, dir, base string) (string, error) {
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
			return "", errors.New("no commit in common with HEAD")
		}
	}
	return "", errors.New("not a commit")
}

func commitOf(ctx context.Context, git Git, dir, name string) (string, error) {
	b, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	return strings.TrimSpace(string(b)), err
}

// relative turns a path relative to the repository into one relative to the
// workspace, which is at prefix.
func relative(prefix, name string) string {
	rel, err := filepath.Rel(filepath.FromSlash(path.Clean("/"+prefix)), filepath.FromSlash("/"+name))
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

// exempt are the folders of handoff and of the runs.
var exempt = []string{contract.Folder + "/", ".handoff/"}

// ComparesChanges reports whether the gate of a stage compares the files that
// changed in the repository.
func ComparesChanges(stage *contract.Stage) bool {
	return stage.Has(contract.CheckChanges) || stage.Has(contract.CheckMerge)
}

// implement compares three lists: the planned files, the files that the worker
// lists, and the files that changed according to git.
func (v *Result) implement(p *contract.Pipeline, s Artifacts, a map[string]any) {
	planned, ok := v.planned(p, s)
	if !ok {
		return
	}
	claimed := contract.Texts(a["files_changed"])
	completed := contract.Text(a["status"]) == "completed"
	allowed, changed := newPaths(planned), newPaths(nil)
	if v.Scope != nil {
		changed.exact = setOf(v.Scope.Changed)
	}
	for i, file := range claimed {
		at := jsonschema.Pointer("files_changed", fmt.Sprint(i))
		if planned != nil && completed && !allowed.match(file) {
			v.error("claim_planned", at, "files_changed has %s, which is not in affected_files", file)
		} else if v.Scope != nil && !changed.match(file) {
			v.error("claim_changed", at, "files_changed has %s, which did not change", file)
		}
	}
	v.scope(planned, claimed, a != nil)
}

// planned returns the files of the plan, nil if the issue needs no plan.
func (v *Result) planned(p *contract.Pipeline, s Artifacts) ([]string, bool) {
	stage, plan := s.Checked(p, contract.CheckPlan)
	if stage == nil || plan == nil && stage.Skip != "" && stage.Skip == s.Complexity {
		return nil, true
	}
	if plan == nil {
		v.error("plan_exists", "", "%s not found or empty", stage.Artifact)
		return nil, false
	}
	return append([]string{}, contract.Texts(plan["affected_files"])...), true
}

// scope compares the changed files with the planned ones and, if there is a
// worker result, with the files listed there.
func (v *Result) scope(planned, claimed []string, hasResult bool) {
	if v.Scope == nil {
		return
	}
	allowed, listed := newPaths(planned), setOf(claimed)
	for _, file := range v.Scope.Changed {
		switch {
		case slices.ContainsFunc(exempt, func(folder string) bool { return strings.HasPrefix(file, folder) }):
		case planned != nil && !allowed.match(file):
			v.error("scope_extra", "", "%s changed, which is not in affected_files", file)
		case hasResult && !listed[file]:
			v.error("change_claimed", "/files_changed", "%s changed, which is not in files_changed", file)
		}
	}
	for i, unused := range allowed.unused(v.Scope.Changed) {
		if unused {
			v.warn("scope_missing", "", "%s is planned and did not change", planned[i])
		}
	}
}

// git checks that tests and review passed before anything is merged.
func (v *Result) git(p *contract.Pipeline, s Artifacts) {
	for _, result := range s.outcomes(p, contract.CheckTests) {
		switch result {
		case "PASS":
		case "SKIP":
			v.warn("tests_passed", "", "the tests were skipped")
		default:
			v.error("tests_passed", "", "the tests did not pass%s", colon(result))
		}
	}
	for _, result := range s.outcomes(p, contract.CheckReview) {
		if result != "PASS" {
			v.error("review_passed", "", "the review did not pass%s", colon(result))
		}
	}
	if _, plan := s.Checked(p, contract.CheckPlan); plan != nil {
		v.scope(append([]string{}, contract.Texts(plan["affected_files"])...), nil, false)
	}
}

func colon(result string) string {
	if result == "" {
		return ""
	}
	return ": " + result
}
