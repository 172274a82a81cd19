package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
)

// localScheme is the scheme of the built-in log, which is in the runtime directory.
const localScheme = "file:"

// NamesLog reports whether a file of the workspace names the log, and it is another than
// the built-in one. A cloned repository must not decide where records and content go.
func (c Config) NamesLog() bool {
	return c.Log != "" && c.Log != localScheme && c.source["log"] != "" && c.source["log"] != LogVariable
}

// CheckLog refuses a log that a file of the workspace names, unless the user has
// accepted exactly this log for this workspace, with the destinations that it leads
// to, and one in the environment that leads into the workspace. Its kind is Invalid.
func (c Config) CheckLog(w Workspace, getenv func(string) string, destinations []string) error {
	if err := c.checkOutside(w, destinations); err != nil || !c.NamesLog() {
		return err
	}
	if file, err := acceptance(w, getenv, c.Log); err == nil {
		if b, err := plainfile.Read(file, maxConfig); err == nil && string(b) == c.accepted(w, destinations) {
			return nil
		}
	}
	reason := fmt.Sprintf("%s names this log, and you have not accepted it", c.source["log"])
	if len(destinations) > 0 {
		reason = fmt.Sprintf("%s names this log, and you have not accepted that it leads to %s", c.source["log"],
			strings.Join(RedactAll(destinations), " and "))
	}
	return handoff.E("open log", Redact(c.Log), handoff.Invalid, errors.New(reason),
		handoff.Suggest("accept it, once the user has agreed", handoff.ActionTrust, Redact(c.Log)))
}

// checkOutside refuses destinations inside the workspace. A repository can bring
// another one there, with hooks that git would run. An absolute path in the environment
// is the user's own choice; the name of a remote is not.
func (c Config) checkOutside(w Workspace, destinations []string) error {
	if _, path, _ := strings.Cut(c.Log, ":"); c.source["log"] == LogVariable && filepath.IsAbs(path) {
		return nil
	}
	for _, d := range destinations {
		for _, dir := range []string{w.Root, w.Home(), w.common} {
			rel, err := filepath.Rel(dir, d)
			if filepath.IsAbs(d) && dir != "" && err == nil && filepath.IsLocal(rel) {
				return handoff.E("open log", Redact(c.Log), handoff.Invalid,
					fmt.Errorf("%s names this log, which leads to %s inside the workspace: the repository can bring it",
						c.source["log"], d),
					handoff.Advice("use a log that is not in the workspace"))
			}
		}
	}
	return nil
}

// TrustLog accepts a log that a file of the workspace names, with the destinations that
// it leads to, in the user's own configuration directory. Kinds: those of CheckTrust,
// and Unavailable.
func (c Config) TrustLog(w Workspace, getenv func(string) string, location string, destinations []string) error {
	if err := c.CheckTrust(w, location, destinations); err != nil {
		return err
	}
	file, err := acceptance(w, getenv, c.Log)
	if err != nil {
		return err
	}
	if err = durable.MakeDirs(filepath.Dir(file), 0o700); err == nil {
		err = writePrivate(file, c.accepted(w, destinations))
	}
	if err != nil {
		return handoff.E("trust", file, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("make the directory writable").OrSet("XDG_CONFIG_HOME to another one"))
	}
	return nil
}

// CheckTrust refuses a location that is not the URL in the file that names the log, or
// the same without its user name and password. Kind: Invalid.
func (c Config) CheckTrust(w Workspace, location string, destinations []string) error {
	switch {
	case c.Log == "":
		return handoff.E("trust", Redact(location), handoff.Invalid, errors.New("no file of this workspace names a log"),
			handoff.Suggest("list the settings and their sources", handoff.ActionSettings))
	case location != c.Log && location != Redact(c.Log):
		return handoff.E("trust", Redact(location), handoff.Invalid, fmt.Errorf("%s names another log", c.source["log"]),
			handoff.Suggest("list the settings and their sources", handoff.ActionSettings))
	}
	return c.checkOutside(w, destinations)
}

// accepted is the content of the file that acceptance returns. Destinations are
// compared by their digest, which includes user names and passwords.
func (c Config) accepted(w Workspace, destinations []string) string {
	text := fmt.Sprintf("workspace %s\nlog %s\n", w.Home(), Redact(c.Log))
	for _, d := range RedactAll(destinations) {
		text += "destination " + d + "\n"
	}
	if len(destinations) > 0 {
		text += fmt.Sprintf("digest %x\n", sha256.Sum256([]byte(strings.Join(destinations, "\x00"))))
	}
	return text
}

// RedactAll returns destinations without user names and passwords: paths, URLs, and
// the short form of ssh, user@host:path.
func RedactAll(destinations []string) (list []string) {
	for _, d := range destinations {
		switch short := Redact(d); {
		case filepath.IsAbs(d):
			list = append(list, d)
		case short != "":
			list = append(list, short)
		default:
			list = append(list, d[strings.LastIndexByte(d, '@')+1:])
		}
	}
	return list
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
