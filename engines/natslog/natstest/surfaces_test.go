//go:build linux

package natstest

import (
	"os"
	"os/exec"
	"testing"
)

// TestSurfaces runs the test of the MCP server, the viewer and kept threads over a
// log in a stream.
func TestSurfaces(t *testing.T) {
	c := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", "^TestRemoteSurfaces$",
		"./cmd/internal/program")
	c.Dir = "../../.."
	c.Env = append(os.Environ(), "REMOTE_LOG=nats://"+address(t, start(t, nil))+"/team")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
