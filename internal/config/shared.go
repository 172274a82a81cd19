package config

import (
	"cmp"
	"errors"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// sharedName is the name of the settings that a repository shares, at its root.
// A setting in the private config.yaml wins over the same one in this file.
const sharedName = "handoff.yaml"

// LogVariable is the variable that names the log. It wins over every file.
const LogVariable = "HANDOFF_LOG"

// Load returns the settings of a workspace. Those of the environment take precedence
// over the user's own file, that over the config.yaml of the runtime directory, and that
// over the handoff.yaml at the root of the main worktree. Missing files are not an error.
// Error kinds: Invalid, Unavailable.
func Load(w Workspace, getenv func(string) string) (Config, error) {
	c := Config{root: cmp.Or(w.Worktree(""), w.Root), source: map[string]string{}}
	if err := c.addUser(w, getenv); err != nil {
		return Config{}, err
	}
	for _, f := range []struct {
		name string
		is   place
	}{{filepath.Join(w.Runtime, fileName), runtimeFile}, {filepath.Join(c.root, sharedName), teamFile}} {
		b, err := plainfile.Read(f.name, maxConfig)
		err = read(f.name, b, err, namesOf(f.is), func(b []byte) error {
			found, err := Parse(b)
			if err == nil {
				err = c.add(found, f.is, f.name)
			}
			return err
		})
		if err != nil {
			return Config{}, err
		}
	}
	if log := getenv(LogVariable); log != "" {
		c.Log, c.source["log"] = log, LogVariable
	}
	return c, nil
}

// read parses a file of settings that was read, if there is one.
func read(name string, b []byte, err error, names []string, parse func([]byte) error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return handoff.E("read config", name, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("make the file readable"))
	}
	if err := parse(b); err != nil {
		return handoff.E("read config", name, handoff.Invalid, err,
			handoff.Advice("the keys are "+strings.Join(names, ", ")+"; a size is a number of bytes or has a unit (64MiB), an "+
				"age has a unit (30d)"))
	}
	return nil
}

// Redact returns the URL of a log without user name and password. It is "" if the
// text can't be parsed: it may contain a password anywhere.
func Redact(location string) string {
	u, err := url.Parse(location)
	if err != nil || u.Scheme == "" {
		return ""
	}
	u.User = nil
	u.Opaque = u.Opaque[strings.LastIndexByte(u.Opaque, '@')+1:]
	return u.String()
}
