// Package bench compares handoff with baselines: the system calls or the program
// that a task needs at least.
//
// Each benchmark measures both alternately in one run and reports medians and
// their ratio. On a shared machine only the ratio is meaningful. RESULTS.md has
// the results.
package bench

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// root contains all files, in a directory of its own for each benchmark. It is
// removed at the end of the run: after thousands of files were deleted, ext4
// creates new ones many times slower for minutes. HANDOFF_BENCH_DIR selects its
// parent.
var root string

func TestMain(m *testing.M) {
	if os.Getenv(echoServer) != "" {
		if err := serveEcho(); err != nil && !errors.Is(err, io.EOF) {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	dir, err := os.MkdirTemp(os.Getenv("HANDOFF_BENCH_DIR"), "handoff-bench-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	root = dir
	code := m.Run()
	if err := os.RemoveAll(root); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// fresh returns a new directory.
func fresh(tb testing.TB) string {
	dir, err := os.MkdirTemp(root, "")
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, ".git"), 0o777) // stops the search for a workspace
	}
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// turns runs ours and best alternately, changing which one is first, and returns
// the median time of each.
func turns(b *testing.B, ours, best func()) (o, p time.Duration) {
	var os, ps []time.Duration
	for swap := false; b.Loop(); swap = !swap {
		if swap {
			ps = append(ps, timed(best))
			os = append(os, timed(ours))
			continue
		}
		os = append(os, timed(ours))
		ps = append(ps, timed(best))
	}
	b.ReportMetric(0, "ns/op") // the sum of both is not a result
	b.ReportMetric(float64(len(os)), "rounds")
	return median(os), median(ps)
}

func timed(work func()) time.Duration {
	start := time.Now()
	work()
	return time.Since(start)
}

// processorTime returns the processor time of this process. On a shared machine it
// varies less than wall time.
func processorTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	must(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median[T cmp.Ordered](list []T) T {
	slices.Sort(list)
	return list[len(list)/2]
}

func must(tb testing.TB, err error) {
	if err != nil {
		tb.Helper()
		tb.Fatal(err)
	}
}

func write(tb testing.TB, name, content string) {
	must(tb, os.MkdirAll(filepath.Dir(name), 0o755))
	must(tb, os.WriteFile(name, []byte(content), 0o644))
}

const helloText = `package main

import "os"

func main() { os.Stdout.WriteString("hello, world\n") }
`

// run runs a program in a directory and waits for its end.
func run(tb testing.TB, dir, program string, args ...string) {
	c := exec.Command(program, args...)
	c.Dir, c.Env = dir, []string{"HOME=" + dir}
	if out, err := c.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// programs builds handoff and hello-world.
func programs(tb testing.TB) (handoff, hello string) {
	bin := fresh(tb)
	handoff, hello = filepath.Join(bin, "handoff"), filepath.Join(bin, "hello")
	write(tb, hello+".go", helloText)
	build(tb, hello, hello+".go")
	build(tb, handoff, "../cmd/handoff")
	return handoff, hello
}

func build(tb testing.TB, out, what string) {
	c := exec.Command("go", "build", "-trimpath", "-o", out, what)
	c.Env = append(os.Environ(), "CGO_ENABLED=0") // static, as it is distributed
	if text, err := c.CombinedOutput(); err != nil {
		tb.Fatalf("go build: %v\n%s", err, text)
	}
}
