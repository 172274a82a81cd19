package workspace

import "github.com/agent-handoff/handoff/internal/log/localstate"

// A Backend stores the log and the bodies of a workspace. HANDOFF_LOG, or the
// setting log, selects it by the scheme of its URL.
type Backend = localstate.Backend

// BackendOptions are what a Backend gets to open a log.
type BackendOptions = localstate.BackendOptions
