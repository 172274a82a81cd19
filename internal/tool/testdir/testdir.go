// Package testdir runs the tests of a package in memory.
//
// Most tests make thousands of small files durable, which says nothing about what they
// test, and wait for the disk each time. In memory, a sync costs nothing. The tests of what
// is durable, such as those of package durable, stay on the disk: they do not use it.
package testdir

import (
	"fmt"
	"os"
)

// Run runs tests, such as the method Run of testing.M, and returns their exit code. If TMPDIR
// is not set, their temporary directories are in memory, where the system has a file system
// with enough room for them on which programs can run.
func Run(tests func() int) int {
	if os.Getenv("TMPDIR") != "" {
		return tests()
	}
	dir, err := os.MkdirTemp(inMemory(), "handoff-tests-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // tests start programs as other users
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("TMPDIR", dir)
	return tests()
}
