package workspace

import (
	"context"

	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/localstate"
)

// A Setting is a setting that applies, or one that is ignored, and where it comes
// from.
type Setting = config.Setting

// Settings returns the settings of the workspace that a directory belongs to, by
// name. It opens no log. Kinds: those of Open.
func Settings(dir string, o Options) ([]Setting, error) {
	_, c, _, err := localstate.Find(dir, o.environment())
	if err != nil {
		return nil, err
	}
	return c.Settings(), nil
}

// A SettingChange is a change of the user's own settings.
type SettingChange = config.Change

// SetSetting changes a setting in the user's own file, for the workspace that a
// directory belongs to or for every one. It opens no log. Kinds: those of Open, and
// Invalid (the name or the value).
func SetSetting(ctx context.Context, dir string, o Options, change SettingChange) error {
	found, err := config.Find(dir, o.environment())
	if err != nil {
		return err
	}
	return config.Set(ctx, found, o.environment(), change)
}

// IgnoredSettings returns the settings in files of the workspace that are ignored,
// because only the user decides about them.
func (w *Workspace) IgnoredSettings() []Setting { return w.settings.Ignored() }

// TrustLog accepts the log that a file of the workspace names, and no other, for
// the user of this machine: Open does not use it before. The location is its URL,
// with or without user name and password. It opens no log.
//
// Kinds: those of Open, and Invalid (the files name no log, or another one).
func TrustLog(dir string, o Options, location string) error {
	getenv := o.environment()
	found, c, _, err := localstate.Find(dir, func(name string) string {
		if name == config.LogVariable { // it is not what the files name
			return ""
		}
		return getenv(name)
	})
	if err != nil {
		return err
	}
	return c.TrustLog(found, getenv, location)
}

// environment returns Getenv, or an empty environment.
func (o Options) environment() func(string) string {
	if o.Getenv == nil {
		return func(string) string { return "" }
	}
	return o.Getenv
}
