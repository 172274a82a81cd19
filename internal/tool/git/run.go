// Package git runs the installed git in repositories that others wrote, and reads
// commits and the history of files.
package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// ErrNotInstalled is the reason of an error if git is not installed.
var ErrNotInstalled = errors.New("git is not installed")

// Run runs git in a directory and returns its standard output. It takes no lock that
// another git would wait for, and runs no program that the settings of the repository
// name: no hook, file system monitor, filter, diff program, signature check or
// transport. Of git diff, git show and git blame, the caller disables external diff
// programs and textconv.
func Run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	if len(args) > 0 && slices.Contains(fileless, args[0]) {
		return run(ctx, dir, args...)
	}
	filters, err := run(ctx, dir, "config", "--includes", "--show-scope", "-z", "--name-only", "--get-regexp", `^filter\.`)
	if errors.Is(err, exec.ErrNotFound) {
		return nil, err
	}
	// Without a match, git config fails.
	return run(ctx, dir, append(disabled(filters), args...)...)
}

// fileless are commands that read no file of a working tree, and so run no filter.
var fileless = []string{"config", "for-each-ref", "ls-tree", "merge-base", "rev-parse", "show-ref", "update-ref"}

// disabled returns options that disable the filters of a repository, as git
// config lists them: a scope and a key, each terminated by a NUL. The filters of
// the user and of the system are enabled.
func disabled(list []byte) []string {
	var options []string
	fields := strings.Split(string(list), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		scope, key := fields[i], fields[i+1]
		if scope != "local" && scope != "worktree" {
			continue
		}
		options = append(options, "--config-env="+key+"="+empty) // -c would end the key at its first "="
	}
	return options
}

// empty is a variable of git's environment whose value is empty.
const empty = "HANDOFF_EMPTY"

// options apply to every command. A log could check signatures with a program of the
// repository.
var options = []string{"--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c",
	"core.hooksPath=/dev/null",
	"-c", "log.showSignature=false", "-c", "log.showRoot=true", "-c", "log.mailmap=false"}

// otherRepository are variables that lead git to another repository, index or base of
// paths. Git sets some of them for its hooks.
var otherRepository = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_CONFIG", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_PREFIX",
	"GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE", "GIT_IMPLICIT_WORK_TREE", "GIT_EXTERNAL_DIFF"}

// Environ returns an environment in which git uses the repository of its directory.
func Environ(env []string) []string {
	return slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(otherRepository, name)
	})
}

// run is Run for commands that read no file of a working tree, to which filters would
// apply.
func run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return runWith(ctx, dir, nil, nil, args...)
}

// runWith is run with more variables and a standard input.
func runWith(ctx context.Context, dir string, env []string, stdin io.Reader, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "git", slices.Concat(options, []string{"-C", dir}, args)...)
	c.Stdin = stdin
	c.Env = append(Environ(c.Environ()), empty+"=", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",
		"GIT_TERMINAL_PROMPT=0")
	c.Env = append(c.Env, env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil && stderr.Len() > 0 {
		err = errors.New(strings.TrimSpace(stderr.String()))
	}
	return out, err
}
