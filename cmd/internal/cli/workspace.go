package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/settings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
)

// Open opens the workspace of the current directory.
func (a *App) Open() (*workspace.Workspace, error) { return workspace.Open(a.Dir, a.Options()) }

// Options are what the workspace of the current directory is opened with.
func (a *App) Options() workspace.Options {
	getenv := a.Getenv
	if a.workspace != "" {
		getenv = func(name string) string {
			if name == "HANDOFF_WORKSPACE" {
				return a.workspace
			}
			return a.Getenv(name)
		}
	}
	return workspace.Options{Getenv: getenv, Now: a.Now, Rand: a.Rand,
		Fetching: a.progressInBytes("fetching"), Copying: a.progressInBytes("copying"),
		Progress: a.Progress("indexing"), Warn: func(text string) { a.Warn("%s", text) }, Backends: a.Backends,
		AllowSecrets: a.AllowSecret, Threads: thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))}
}

// Reading runs do with an open workspace.
func (a *App) Reading(do func(*workspace.Workspace) error) error {
	w, err := a.Open()
	if err != nil {
		return err
	}
	defer w.Close()
	a.Warnings(w.Caller().Warnings)
	for _, s := range w.IgnoredSettings() {
		a.WarnIgnored(s)
	}
	if err := do(w); err != nil {
		return err
	}
	w.Note()
	return nil
}

// WarnIgnored warns about a setting in a file of the workspace that only the user
// decides.
func (a *App) WarnIgnored(s settings.Entry) {
	text, how := s.IgnoredNote()
	a.Warn("%s; %s", text, HintText(how))
}

// Writing is Reading for a command that records. It reports a workspace that the
// command created.
func (a *App) Writing(do func(*workspace.Workspace) error) error {
	return a.Reading(func(w *workspace.Workspace) error {
		err := do(w)
		a.completed = err == nil || a.sent.err != nil
		a.ReportQueued(w)
		if w.Store().Created() {
			dir := w.Root()
			if !strings.HasPrefix(w.Store().Runtime(), dir+string(filepath.Separator)) { // in a linked worktree
				dir = w.Store().Runtime()
			}
			fmt.Fprintf(a.Err, "created workspace %s\n", textfmt.OneLine(dir))
		}
		return err
	})
}

// ReportQueued prints how many records are queued on this machine, if any are.
func (a *App) ReportQueued(w *workspace.Workspace) {
	n, oldest, err := w.Store().Queued(context.Background())
	switch {
	case err != nil:
		a.Warn("the queue can't be read: %v", err)
	case n > 0:
		fmt.Fprintln(a.Err, textfmt.Queued(n, a.Now().Sub(oldest)))
	}
}

// Used records, after the answer is out, that the caller's work read an artifact.
// A failure is ignored: use is recorded on a best-effort basis.
func (a *App) Used(ctx context.Context, w *workspace.Workspace, art handoff.Artifact) {
	if a.Flush() == nil {
		_ = w.Work(nil).Use(ctx, art)
	}
}
