package bench

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A comparison is one command line that two builds of handoff run.
type comparison struct {
	name  string
	args  []string
	setup func(tb testing.TB, dir string) // before each run, not timed
}

// comparisons cover every part that a change can slow down: process start,
// reading and writing records, the index, bodies, sessions, pipelines and
// transcripts.
var comparisons = []comparison{
	{name: "start", args: []string{"--version"}},
	{name: "list", args: []string{"list"}},
	{name: "list-all-json", args: []string{"list", "--all", "--limit", "0", "--json"}},
	{name: "list-filtered", args: []string{"list", "--channel", "design", "--agent", "builder"}},
	{name: "list-channels", args: []string{"list", "--channels"}},
	{name: "show", args: []string{"show", "ID"}},
	{name: "show-lineage", args: []string{"show", "ID", "--lineage"}},
	{name: "search", args: []string{"search", "policy", "retry"}},
	{name: "session-find", args: []string{"session", "find"}},
	{name: "check", args: []string{"check"}},
	{name: "index-rebuild", args: []string{"list"}, setup: func(tb testing.TB, dir string) {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(filepath.Join(dir, ".handoff", "index.db"+suffix)); err != nil && !os.IsNotExist(err) {
				tb.Fatal(err)
			}
		}
	}},
	{name: "publish", args: []string{"publish", "a.md", "--channel", "design", "--keep=never"}},
	{name: "publish-kept", args: []string{"publish", "a.md", "--channel", "design"},
		setup: func(tb testing.TB, dir string) {
			write(tb, filepath.Join(dir, "a.md"), time.Now().String())
		}},
	{name: "write", args: []string{"write", "context.md", "a.md", "--run", "bench"}},
	{name: "read", args: []string{"read", "bench/context.md"}},
	{name: "run", args: []string{"run", "--", "true"}},
	{name: "pipeline-next", args: []string{"pipeline", "next", "42"}},
	{name: "pipeline-validate", args: []string{"pipeline", "validate", "plan.json"}},
	{name: "thread-head", args: []string{"thread", "-I", "codex/" + threadID(0)}},
	{name: "thread-60MB", args: []string{"thread", "codex/" + threadID(0)}},
}

const comparedRecords = 3000

// BenchmarkCompare compares this tree with an older build, whose path is in
// HANDOFF_OLD. It runs both programs alternately in equal workspaces and reports
// the median of the ratios new/old of all pairs, with its 95 % confidence
// interval. Run it with -benchtime 25x.
func BenchmarkCompare(b *testing.B) {
	old := os.Getenv("HANDOFF_OLD")
	if old == "" {
		b.Skip("HANDOFF_OLD names no older build to compare with")
	}
	program, _ := programs(b)
	dirs := map[string]string{old: comparedWorkspace(b, old), program: comparedWorkspace(b, program)}
	id := newestArtifact(b, program, dirs[program])
	for _, c := range comparisons {
		b.Run(c.name, func(b *testing.B) {
			took := func(program string) time.Duration {
				if c.setup != nil {
					c.setup(b, dirs[program])
				}
				args := slices.Clone(c.args)
				if i := slices.Index(args, "ID"); i >= 0 {
					args[i] = id
				}
				return timed(func() { tolerant(b, dirs[program], program, args...) })
			}
			took(old)
			took(program)
			var ratios []float64
			var news, olds []time.Duration
			for i := 0; b.Loop(); i++ {
				first, second := old, program
				if i%2 == 1 {
					first, second = program, old
				}
				times := map[string]time.Duration{first: took(first)}
				times[second] = took(second)
				news, olds = append(news, times[program]), append(olds, times[old])
				ratios = append(ratios, float64(times[program])/float64(times[old]))
			}
			slices.Sort(ratios)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ms(median(news)), "ms-new")
			b.ReportMetric(ms(median(olds)), "ms-old")
			b.ReportMetric(ratios[len(ratios)/2], "ratio")
			low, high := medianInterval(len(ratios))
			b.ReportMetric(ratios[low], "low")
			b.ReportMetric(ratios[high], "high")
		})
	}
}

// medianInterval returns the indexes of those two of n sorted values that enclose
// the true median with about 95 % probability: n/2 -+ 0.98 sqrt(n), by the normal
// approximation of the binomial distribution.
func medianInterval(n int) (low, high int) {
	half := 0.98 * math.Sqrt(float64(n))
	return max(int(math.Floor(float64(n)/2-half)), 0), min(int(math.Ceil(float64(n)/2+half)), n-1)
}

// tolerant runs a program that may exit with code 1: check reports that the
// records of the log have no checksums.
func tolerant(tb testing.TB, dir, program string, args ...string) {
	c := exec.Command(program, args...)
	c.Dir, c.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	var exit *exec.ExitError
	if err := c.Run(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1 || args[0] != "check") {
		tb.Fatalf("%s %q: %v", program, args, err)
	}
}

// comparedWorkspace creates a workspace with records, a pipeline run and a
// transcript. The given program creates its derived files.
func comparedWorkspace(b *testing.B, program string) string {
	dir := fresh(b)
	write(b, filepath.Join(dir, "a.md"), "first")
	run(b, dir, program, "publish", "a.md", "--channel", "design")
	_, err := writeLog(filepath.Join(dir, ".handoff"), comparedRecords)
	must(b, err)
	plan := `{"affected_files":["a.go"],"steps":[{"order":1,"file":"a.go"}],"acceptance_mapping":{"AC1":"a_test.go"}}`
	write(b, filepath.Join(dir, "plan.json"), plan)
	for _, args := range [][]string{{"check", "--repair"}, {"write", "context.md", "a.md", "--run", "bench"},
		{"pipeline", "put", "42", "plan", "plan.json"}} {
		tolerant(b, dir, program, args...)
	}
	rollout(b, dir, 0, 60<<20, nil)
	return dir
}

func newestArtifact(b *testing.B, program, dir string) string {
	c := exec.Command(program, "list", "--limit", "1", "--all", "--channel", "patch")
	c.Dir = dir
	out, err := c.Output()
	must(b, err)
	var id string
	_, err = fmt.Sscan(string(out), &id)
	must(b, err)
	return id
}
