//go:build !linux

package filelog

import (
	"errors"
	"os"
)

// cloneFile is implemented on Linux only.
func cloneFile(to, from *os.File) error { return errors.ErrUnsupported }
