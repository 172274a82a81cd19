package config

import (
	"path/filepath"
	"runtime"
)

// Cache returns the directory for what handoff derives from other data, in the
// user's cache directory. It is "" if the environment names none.
func Cache(getenv func(string) string) string {
	dir := getenv("XDG_CACHE_HOME")
	if home := getenv("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".cache")
		if runtime.GOOS == "darwin" {
			dir = filepath.Join(home, "Library", "Caches")
		}
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "handoff")
}
