package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/durable"
	"github.com/agent-handoff/handoff/internal/plainfile"
	"github.com/agent-handoff/handoff/internal/userdir"
)

// localScheme is the scheme of the built-in log, which is in the runtime directory.
const localScheme = "file:"

// CheckLog refuses a log that a file of the workspace names, unless it is the
// built-in one or the user has accepted exactly this log for this workspace: a
// cloned repository must not decide where records and content go. Its kind is
// Invalid.
func (c Config) CheckLog(w Workspace, getenv func(string) string) error {
	if c.Log == "" || c.Log == localScheme || c.source["log"] == LogVariable {
		return nil
	}
	if file, err := acceptance(w, getenv, c.Log); err == nil {
		if b, err := plainfile.Read(file, maxConfig); err == nil && string(b) == c.accepted(w) {
			return nil
		}
	}
	return &handoff.Error{Op: "open log", Name: Redact(c.Log), Kind: handoff.Invalid,
		Err:  fmt.Errorf("%s names this log, and you have not accepted it", c.source["log"]),
		Hint: handoff.Suggest("accept it, once the user has agreed", handoff.ActionTrust, Redact(c.Log))}
}

// TrustLog accepts a log that a file of the workspace names: the URL in the file,
// or the same without its user name and password. The acceptance is stored in the
// user's own configuration directory. Kinds: Invalid, Unavailable.
func (c Config) TrustLog(w Workspace, getenv func(string) string, location string) error {
	switch {
	case c.Log == "":
		return &handoff.Error{Op: "trust", Name: Redact(location), Kind: handoff.Invalid, Err: errors.New("no file of this workspace names a log"),
			Hint: handoff.Suggest("list the settings and their sources", handoff.ActionSettings)}
	case location != c.Log && location != Redact(c.Log):
		return &handoff.Error{Op: "trust", Name: Redact(location), Kind: handoff.Invalid, Err: fmt.Errorf("%s names another log", c.source["log"]),
			Hint: handoff.Suggest("list the settings and their sources", handoff.ActionSettings)}
	}
	file, err := acceptance(w, getenv, c.Log)
	if err != nil {
		return err
	}
	if err = makePrivateDir(filepath.Dir(file)); err == nil {
		err = writePrivate(file, c.accepted(w))
	}
	if err != nil {
		return &handoff.Error{Op: "trust", Name: file, Kind: handoff.Unavailable, Err: durable.Reason(err),
			Hint: handoff.Advice("make the directory writable, or set XDG_CONFIG_HOME to another one")}
	}
	return nil
}

// accepted is the content of the file that acceptance returns.
func (c Config) accepted(w Workspace) string {
	return fmt.Sprintf("workspace %s\nlog %s\n", w.Home(), Redact(c.Log))
}

// acceptance returns the file that exists if the user has accepted a log for a
// workspace. Its name contains the digest of both, so a changed URL is another
// log, and no password is stored.
func acceptance(w Workspace, getenv func(string) string, location string) (string, error) {
	dir := userdir.Config(getenv)
	if dir == "" {
		return "", noDirectory("trust")
	}
	sum := sha256.Sum256([]byte(w.Home() + "\x00" + location))
	return filepath.Join(dir, "trust", fmt.Sprintf("%x", sum)), nil
}
