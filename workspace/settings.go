package workspace

import (
	"cmp"
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/settings"
	"github.com/agent-handoff/handoff/storage"
)

// Settings returns the settings of the workspace that a directory belongs to, by
// name. It opens no log. Kinds: those of Open.
func Settings(dir string, o Options) ([]settings.Entry, error) {
	_, c, _, err := localstate.Find(dir, o.environment())
	if err != nil {
		return nil, err
	}
	return append(c.Settings(), config.MovedSettings(o.environment())...), nil
}

// SetMoved makes the threads of the directory from, which no longer exists, those of the repository
// or workspace that the directory to is in. If to is "", it undoes that. Both are absolute.
//
// Kinds: Invalid (from exists), NotFound (to does not), Unavailable.
func SetMoved(ctx context.Context, o Options, from, to string) error {
	return config.SetMoved(ctx, config.Without(o.environment(), "HANDOFF_WORKSPACE"), from, to)
}

// SetSetting changes a setting in the user's own file, for the workspace that a
// directory belongs to or for every one. It opens no log. Kinds: those of Open, and
// Invalid (the name or the value).
func SetSetting(ctx context.Context, dir string, o Options, change settings.Change) error {
	found, err := config.Find(dir, o.environment())
	if err != nil {
		return err
	}
	return config.Set(ctx, found, o.environment(), change)
}

// IgnoredSettings returns the settings in files of the workspace that are ignored,
// because only the user decides about them.
func (w *Workspace) IgnoredSettings() []settings.Entry { return w.c.Settings.Ignored() }

// A LogTrust is what accepting a log permits: records, and the copies of published files
// that Keep makes, are sent to its destinations.
type LogTrust struct {
	Workspace    string
	Log          string       // its URL, without user name and password
	Destinations []string     // what the URL leads to, if that is another URL or a path
	Keep         handoff.Keep // of the settings that apply
	Threads      bool         // kept transcripts are sent, too, because the user shares them
}

// TrustLog accepts the log that a file of the workspace names, and no other, for
// the user of this machine: Open does not use it before. The location is its URL,
// with or without user name and password. If the URL leads to another one later, that
// is not accepted. It opens no log.
//
// Kinds: those of Open, and Invalid (the files name no log, or another one).
func TrustLog(dir string, o Options, location string) (LogTrust, error) {
	return trustLog(dir, o, location, config.Config.TrustLog)
}

// DescribeTrust returns what TrustLog would permit.
func DescribeTrust(dir string, o Options, location string) (LogTrust, error) {
	return trustLog(dir, o, location, func(c config.Config, w config.Workspace, _ func(string) string, location string,
		destinations []string) error {
		return c.CheckTrust(w, location, destinations)
	})
}

type trustFunc func(c config.Config, w config.Workspace, getenv func(string) string, location string,
	destinations []string) error

func trustLog(dir string, o Options, location string, trust trustFunc) (LogTrust, error) {
	getenv := o.environment()
	found, c, _, err := localstate.Find(dir, func(name string) string {
		if name == config.LogVariable { // it is not what the files name
			return ""
		}
		return getenv(name)
	})
	if err != nil {
		return LogTrust{}, err
	}
	var destinations []string
	if err = c.CheckTrust(found, location, nil); err == nil {
		destinations, err = localstate.Destinations(c, o.Backends,
			storage.BackendOptions{Root: found.Root, Runtime: found.Runtime, Getenv: getenv})
	}
	if err == nil {
		err = trust(c, found, getenv, location, destinations)
	}
	return LogTrust{Workspace: found.Home(), Log: config.Redact(c.Log), Destinations: config.RedactAll(destinations),
		Keep: cmp.Or(c.Keep, handoff.KeepAuto), Threads: c.SharesThreads()}, err
}

// environment returns Getenv, or an empty environment.
func (o Options) environment() func(string) string {
	if o.Getenv == nil {
		return func(string) string { return "" }
	}
	return o.Getenv
}
