package localstate

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
	"github.com/agent-handoff/handoff/storage"
)

// longLog returns a runtime directory with a log that is long enough to be filled.
func longLog(t *testing.T) (runtime string, log *filelog.Log) {
	t.Helper()
	was := long
	t.Cleanup(func() { long = was })
	long = 3
	runtime = filepath.Join(t.TempDir(), ".handoff")
	if err := NewDir(runtime, nil).Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	log = filelog.Open(runtime, rand.NewChaCha8([32]byte{1}))
	if err := log.Create(); err != nil {
		t.Fatal(err)
	}
	for i := range 2 * int(long) {
		logtest.Append(t, log, fmt.Sprint(i, ".md"))
	}
	return runtime, log
}

// indexOf returns the index of a log, whose warnings are failures.
func indexOf(t *testing.T, runtime string, log handoff.Log) *Index {
	t.Helper()
	cache := t.TempDir()
	getenv := func(name string) string {
		if strings.HasPrefix(name, "XDG_") || name == "HOME" {
			return cache
		}
		return ""
	}
	m := NewMemory(log, storage.Backend{Scheme: "file"}, "", runtime, getenv)
	x := NewIndex(m, runtime, getenv, nil, func(text string) { t.Error(text) })
	t.Cleanup(func() { x.Close() })
	return x
}

// hasAll checks that an index is the one in the runtime directory, and knows every record of its log,
// and closes it.
func hasAll(t *testing.T, x *Index, runtime string, want handoff.Seq) {
	t.Helper()
	if got, err := x.Seq(t.Context()); err != nil || got != want {
		t.Errorf("the index is at %d, %v, want %d", got, err, want)
	}
	if x.place.dir != runtime {
		t.Errorf("the index is in %q", x.place.dir)
	}
	if _, err := os.Lstat(sqlindex.Filling(filepath.Join(runtime, FileName))); err == nil {
		t.Error("the file in which it was filled exists")
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

// counting is a log that counts how often all of it is read, and calls before it yields a record.
type counting struct {
	*filelog.Log
	mu     sync.Mutex
	reads  int
	before func(handoff.Seq)
}

func (c *counting) Read(ctx context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(yield func(handoff.Record, error) bool) {
		c.mu.Lock()
		if after == 0 {
			c.reads++
		}
		c.mu.Unlock()
		for r, err := range c.Log.Read(ctx, after) {
			if after == 0 && c.before != nil {
				c.before(r.Seq)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// TestFill opens the index of a long log where there is none, one of another version, a damaged one,
// and what a killed process left: it is complete when it is opened.
func TestFill(t *testing.T) {
	runtime, log := longLog(t)
	file := filepath.Join(runtime, FileName)
	hasAll(t, indexOf(t, runtime, log), runtime, 6)
	for _, harm := range []func(){
		func() {
			db := sqlite.New(file, "file:"+file)
			defer db.Close()
			if err := db.Use(t.Context(), func(c *sqlite.Conn) error {
				return c.Exec(t.Context(), `UPDATE place SET version = version - 1`)
			}); err != nil {
				t.Fatal(err)
			}
		},
		func() {
			if err := os.WriteFile(file, []byte(strings.Repeat("damaged", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		func() {
			if err := os.Rename(file, sqlindex.Filling(file)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		harm()
		hasAll(t, indexOf(t, runtime, log), runtime, 6)
	}
}

// TestFillWaits opens an index that another process fills for longer than a lock is waited for: it is
// not filled twice, and if the other process stops, the waiting one goes on.
func TestFillWaits(t *testing.T) {
	for name, stops := range map[string]bool{"the other completes it": false, "the other stops": true} {
		t.Run(name, func(t *testing.T) {
			runtime, log := longLog(t)
			file := sqlindex.Filling(filepath.Join(runtime, FileName))
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			filling := make(chan struct{})
			first := &counting{Log: log, before: func(seq handoff.Seq) {
				if seq != 3 {
					return
				}
				close(filling)
				touched(t, file, 1+int(2*lockWait/(250*time.Millisecond)))
				if stops {
					stop()
				}
			}}
			x := indexOf(t, runtime, first)
			done := make(chan error)
			go func() {
				_, err := x.Seq(ctx)
				done <- err
			}()
			<-filling
			second := &counting{Log: log}
			other := indexOf(t, runtime, second)
			hasAll(t, other, runtime, 6)
			if err := <-done; (err != nil) != stops {
				t.Errorf("the first process: %v", err)
			}
			if second.reads != 0 {
				t.Errorf("the second process read the log from its start %d times", second.reads)
			}
			if !stops {
				hasAll(t, x, runtime, 6)
			}
		})
	}
}

// touched waits until the time of a file has changed several times.
func touched(t *testing.T, file string, times int) {
	var seen time.Time
	for until := time.Now().Add(time.Minute); times > 0; time.Sleep(time.Millisecond) {
		info, err := os.Lstat(file)
		if err != nil || time.Now().After(until) {
			t.Errorf("%s was not touched often, %v", file, err)
			return
		}
		if !info.ModTime().Equal(seen) {
			seen, times = info.ModTime(), times-1
		}
	}
}
