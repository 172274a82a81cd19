//go:build linux && amd64

package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// What a start does before main, as recorded with Go 1.26. Whoever adds a dependency that does more
// records the new numbers here, and its cost in DEPENDENCIES.md.
const (
	initializedPackages = 185
	initialAllocations  = 4_300
)

// TestStart counts the packages that are initialized at a start, and their allocations.
func TestStart(t *testing.T) {
	t.Parallel()
	if !strings.HasPrefix(runtime.Version(), "go1.26") {
		t.Skipf("the numbers are those of Go 1.26, this is %s", runtime.Version())
	}
	c := exec.Command(build(t), "--version")
	c.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := c.CombinedOutput()
	must(t, err)
	traced := regexp.MustCompile(`(?m)^init .* (\d+) allocs$`).FindAllStringSubmatch(string(out), -1)
	allocations := 0
	for _, line := range traced {
		n, err := strconv.Atoi(line[1])
		must(t, err)
		allocations += n
	}
	t.Logf("%d packages, %d allocations", len(traced), allocations)
	if len(traced) > initializedPackages || allocations > initialAllocations {
		t.Errorf("%d packages with %d allocations are initialized at a start, want at most %d with %d", len(traced),
			allocations, initializedPackages, initialAllocations)
	}
	if len(traced) < initializedPackages-4 || allocations < initialAllocations-200 {
		t.Errorf("%d packages with %d allocations are initialized at a start: record these numbers", len(traced), allocations)
	}
}

// TestNothingOpened checks that commands which need no workspace do not open it: they ask no more
// of the system in a workspace of 1,000 artifacts than in an empty directory. Neither does a hook of
// an event that is not recorded.
func TestNothingOpened(t *testing.T) {
	t.Parallel()
	g := newGrown(t, 1000)
	empty := *g
	empty.ws = filepath.Join(t.TempDir(), "ws")
	must(t, os.MkdirAll(filepath.Join(empty.ws, ".git"), 0o755))
	for _, line := range []string{"--version", "--help", "__complete li", "completion bash", "hook PreToolUse"} {
		there, _ := g.work(line)
		nothing, _ := empty.work(line)
		if there > nothing {
			t.Errorf("%s: %d calls, %d in an empty directory", line, there, nothing)
		}
	}
}
