//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"
)

// lock makes sure that one server at a time uses a directory. The lock ends with
// the process.
func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, errors.New("another server uses this directory")
	}
	return func() { f.Close() }, nil
}
