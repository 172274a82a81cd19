//go:build !linux

package program

import (
	"fmt"
	"os"
	"os/exec"
)

// unprivileged runs a program as it is: elsewhere the tests don't run as root.
func unprivileged(args []string) int {
	c := exec.Command(args[0], args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		if c.ProcessState != nil {
			return c.ProcessState.ExitCode()
		}
		fmt.Fprintln(os.Stderr, "unprivileged:", err)
		return 99
	}
	return 0
}
