package program

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestBarrier waits for what 50 writers publish, of which many are killed and start again: it
// returns when all have published, and a wait that ends before that names those that have not.
func TestBarrier(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	m.log = ""
	m.write("one", "work/a.md", "text")
	dir := m.work("one")
	handoff := func(args ...string) (string, string, error) {
		var stderr strings.Builder
		c := m.command("one", args...)
		c.Dir, c.Stderr = dir, &stderr
		out, err := c.Output()
		return string(out), stderr.String(), err
	}
	const writers = 50
	refs := make([]string, writers)
	for i := range refs {
		refs[i] = fmt.Sprintf("writer-%d:latest", i)
	}
	there := make([]bool, writers)
	publish := func(from, to int) {
		r := rand.New(rand.NewPCG(31, uint64(from)))
		delays := make([]time.Duration, writers)
		for i := range delays {
			delays[i] = time.Duration(r.IntN(40)) * time.Millisecond
		}
		var group sync.WaitGroup
		for i := from; i < to; i++ {
			group.Go(func() {
				args := []string{"publish", "a.md", "--channel", fmt.Sprintf("writer-%d", i), "--key", fmt.Sprint("k", i)}
				c := m.command("one", args...)
				c.Dir = dir
				if c.Start() == nil {
					time.Sleep(delays[i])
					c.Process.Kill()
					c.Wait()
				}
				if _, stderr, err := handoff(args...); err != nil {
					t.Errorf("writer %d: %v %s", i, err, stderr)
				}
				there[i] = true
			})
		}
		group.Wait()
	}
	publish(0, writers/2)
	out, stderr, err := handoff(append([]string{"wait", "--timeout", "200ms"}, refs...)...)
	missing := slices.Clone(refs[writers/2:])
	if err == nil || !strings.Contains(stderr, "missing: "+strings.Join(missing, ", ")+"\n") {
		t.Errorf("wait: %v, %s; want exactly %d missing: %s", err, stderr, len(missing), missing)
	}
	if n := strings.Count(out, "\n"); n != writers/2 {
		t.Errorf("wait printed %d artifacts, want the %d that are there", n, writers/2)
	}
	waited := make(chan string, 2)
	for _, args := range [][]string{append([]string{"wait", "--timeout", "60s"}, refs...),
		{"wait", "--timeout", "60s", "--count", fmt.Sprint(writers)}} {
		go func() {
			out, stderr, err := handoff(args...)
			waited <- fmt.Sprint(strings.Count(out, "\n"), " ", err, stderr)
		}()
	}
	publish(writers/2, writers-1)
	select {
	case got := <-waited:
		t.Errorf("a wait returned before the last writer: %s", got)
	case <-time.After(300 * time.Millisecond):
	}
	publish(writers-1, writers)
	for range 2 {
		if got := <-waited; got != fmt.Sprint(writers, " <nil>") {
			t.Errorf("a wait for all printed %s, want %d artifacts", got, writers)
		}
	}
	if slices.Contains(there, false) {
		t.Errorf("not all writers have published: %v", there)
	}
}
