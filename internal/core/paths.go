package core

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/names"
)

// Runtime opens the runtime directory and creates it if it is missing.
func (c *Core) Runtime() (*os.Root, error) {
	if err := c.RuntimeDir.Create(context.Background()); err != nil {
		return nil, err
	}
	return os.OpenRoot(c.Dirs.Runtime)
}

// Path returns a path as the caller types it, absolute.
func (c *Core) Path(typed string) string {
	if filepath.IsAbs(typed) {
		return typed
	}
	return filepath.Join(c.Dir, typed)
}

// Inside returns a path as typed relative to root, slash-separated. Kind: Invalid.
func (c *Core) Inside(root, typed string) (string, error) {
	full := c.Path(typed)
	// The last element may be a link that is published as such.
	if dir, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil {
		full = filepath.Join(dir, filepath.Base(full))
	}
	rel, err := filepath.Rel(root, full)
	if err != nil || !filepath.IsLocal(rel) {
		return "", handoff.E("publish", typed, handoff.Invalid, errors.New("path leaves the workspace"),
			handoff.Advice("write the file inside "+root+" first").OrSet("HANDOFF_WORKSPACE"))
	}
	return filepath.ToSlash(rel), nil
}

// File returns the file of an artifact, absolute, "" if it can't be reached from this machine.
func (c *Core) File(ctx context.Context, a handoff.Artifact) string {
	return c.Published.Stat(ctx, []handoff.Artifact{a})[0].Path
}

// Folder returns the folder of a session, absolute.
func (c *Core) Folder(s handoff.Session) string {
	return filepath.Join(c.Dirs.Home(), filepath.FromSlash(s.Folder))
}

// FolderOf returns the folder of the session that a producer worked in, "" for none. It
// queries the index alone, because the hub calls it during a query.
func (c *Core) FolderOf(ctx context.Context, p handoff.Producer) string {
	s, err := c.Index.Session(ctx, p.Session)
	if err != nil || s.Folder == "" {
		return ""
	}
	return c.Folder(s)
}

// FolderByID returns the folder of a session or run as far as the index knows it, or the one
// that it would have, "" for no ID.
func (c *Core) FolderByID(ctx context.Context, id string) string {
	if id == "" {
		return ""
	}
	if folder := c.FolderOf(ctx, handoff.Producer{Session: id}); folder != "" {
		return folder
	}
	paths, err := c.Settings.Paths(config.Paths{ProjectRoot: c.Dirs.ProjectRoot(), SessionID: names.Folder(id),
		Now: c.Now()}, "", "")
	if err == nil {
		var folder string
		if folder, _, err = paths.Resolve("{session_folder}"); err == nil {
			return folder
		}
	}
	return filepath.Join(c.Dirs.ProjectRoot(), "docs", "agent-outputs", names.Folder(id))
}

// CurrentFolder returns FolderByID, with an index that has caught up with the log if it can.
func (c *Core) CurrentFolder(ctx context.Context, id string) string {
	_, _ = c.Hub.Newest(ctx)
	return c.FolderByID(ctx, id)
}

// OwnFolder returns the folder of the session that the caller works in, "" for none.
func (c *Core) OwnFolder(ctx context.Context) string {
	return cmp.Or(c.FolderOf(ctx, c.Producer), c.SessionDir)
}

// Prices returns the file of the user's own prices, "" for none.
func (c *Core) Prices() string {
	if below, ok := strings.CutPrefix(c.Settings.Prices, "~/"); ok {
		return filepath.Join(c.UserHome, below)
	}
	return c.Settings.Prices
}
