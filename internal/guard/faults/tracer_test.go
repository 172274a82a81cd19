//go:build linux && amd64

package faults

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"testing"
)

// A call is one system call of a traced process.
type call struct {
	number uint64
	fd     int // its first argument
}

// fileCalls are the system calls on files, with the error that each fails with.
// Others, such as those that allocate memory, end a process whatever it does.
var fileCalls = map[uint64]syscall.Errno{
	syscall.SYS_READ: syscall.EIO, syscall.SYS_PREAD64: syscall.EIO, syscall.SYS_WRITE: syscall.ENOSPC,
	syscall.SYS_PWRITE64: syscall.ENOSPC,
	syscall.SYS_OPEN:     syscall.EIO, syscall.SYS_OPENAT: syscall.ENOSPC, syscall.SYS_CLOSE: syscall.EIO,
	syscall.SYS_LSEEK: syscall.EIO,
	syscall.SYS_STAT:  syscall.EIO, syscall.SYS_FSTAT: syscall.EIO, syscall.SYS_LSTAT: syscall.EIO,
	syscall.SYS_NEWFSTATAT: syscall.EIO,
	syscall.SYS_FCNTL:      syscall.EIO, syscall.SYS_FLOCK: syscall.ENOLCK, syscall.SYS_FSYNC: syscall.EIO,
	syscall.SYS_FDATASYNC: syscall.EIO,
	syscall.SYS_FTRUNCATE: syscall.EIO, syscall.SYS_GETDENTS64: syscall.EIO, syscall.SYS_READLINK: syscall.EIO,
	syscall.SYS_READLINKAT: syscall.EIO,
	syscall.SYS_MKDIR:      syscall.ENOSPC, syscall.SYS_MKDIRAT: syscall.ENOSPC, syscall.SYS_LINK: syscall.EIO,
	syscall.SYS_LINKAT: syscall.EIO,
	syscall.SYS_RENAME: syscall.EIO, syscall.SYS_RENAMEAT: syscall.EIO, renameat2: syscall.EIO,
	syscall.SYS_UNLINK: syscall.EIO, syscall.SYS_UNLINKAT: syscall.EIO, syscall.SYS_FCHMOD: syscall.EIO,
	syscall.SYS_FCHMODAT: syscall.EIO,
	syscall.SYS_UTIMES:   syscall.EIO, syscall.SYS_UTIMENSAT: syscall.EIO, copyFileRange: syscall.EIO,
	syscall.SYS_MMAP: syscall.ENOMEM,
}

// transfers are those that return a number of bytes.
var transfers = map[uint64]bool{syscall.SYS_READ: true, syscall.SYS_PREAD64: true, syscall.SYS_WRITE: true,
	syscall.SYS_PWRITE64: true, syscall.SYS_GETDENTS64: true, copyFileRange: true}

// The numbers that package syscall does not have.
const (
	renameat2     = 316
	copyFileRange = 326
)

// A tracer runs one process and makes one of its system calls on files fail, or kills
// the process before it.
type tracer struct {
	fail    int  // the number of the call that fails, from 1; 0 for none
	perform bool // the call takes effect and fails nevertheless
	kill    bool // the process is killed instead

	calls  []call
	bytes  int // read and written by these calls
	failed call
	pid    int
	inside map[int]bool          // threads between the two stops of a call
	result map[int]syscall.Errno // of threads whose call fails
	events map[int]bool          // descriptors that the Go runtime wakes itself with
}

// run runs a program to its end and returns its exit code, 128 if it was killed.
func (c *tracer) run(t *testing.T, program string, attr *os.ProcAttr, args ...string) int {
	t.Helper()
	runtime.LockOSThread() // which alone may trace the process
	defer runtime.UnlockOSThread()
	attr.Sys = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	p, err := os.StartProcess(program, append([]string{"handoff"}, args...), attr)
	if errors.Is(err, syscall.EPERM) {
		t.Skip("this system does not allow a process to trace its children")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	c.pid = p.Pid
	c.inside, c.result, c.events = map[int]bool{}, map[int]syscall.Errno{}, map[int]bool{}
	for ready := false; ; {
		var status syscall.WaitStatus
		tid, err := syscall.Wait4(-p.Pid, &status, syscall.WALL, nil) // its threads are in its group
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			t.Fatalf("wait for %d: %v", p.Pid, err)
		}
		switch {
		case tid == p.Pid && status.Exited():
			return status.ExitStatus()
		case tid == p.Pid && status.Signaled():
			return 128
		case !status.Stopped():
			continue // a thread has ended
		}
		if !ready {
			ready = true
			const exitKill = 0x100000
			if err := syscall.PtraceSetOptions(tid,
				syscall.PTRACE_O_TRACESYSGOOD|syscall.PTRACE_O_TRACECLONE|exitKill); err != nil {
				t.Fatal(err)
			}
		}
		// A thread may be killed at any time, so an error here is no failure.
		_ = syscall.PtraceSyscall(tid, c.stopped(tid, status.StopSignal()))
	}
}

// stopped handles one stop of a thread and returns the signal to deliver.
func (c *tracer) stopped(tid int, signal syscall.Signal) int {
	switch signal {
	case syscall.SIGTRAP | 0x80:
		c.step(tid)
		return 0
	case syscall.SIGTRAP, syscall.SIGSTOP: // a new program, a new thread
		return 0
	}
	return int(signal)
}

// step handles the start or the end of a system call.
func (c *tracer) step(tid int) {
	var regs syscall.PtraceRegs
	if syscall.PtraceGetRegs(tid, &regs) != nil {
		return
	}
	c.inside[tid] = !c.inside[tid]
	if c.inside[tid] {
		at := call{regs.Orig_rax, int(int32(regs.Rdi))}
		if !c.counts(at, regs) {
			return
		}
		if c.calls = append(c.calls, at); len(c.calls) != c.fail {
			return
		}
		c.failed = at
		if c.kill {
			_ = syscall.Kill(c.pid, syscall.SIGKILL)
			return
		}
		c.result[tid] = fileCalls[at.number]
		if !c.perform && at.number != syscall.SYS_CLOSE { // which releases the descriptor whatever it returns
			regs.Orig_rax = ^uint64(0) // no system call has this number
			_ = syscall.PtraceSetRegs(tid, &regs)
		}
		return
	}
	if moves := int(int64(regs.Rax)); transfers[regs.Orig_rax] && moves > 0 && !c.events[int(int32(regs.Rdi))] {
		c.bytes += moves
	}
	if regs.Orig_rax == syscall.SYS_EVENTFD2 {
		c.events[int(regs.Rax)] = true
	}
	if errno, ok := c.result[tid]; ok {
		delete(c.result, tid)
		regs.Rax = -uint64(errno)
		_ = syscall.PtraceSetRegs(tid, &regs)
	}
}

// counts reports whether a system call is one on a file.
func (c *tracer) counts(at call, regs syscall.PtraceRegs) bool {
	_, ok := fileCalls[at.number]
	if at.number == syscall.SYS_MMAP {
		return ok && int32(regs.R8) >= 0
	}
	return ok && !c.events[at.fd]
}
