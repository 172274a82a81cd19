package filelog

import (
	"context"
	"crypto/rand"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

// waitFor starts to wait for the next record of log and appends it through
// another Log. It returns the result of the wait.
func waitFor(t *testing.T, log *Log, after handoff.Seq) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- log.Wait(ctx, after) }()
	time.Sleep(10 * time.Millisecond) // likely waiting by now; if not, Wait returns at once
	if _, err := reopened(log).Append(ctx, logtest.NewRecord("a.md")); err != nil {
		t.Fatal(err)
	}
	return <-done
}

// reopened returns the log as another process would open it.
func reopened(l *Log) *Log { return newLog(l.dir, newSystem(l.dir), l.shard, rand.Reader) }

// TestWaitIsNotified waits without polling, also for the first record of a shard.
func TestWaitIsNotified(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir, rand.Reader).Append(t.Context(), logtest.NewRecord("a.md")); err != nil {
		t.Fatal(err)
	}
	log := newLog(dir, newSystem(dir), 2, rand.Reader)
	defer log.Close()
	log.poll = time.Hour
	for after := handoff.Seq(1); after < 8; after++ {
		if err := waitFor(t, log, after); err != nil {
			t.Fatalf("Wait after %d = %v", after, err)
		}
	}
}

// TestWaitWithoutNotification checks that polling finds a record if the system
// refuses to report new files, or does not report them.
func TestWaitWithoutNotification(t *testing.T) {
	for name, disable := range map[string]func(*Log){
		"refused": func(l *Log) { l.notify.failed = true },
		"silent": func(l *Log) {
			l.notify.watch(t.TempDir())
			l.notify.watched[l.path(l.shardName(1))] = true // no longer the directory that is watched
		},
		"closed": func(l *Log) {
			l.notify.watch(t.TempDir())
			l.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := Open(dir, rand.Reader).Append(t.Context(), logtest.NewRecord("a.md")); err != nil {
				t.Fatal(err)
			}
			log := Open(dir, rand.Reader)
			defer log.Close()
			disable(log)
			if err := waitFor(t, log, 1); err != nil {
				t.Errorf("Wait = %v", err)
			}
		})
	}
}

// A countingDisk counts how often one name is looked up.
type countingDisk struct {
	disk
	name   string
	looked int
}

func (d *countingDisk) exists(name string) (bool, error) {
	if name == d.name {
		d.looked++
	}
	return d.disk.exists(name)
}

// TestWaitBacksOff waits for ten minutes, in false time, where nothing is reported.
func TestWaitBacksOff(t *testing.T) {
	log := Open(t.TempDir(), rand.Reader)
	defer log.Close()
	if _, err := log.Append(t.Context(), logtest.NewRecord("a.md")); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		disk := &countingDisk{disk: log.disk, name: log.name(2)}
		log.disk, log.notify.failed = disk, true
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if err := log.Wait(ctx, 1); ctx.Err() == nil {
			t.Fatalf("Wait = %v before the end of the context", err)
		}
		if disk.looked < 80 || disk.looked > 160 {
			t.Errorf("looked %d times for the record, want 80 to 160", disk.looked)
		}
	})
}
