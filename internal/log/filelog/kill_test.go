package filelog

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	randv2 "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
)

// TestMain is also the main function of the processes that these tests kill.
func TestMain(m *testing.M) {
	if dir := os.Getenv("FILELOG_DIR"); dir != "" {
		appendUntilKilled(dir)
		return
	}
	os.Exit(m.Run())
}

// A writer is a process that appends records to the log in dir.
type writer struct {
	dir     string
	shard   int
	records int
	kept    bool   // each record has a body
	point   string // where it kills itself, such as "before link log/", "" for nowhere
	nth     int    // which time it comes there
}

func (w writer) start(t *testing.T) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FILELOG_DIR="+w.dir, fmt.Sprint("FILELOG_SHARD=", w.shard),
		fmt.Sprint("FILELOG_RECORDS=", w.records),
		fmt.Sprint("FILELOG_KEPT=", w.kept), "FILELOG_POINT="+w.point, fmt.Sprint("FILELOG_NTH=", w.nth))
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &out
}

// appendUntilKilled is what a writer does. It says which records were
// acknowledged, each in one write.
func appendUntilKilled(dir string) {
	number := func(name string) int { n, _ := strconv.Atoi(os.Getenv(name)); return n }
	s := newSystem(dir)
	when, what, _ := strings.Cut(os.Getenv("FILELOG_POINT"), " ")
	left := number("FILELOG_NTH")
	kill := func(now string) func(step) error {
		return func(s step) error {
			if now == when && s.op != "exists" && strings.HasPrefix(s.String()+" ", what) {
				if left--; left == 0 {
					syscall.Kill(os.Getpid(), syscall.SIGKILL)
					time.Sleep(time.Hour)
				}
			}
			return nil
		}
	}
	log := newLog(dir, &hooked{s, kill("before"), kill("after")}, handoff.Seq(number("FILELOG_SHARD")), rand.Reader)
	for i := range number("FILELOG_RECORDS") {
		p := &handoff.ArtifactPublished{Channel: "design", Path: "a.md"}
		var err error
		if os.Getenv("FILELOG_KEPT") == "true" {
			p.Kept = true
			// which other writers keep too
			p.Digest, err = log.Bodies().Put(context.Background(), strings.NewReader(fmt.Sprint("body ", i)))
		}
		var r handoff.Record
		if err == nil {
			r, err = handoff.NewRecord(time.Now(), rand.Reader, handoff.Producer{}, p)
		}
		if err == nil {
			r.Seq, err = log.Append(context.Background(), r)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Stdout.WriteString(fmt.Sprintln(r.ID, r.Seq))
		if err := log.Link(r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// acknowledged returns what a writer said.
func acknowledged(t *testing.T, out *bytes.Buffer) (acks []ack) {
	t.Helper()
	for line := range strings.Lines(out.String()) {
		var a ack
		if n, err := fmt.Sscanln(line, &a.id, &a.seq); n != 2 {
			t.Fatalf("a writer said %q: %v", line, err)
		}
		acks = append(acks, a)
	}
	return acks
}

func killed(err error) bool {
	exit, ok := err.(*exec.ExitError)
	return ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// TestKillPoints kills a writer at each point of its third record and of that
// one's body, at each of a shard's first record, and at each step of making a
// log.
func TestKillPoints(t *testing.T) {
	for _, tt := range []struct {
		name, point string
		nth, acks   int
	}{
		{"before body's temporary", "before create", 6, 2}, // one more is ID
		{"after body's temporary", "after create", 6, 2},
		{"before body's fsync", "before sync ", 6, 2},
		{"after body's fsync", "after sync ", 6, 2},
		{"before body's directory", "before mkdir bodies/sha256/", 3, 2},
		{"after body's directory", "after mkdir bodies/sha256/", 3, 2},
		{"before body's directory is synced", "before syncDir bodies/sha256 ", 3, 2},
		{"after body's directory is synced", "after syncDir bodies/sha256 ", 3, 2},
		{"before body's link", "before link bodies/", 3, 2},
		{"after body's link", "after link bodies/", 3, 2},
		{"before body is kept", "before syncDir bodies/sha256/", 3, 2},
		{"after body is kept", "after syncDir bodies/sha256/", 3, 2},
		{"before temporary", "before create", 7, 2},
		{"after temporary", "after create", 7, 2},
		{"before fsync", "before sync ", 7, 2},
		{"after fsync", "after sync ", 7, 2},
		{"before link", "before link log/00000000/000000000003", 1, 2},
		{"after link", "after link log/00000000/000000000003", 1, 2},
		{"before acknowledgement", "after syncDir log/00000000", 3, 2},
		{"before second link", "before second", 3, 3},
		{"after second link", "after second", 3, 3},
		{"shard before sync of the older", "before syncDir log/00000000", 5, 4},
		{"shard before mkdir", "before mkdir log/00000001", 1, 4},
		{"shard after mkdir", "after mkdir log/00000001", 1, 4},
		{"shard before link", "before link log/00000001", 1, 4},
		{"shard after link", "after link log/00000001", 1, 4},
		{"shard before acknowledgement", "before syncDir log/00000001", 1, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := writer{filepath.Join(t.TempDir(), "handoff"), 4, 6, true, tt.point, tt.nth}
			if acks := w.survived(t); acks != tt.acks {
				t.Errorf("%d records were acknowledged before, want %d", acks, tt.acks)
			}
		})
	}
	t.Run("make", func(t *testing.T) {
		t.Parallel()
		for nth := 1; ; nth++ {
			w := writer{filepath.Join(t.TempDir(), "new", "handoff"), 4, 1, nth%3 == 0, "before ", nth}
			if acks := w.survived(t); acks > 0 {
				return
			}
		}
	})
}

// survived runs a writer that kills itself, and holds the log against what it
// said, the number of which it returns.
func (w writer) survived(t *testing.T) int {
	t.Helper()
	cmd, out := w.start(t)
	if err := cmd.Wait(); !killed(err) {
		t.Fatalf("the writer ended with %v, want a kill at %q", err, w.point)
	}
	acks := acknowledged(t, out)
	if err := lossless(t, w.dir, newLog(w.dir, newSystem(w.dir), handoff.Seq(w.shard), rand.Reader), acks); err != nil {
		t.Fatalf("killed %s, time %d: %v", w.point, w.nth, err)
	}
	return len(acks)
}

// TestRandomKills kills eight writers again and again, 1,000 times where
// HANDOFF_LONG is set, while others read and check the log.
func TestRandomKills(t *testing.T) {
	kills := int64(50)
	if os.Getenv("HANDOFF_LONG") != "" {
		kills = 1000
	}
	const shard = 64
	dir := filepath.Join(t.TempDir(), "handoff")
	open := func() *Log { return newLog(dir, newSystem(dir), shard, rand.Reader) }
	var (
		left    atomic.Int64
		writers sync.WaitGroup
		acks    [8][]ack
	)
	left.Store(kills)
	for i := range acks {
		writers.Go(func() {
			for left.Add(-1) >= 0 {
				cmd, out := writer{dir: dir, shard: shard, records: 1 << 30, kept: i%2 == 0}.start(t)
				time.Sleep(time.Duration(randv2.IntN(120_000)) * time.Microsecond)
				cmd.Process.Kill()
				if err := cmd.Wait(); !killed(err) {
					t.Errorf("writer %d ended by itself: %v", i, err)
				}
				acks[i] = append(acks[i], acknowledged(t, out)...)
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-time.After(200 * time.Millisecond):
		}
		if err := sound(t, open()); err != nil {
			t.Error(err)
		}
	}
	var all []ack
	for _, list := range acks {
		all = append(all, list...)
	}
	cmd, out := writer{dir: dir, shard: shard, records: 20}.start(t) // whoever comes then appends as ever
	if err := cmd.Wait(); err != nil {
		t.Errorf("a writer after the kills: %v", err)
	}
	all = append(all, acknowledged(t, out)...)
	if len(all) < 20 {
		t.Errorf("a writer after the kills was acknowledged %d records, want 20", len(all))
	}
	if err := lossless(t, dir, open(), all); err != nil {
		t.Error(err)
	}
	t.Logf("%d kills, %d records acknowledged", kills, len(all))
}
