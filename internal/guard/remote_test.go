package guard

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNoRemoteLogs checks that a program which uses workspace compiles no remote
// log and no library of one, and that handoff contains no server, and no library
// that makes its start slow.
func TestNoRemoteLogs(t *testing.T) {
	for _, tt := range []struct {
		program   string
		least     int // dependencies
		forbidden []string
	}{
		{"./workspace", 50, []string{module + "/engines", "bucketlog", "minio", "nats", "aws"}},
		{"./cmd/handoff", 100, []string{"nats-server", "minio", "aws", "bucketlog", "natstest", "logtest"}},
	} {
		c := exec.Command("go", "list", "-deps", tt.program)
		c.Dir = root
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		deps := strings.Fields(string(out))
		if len(deps) < tt.least {
			t.Fatalf("%s: %d dependencies, which can't be all", tt.program, len(deps))
		}
		for _, dep := range deps {
			for _, name := range tt.forbidden {
				if strings.Contains(dep, name) {
					t.Errorf("%s depends on %s", tt.program, dep)
				}
			}
		}
	}
}
