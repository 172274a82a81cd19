package workspace

import (
	"os"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session"
)

// ProcessOf returns what tells the process with the given id from all others,
// or the zero value if there is none: proc(5), with the 22nd field of its stat
// as the start time.
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
	// The second field is the program's name, which may hold anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return handoff.Process{} // it is dead, and waits to be told so
	}
	return handoff.Process{BootID: strings.TrimSpace(string(boot)), PIDNamespace: namespace, PID: pid, StartTime: fields[19]}
}

// Observer returns this process as an observer of others.
func Observer() session.Observer {
	self := ThisProcess()
	return session.Observer{
		BootID: self.BootID, PIDNamespace: self.PIDNamespace,
		Alive: func(p handoff.Process) bool { return ProcessOf(p.PID) == p },
	}
}
