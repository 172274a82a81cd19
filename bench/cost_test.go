//go:build unix

package bench

import (
	"crypto/rand"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/localstate"
)

// BenchmarkCost compares processes on the transcripts of Claude Code and Codex in a
// home directory, HANDOFF_HOME: handoff cost without an index, and the first one, which makes
// an index, with ccusage, whose program is CCUSAGE, the one without with wc, and handoff cost
// with its index with hello-world.
// Run it with -benchtime 9x. The processor times are of all threads.
func BenchmarkCost(b *testing.B) {
	source, ccusage := os.Getenv("HANDOFF_HOME"), os.Getenv("CCUSAGE")
	if source == "" || ccusage == "" {
		b.Skip("HANDOFF_HOME or CCUSAGE is not set")
	}
	program, hello := programs(b)
	home := fresh(b)
	size := copyTranscripts(b, source, home)
	cost := []string{program, "cost", "--by", "session", "--everywhere"}
	reading := append(slices.Clone(cost), "--no-index")
	b.Run("ccusage", func(b *testing.B) {
		compareProcesses(b, home, size, reading, []string{ccusage, "session", "--offline"})
	})
	b.Run("first", func(b *testing.B) {
		compareProcesses(b, home, size, cost, []string{ccusage, "session", "--offline"}, func() {
			must(b, os.RemoveAll(filepath.Join(home, ".cache")))
		})
	})
	b.Run("wc", func(b *testing.B) {
		compareProcesses(b, home, size, reading,
			[]string{"/bin/sh", "-c", "find .claude .codex -name '*.jsonl' -exec wc -l {} + >/dev/null"})
	})
	b.Run("again", func(b *testing.B) {
		process(b, home, cost)
		compareProcesses(b, home, size, cost, []string{hello})
	})
}

// BenchmarkCostOfLog compares the processor time of handoff cost in a workspace of
// HANDOFF_RECORDS artifacts, 100,000 if that is not set, and without transcripts, with
// that of hello-world, and reports its peak memory.
func BenchmarkCostOfLog(b *testing.B) {
	records := 100_000
	if text := os.Getenv("HANDOFF_RECORDS"); text != "" {
		var err error
		records, err = strconv.Atoi(text)
		must(b, err)
	}
	program, hello := programs(b)
	dir := fresh(b)
	runtime := filepath.Join(dir, ".handoff")
	must(b, localstate.NewDir(runtime, nil).Create(b.Context()))
	must(b, filelog.Open(runtime, rand.Reader).Create())
	_, err := writeLog(runtime, records)
	must(b, err)
	peak := filepath.Join(fresh(b), "peak")
	write(b, peak+".go", peakText)
	build(b, peak, peak+".go")
	process(b, dir, []string{program, "list"}) // fills the index
	for _, by := range []string{"session", "channel", "tag"} {
		b.Run(by, func(b *testing.B) {
			cost := []string{program, "cost", "--by", by}
			compareProcesses(b, dir, 0, cost, []string{hello})
			b.ReportMetric(float64(memory(b, dir, peak, cost...))/1e6, "MB-peak")
		})
	}
}

// compareProcesses runs two programs in turns, the first one after what prepares it, and
// reports the medians of their times, the second one's with "other", and how many times as long
// that takes.
func compareProcesses(b *testing.B, home string, size int64, ours, other []string, prepare ...func()) {
	var cpu [2][]time.Duration
	run := func() {
		for _, do := range prepare {
			do()
		}
		cpu[0] = append(cpu[0], process(b, home, ours))
	}
	o, p := turns(b, run,
		func() { cpu[1] = append(cpu[1], process(b, home, other)) })
	mine, theirs := median(cpu[0]), median(cpu[1])
	b.ReportMetric(ms(o), "ms")
	b.ReportMetric(ms(p), "ms-other")
	b.ReportMetric(float64(p)/float64(o), "times")
	b.ReportMetric(ms(mine), "ms-cpu")
	b.ReportMetric(ms(theirs), "ms-cpu-other")
	b.ReportMetric(float64(theirs)/float64(mine), "times-cpu")
	b.ReportMetric(float64(size)/1e6/mine.Seconds(), "MB/cpu-s")
}

// process runs a program and returns its processor time.
func process(b *testing.B, home string, args []string) time.Duration {
	c := exec.Command(args[0], args[1:]...)
	c.Dir, c.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("%q: %v\n%s", args, err, out)
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime()
}

// copyTranscripts copies the transcripts of Claude Code and Codex, except those of
// Codex with a time that is not valid, at which ccusage ends with an error. It returns
// their size.
func copyTranscripts(b *testing.B, from, to string) (size int64) {
	invalid := regexp.MustCompile(`(?m)^\{"timestamp":"(\D|\d{1,3}\D)`)
	for _, dir := range []string{".claude", ".codex"} {
		must(b, filepath.WalkDir(filepath.Join(from, dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || dir == ".codex" && invalid.Match(text) {
				return err
			}
			if strings.HasSuffix(path, ".jsonl") {
				size += int64(len(text))
			}
			name, err := filepath.Rel(from, path)
			if err == nil {
				err = os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o700)
			}
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, name), text, 0o600)
		}))
	}
	return size
}
