package program

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// unprivileged runs a program for which the modes of files count, even where
// the tests run as root.
func unprivileged(args []string) int {
	program, err := exec.LookPath(args[0])
	if err == nil {
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			for _, power := range []uintptr{unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH} {
				if err := unix.Prctl(unix.PR_CAPBSET_DROP, power, 0, 0, 0); err != nil {
					fmt.Fprintln(os.Stderr, "drop powers:", err)
					return 99
				}
			}
		}
		err = unix.Exec(program, args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "unprivileged:", err)
	return 99
}
