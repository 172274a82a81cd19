package guard

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNoRemoteLogs checks that a program which uses workspace compiles no remote
// log and no library of one.
func TestNoRemoteLogs(t *testing.T) {
	c := exec.Command("go", "list", "-deps", "./workspace")
	c.Dir = root
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 50 {
		t.Fatalf("%d dependencies, which can't be all", len(deps))
	}
	for _, dep := range deps {
		for _, name := range []string{module + "/gitlog", module + "/bucketlog", module + "/natslog", "minio", "nats", "aws"} {
			if strings.Contains(dep, name) {
				t.Errorf("workspace depends on %s", dep)
			}
		}
	}
}
