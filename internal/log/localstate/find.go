package localstate

import (
	"path/filepath"

	"github.com/agent-handoff/handoff/internal/config"
)

// Find returns the workspace that a directory belongs to, its settings, and warnings
// about its runtime directory. It opens no log. Its kinds
// are those of config.Find, checkTrust and config.Load.
func Find(dir string, getenv func(string) string) (found config.Workspace, c config.Config, warnings []string,
	err error) {
	if dir, err = filepath.Abs(dir); err == nil {
		found, err = config.Find(dir, getenv)
	}
	if err == nil {
		warnings, err = checkTrust(found.Runtime, found.Named)
	}
	if found.Missing != "" && !found.Named {
		warnings = append(warnings, "the git directory of this worktree, "+found.Missing+
			", does not exist: a workspace of its main worktree is not used")
	}
	if err == nil {
		c, err = config.Load(found, getenv)
	}
	return found, c, warnings, err
}
