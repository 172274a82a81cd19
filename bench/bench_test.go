// Package bench measures handoff against what the machine can do at best.
//
// Each benchmark measures both in one run, in turns, and reports medians and
// their ratio: on a machine that others use too, only a ratio means something.
// RESULTS.md has the figures that were seen.
package bench

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// root is where all files go, each benchmark's into directories of its own. It
// is removed at the very end: after thousands of files were deleted, ext4
// creates new ones many times slower for minutes. HANDOFF_BENCH_DIR moves it.
var root string

func TestMain(m *testing.M) {
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
		err = os.Mkdir(filepath.Join(dir, ".git"), 0o777) // no workspace above it is found
	}
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// turns runs ours and best in turns, starting with either, and returns the
// median time of each.
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
	b.ReportMetric(0, "ns/op") // of both together: it says nothing
	b.ReportMetric(float64(len(os)), "turns")
	return median(os), median(ps)
}

func timed(work func()) time.Duration {
	start := time.Now()
	work()
	return time.Since(start)
}

// processorTime returns how long the processors have worked for this process:
// on a machine that others use too, it says more than the clock.
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
