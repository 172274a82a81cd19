// Package userdir names the user's own directories for the settings, the state
// and the caches of handoff.
//
// They are what the XDG Base Directory Specification (0.8) defines; on macOS the
// settings and the caches are in ~/Library. A function returns "" if the
// environment names no absolute directory. No directory is created.
package userdir

import (
	"path/filepath"
	"runtime"
)

// name is that of the distribution: other programs are called handoff, too.
const name = "agent-handoff"

// Config returns the directory for what the user decided: settings, and the logs
// that the user accepted.
func Config(getenv func(string) string) string {
	return find(getenv, "XDG_CONFIG_HOME", ".config", "Application Support")
}

// Cache returns the directory for what can be derived again from other data.
func Cache(getenv func(string) string) string {
	return find(getenv, "XDG_CACHE_HOME", ".cache", "Caches")
}

// State returns the directory for what this machine remembers and can't derive
// again.
func State(getenv func(string) string) string {
	return find(getenv, "XDG_STATE_HOME", ".local/state", "")
}

// find returns the directory that a variable names, or the default in the home
// directory. An empty library means that macOS has no default of its own.
func find(getenv func(string) string, variable, unix, library string) string {
	dir := getenv(variable)
	if home := getenv("HOME"); !filepath.IsAbs(dir) && home != "" {
		dir = filepath.Join(home, filepath.FromSlash(unix))
		if runtime.GOOS == "darwin" && library != "" {
			dir = filepath.Join(home, "Library", library)
		}
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, name)
}
