package lifecycle

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/agent-handoff/handoff"
)

// ProcessOf identifies the process with the given ID among all processes of all
// boots, or returns the zero value if there is none: proc(5), with field 22 of
// its stat as the start time.
func ProcessOf(pid int) handoff.Process {
	where, err := thisSystem()
	if err != nil {
		return handoff.Process{}
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return handoff.Process{}
	}
	// Field 2 is the name of the program, which may contain any character.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return handoff.Process{} // a zombie has ended
	}
	return handoff.Process{BootID: where.boot, PIDNamespace: where.namespace, PID: pid, StartTime: fields[19]}
}

// A system has the processes that this one sees.
type system struct{ boot, namespace string }

// What is true until this process ends is read once, nil until then.
var (
	ours atomic.Pointer[system]
	self atomic.Pointer[handoff.Process]
)

func thisSystem() (system, error) {
	if known := ours.Load(); known != nil {
		return *known, nil
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return system{}, err
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return system{}, err
	}
	s := &system{strings.TrimSpace(string(boot)), namespace}
	ours.Store(s)
	return *s, nil
}

// ThisProcess is ProcessOf for this process.
func ThisProcess() handoff.Process {
	if known := self.Load(); known != nil {
		return *known
	}
	p := ProcessOf(os.Getpid())
	if p != (handoff.Process{}) {
		self.Store(&p)
	}
	return p
}

// ThisObserver returns this process as an observer of others.
func ThisObserver() Observer {
	self := ThisProcess()
	return Observer{
		BootID: self.BootID, PIDNamespace: self.PIDNamespace,
		Alive: func(p handoff.Process) bool { return ProcessOf(p.PID) == p || isHidden(p.PID) },
	}
}

// isHidden reports whether there is a process with an ID that this user can't see,
// because /proc is mounted with hidepid.
func isHidden(pid int) bool {
	_, err := os.Lstat("/proc/" + strconv.Itoa(pid))
	return err != nil && errors.Is(syscall.Kill(pid, 0), syscall.EPERM)
}
