package lifecycle

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/agent-handoff/handoff"
)

// ProcessOf identifies the process with the given ID among all processes of all
// boots, or returns the zero value if there is none: proc(5), with field 22 of
// its stat as the start time.
func ProcessOf(pid int) handoff.Process {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return handoff.Process{}
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
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
	return handoff.Process{BootID: strings.TrimSpace(string(boot)), PIDNamespace: namespace, PID: pid,
		StartTime: fields[19]}
}

// ThisObserver returns this process as an observer of others.
func ThisObserver() Observer {
	self := ProcessOf(os.Getpid())
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
