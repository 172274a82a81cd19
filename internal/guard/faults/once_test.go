//go:build linux && amd64

package faults

import (
	"strings"
	"syscall"
	"testing"
)

// TestReadOnce counts what commands need to read once only: what identifies their process, and
// the file of each output of a session.
func TestReadOnce(t *testing.T) {
	t.Parallel()
	const outputs = 200
	g := newGrown(t, outputs)
	for _, tt := range []struct {
		line   string
		number uint64
		most   int
	}{
		{"status", syscall.SYS_READLINKAT, 4}, // one for the namespace, others for paths
		{"show " + grownSession, syscall.SYS_NEWFSTATAT, outputs + 200},
	} {
		if got := fileCallsOf(t, g.program, g.ws, strings.Fields(tt.line))[tt.number]; got > tt.most {
			t.Errorf("%s: %d system calls of number %d, want at most %d", tt.line, got, tt.number, tt.most)
		}
	}
}
