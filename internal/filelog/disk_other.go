//go:build !linux

package filelog

import (
	"errors"
	"os"
)

// createUnnamed returns errors.ErrUnsupported: only Linux has unnamed files.
func createUnnamed(*system) (temporary, *os.File, error) { return nil, nil, errors.ErrUnsupported }
