//go:build !linux

package workspace

import (
	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session"
)

// ProcessOf returns the zero value: this system has no boot id and no pid
// namespaces by which a process could be told from all others.
func ProcessOf(int) handoff.Process { return handoff.Process{} }

// Observer returns an observer that concludes nothing.
func Observer() session.Observer { return session.Observer{} }
