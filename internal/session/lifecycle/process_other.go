//go:build !linux

package lifecycle

import "github.com/agent-handoff/handoff"

// ProcessOf returns the zero value: this system has no boot ID and no PID
// namespaces that would identify a process.
func ProcessOf(int) handoff.Process { return handoff.Process{} }

// ThisProcess is ProcessOf for this process.
func ThisProcess() handoff.Process { return handoff.Process{} }

// ThisObserver returns an observer that concludes nothing.
func ThisObserver() Observer { return Observer{} }
