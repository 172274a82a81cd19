package bench

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"

	"github.com/agent-handoff/handoff/workspace"
)

// A watcher is a process that runs handoff watch.
type watcher struct {
	cmd   *exec.Cmd
	lines *bufio.Reader
}

func startWatch(b *testing.B, program, dir string, args ...string) *watcher {
	b.Helper()
	w := &watcher{cmd: exec.Command(program, append([]string{"watch", "--json"}, args...)...)}
	w.cmd.Dir, w.cmd.Stderr = dir, os.Stderr
	out, err := w.cmd.StdoutPipe()
	must(b, err)
	must(b, w.cmd.Start())
	w.lines = bufio.NewReaderSize(out, 1<<20)
	return w
}

func (w *watcher) line(b *testing.B) {
	b.Helper()
	_, err := w.lines.ReadSlice('\n')
	must(b, err)
}

// stop ends the watch and returns its processor time.
func (w *watcher) stop(b *testing.B) time.Duration {
	b.Helper()
	must(b, w.cmd.Process.Signal(os.Interrupt))
	w.cmd.Wait() // interrupted
	s := w.cmd.ProcessState
	return s.UserTime() + s.SystemTime()
}

// used returns the processor time of a running process, in ticks of 10 ms.
func (w *watcher) used(b *testing.B) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.cmd.Process.Pid))
	must(b, err)
	var pid, user, system int
	var name, skip string
	_, err = fmt.Sscan(string(stat), &pid, &name, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &skip,
		&skip, &user, &system)
	must(b, err)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// BenchmarkWatch measures a process that watches a log of 1,000 records: how long
// after a publish returns its line arrives, and the processor time of an event
// and of 30 idle seconds.
func BenchmarkWatch(b *testing.B) {
	program := watching(b)
	dir := fresh(b)
	p, err := workspace.Open(dir, workspace.Options{})
	must(b, err)
	defer p.Close()
	n := 0
	publish := func() {
		n++
		write(b, filepath.Join(dir, "a.md"), fmt.Sprint(n, "\n"))
		must(b, errOf(p.Publish(b.Context(), handoff.Draft{Channel: "design", Path: "a.md", Title: fmt.Sprint(n)})))
	}
	for range 1000 {
		publish()
	}
	w := startWatch(b, program, dir, "--after", "999")
	w.line(b) // it runs
	lines := make(chan time.Time, 1)
	go func() {
		for {
			if _, err := w.lines.ReadSlice('\n'); err != nil {
				return
			}
			lines <- time.Now()
		}
	}()
	for b.Loop() {
		before := w.used(b)
		time.Sleep(30 * time.Second)
		idle := w.used(b) - before
		const events = 500
		var took []time.Duration
		for i := range events {
			time.Sleep(20*time.Millisecond + time.Duration(i%37)*time.Millisecond)
			publish()
			acknowledged := time.Now()
			took = append(took, max(0, (<-lines).Sub(acknowledged)))
		}
		busy := w.used(b) - before - idle
		slices.Sort(took)
		b.ReportMetric(float64(idle)/float64(30*time.Second)*100, "%-of-a-core-idle")
		b.ReportMetric(float64(busy.Microseconds())/events, "cpu-µs/event")
		b.ReportMetric(float64(took[events/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[events*99/100].Microseconds())/1000, "p99-ms")
	}
	w.stop(b)
}

// BenchmarkWait measures how long after a publish returns another workspace's Wait
// for it returns.
func BenchmarkWait(b *testing.B) {
	dir := fresh(b)
	publisher, err := workspace.Open(dir, workspace.Options{})
	must(b, err)
	defer publisher.Close()
	waiter, err := workspace.Open(dir, workspace.Options{})
	must(b, err)
	defer waiter.Close()
	publish := func(n int) {
		write(b, filepath.Join(dir, "a.md"), fmt.Sprint(n, "\n"))
		must(b,
			errOf(publisher.Publish(b.Context(), handoff.Draft{Channel: "design", Path: "a.md", Title: fmt.Sprint(n)})))
	}
	publish(0)
	var took []time.Duration
	for b.Loop() {
		woken := make(chan time.Time)
		go func() {
			_, err := waiter.Wait(b.Context(), workspace.WatchOptions{Filter: workspace.Filter{Channel: "design"}, After: "now"})
			if err != nil {
				b.Error(err)
			}
			woken <- time.Now()
		}()
		time.Sleep(20*time.Millisecond + time.Duration(len(took)%37)*time.Millisecond)
		publish(len(took) + 1)
		acknowledged := time.Now()
		took = append(took, max(0, (<-woken).Sub(acknowledged)))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

func errOf[T any](_ T, err error) error { return err }

// BenchmarkWatchPublishers has 32 shells publish with one process after the
// other, and measures how far behind a watch is when the last one ends, and its
// processor time for an event.
func BenchmarkWatchPublishers(b *testing.B) {
	const shells, each = 32, 60
	program := watching(b)
	dir := fresh(b)
	run(b, dir, program, "publish", "--channel", "design", "--title", "first", ".git")
	for b.Loop() {
		w := startWatch(b, program, dir)
		time.Sleep(300 * time.Millisecond)
		began := time.Now()
		var all sync.WaitGroup
		for p := range shells {
			all.Go(func() {
				loop := exec.Command("sh", "-ec", `for i in $(seq $3); do echo $2 $i | "$1" publish - --channel design; done`, "sh",
					program, fmt.Sprint(p), fmt.Sprint(each))
				loop.Dir = dir
				if err := loop.Run(); err != nil {
					b.Errorf("publisher: %v", err)
				}
			})
		}
		var last time.Time
		read := make(chan struct{})
		go func() {
			defer close(read)
			for range shells * each {
				w.line(b)
			}
			last = time.Now()
		}()
		all.Wait()
		published := time.Now()
		<-read
		cpu := w.stop(b)
		b.ReportMetric(shells*each/published.Sub(began).Seconds(), "publishes/s")
		b.ReportMetric(max(0, float64(last.Sub(published).Microseconds())/1000), "behind-ms")
		b.ReportMetric(float64(cpu.Microseconds())/(shells*each), "cpu-µs/event")
	}
}

// watching returns the program to measure: this one, or the one that HANDOFF_OLD
// names.
func watching(b *testing.B) string {
	b.Helper()
	if old := os.Getenv("HANDOFF_OLD"); old != "" {
		return old
	}
	program, _ := programs(b)
	return program
}
