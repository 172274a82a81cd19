package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// Open opens the workspace of the current directory.
func (a *App) Open() (*workspace.Workspace, error) {
	getenv := a.Getenv
	if a.workspace != "" {
		getenv = func(name string) string {
			if name == "HANDOFF_WORKSPACE" {
				return a.workspace
			}
			return a.Getenv(name)
		}
	}
	return workspace.Open(a.Dir, workspace.Options{Getenv: getenv, Now: a.Now, Rand: a.Rand, Progress: a.progress()})
}

// Reading runs do with an open workspace.
func (a *App) Reading(do func(*workspace.Workspace) error) error {
	w, err := a.Open()
	if err != nil {
		return err
	}
	defer w.Close()
	return do(w)
}

// Writing runs do with an open workspace, and says so if do has made it.
// Once that is done it does what others were killed before.
func (a *App) Writing(do func(*workspace.Workspace) error) error {
	return a.Reading(func(w *workspace.Workspace) error {
		_, before := os.Stat(w.Runtime)
		err := do(w)
		if err == nil {
			a.tidy(w)
		}
		if _, after := os.Stat(w.Runtime); before != nil && after == nil {
			fmt.Fprintf(a.Err, "created workspace %s\n", w.Root)
		}
		return err
	})
}

func (a *App) tidy(w *workspace.Workspace) {
	warnings, err := w.Tidy(context.Background(), a.Caller())
	if err != nil {
		warnings = append(warnings, err.Error())
	}
	for _, text := range warnings {
		a.Warn("%s", text)
	}
}

// Place sets the path of a draft's file, which is named as the caller writes
// it: below the workspace, or, where that is elsewhere, below the directory of
// the session that the producer works in.
func (a *App) Place(ctx context.Context, w *workspace.Workspace, p handoff.Producer, d *handoff.Draft, name string) (err error) {
	if d.Path, err = a.Below(w.Root, name); err == nil {
		return nil
	}
	dir, unresolved := filepath.EvalSymlinks(w.DirOf(ctx, p))
	if unresolved != nil {
		return err
	}
	if file, outside := a.Below(dir, name); outside == nil {
		d.Path, d.Root, d.RootDir, err = file, handoff.SessionRoot, dir, nil
	}
	return err
}

// Below turns a path as the caller writes it into one below root.
func (a *App) Below(root, name string) (string, error) {
	if name == "" {
		return "", Invalid("publish", `""`, "path is empty", "name a file or directory, or - for standard input")
	}
	full := Absolute(a.Dir, name)
	// The last element may be a link that is published as such.
	if dir, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil {
		full = filepath.Join(dir, filepath.Base(full))
	}
	rel, err := filepath.Rel(root, full)
	if err != nil || !filepath.IsLocal(rel) {
		return "", Invalid("publish", name, "path leaves the workspace", "write the file below "+root+" first, or pass --workspace")
	}
	return filepath.ToSlash(rel), nil
}

// Used records, after the answer is out, that the caller's work looked at an
// artifact. That it can't be recorded stops nobody.
func (a *App) Used(ctx context.Context, w *workspace.Workspace, art handoff.Artifact) {
	if a.Flush() == nil {
		_ = w.As(a.Caller()).Use(ctx, art)
	}
}

// RenderSession brings the manifest of a session up to the log, after one of
// its artifacts changed. An id that is a harness's own has no manifest.
func (a *App) RenderSession(ctx context.Context, w *workspace.Workspace, id string) {
	if id == "" {
		return
	}
	if err := w.SessionsAs(handoff.Producer{}).Changed(ctx, id); err != nil && !errors.Is(err, handoff.NotFound) {
		a.Warn("%v", err)
	}
}
