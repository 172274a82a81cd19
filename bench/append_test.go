package bench

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"golang.org/x/sys/unix"
)

// newRecord returns a record of typical size.
func newRecord(tb testing.TB) handoff.Record {
	size := int64(18342)
	r, err := handoff.NewRecord(time.Now(), rand.Reader,
		handoff.Producer{Harness: "codex", Agent: "reviewer", WorkID: "task_123", TaskID: "task_123"},
		&handoff.ArtifactPublished{Channel: "verification", Kind: "report", Path: "reports/review.md", TargetType: "file",
			Title: "Review of the retry loop", Summary: strings.Repeat("One finding. ", 20), MediaType: "text/markdown",
			SizeBytes: &size, Digest: handoff.Digest{Algorithm: "sha256", Value: strings.Repeat("0f", 32)},
			Tags: []string{"security"}})
	must(tb, err)
	return r
}

// primitive writes files durably and does nothing else: unnamed temporary file,
// fsync, link, fsync of the directory. It is the baseline of an append.
type primitive struct {
	dir  string
	next atomic.Int64
}

func (p *primitive) put(content []byte) error {
	return p.putAs(fmt.Sprintf("%012d.json", p.next.Add(1)), content)
}

func (p *primitive) putAs(name string, content []byte) error {
	fd, err := unix.Open(p.dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, content); err != nil {
		return err
	}
	if err := unix.Fsync(fd); err != nil {
		return err
	}
	if err := unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, filepath.Join(p.dir, name),
		unix.AT_SYMLINK_FOLLOW); err != nil {
		return err
	}
	d, err := unix.Open(p.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(d)
	return unix.Fsync(d)
}

// BenchmarkAppend compares Log.Append with the primitive. Several writers use one
// Log, as goroutines do, or one Log each, as processes do.
func BenchmarkAppend(b *testing.B) {
	const block = 160 // records in a round
	for _, bm := range []struct {
		name          string
		writers, logs int
	}{{"1writer", 1, 1}, {"16writers/1log", 16, 1}, {"16writers/16logs", 16, 16}} {
		b.Run(bm.name, func(b *testing.B) {
			dir := filepath.Join(fresh(b), ".handoff")
			var logs []*filelog.Log
			for range bm.logs {
				logs = append(logs, filelog.Open(dir, rand.Reader))
			}
			p := &primitive{dir: fresh(b)}
			records := make([]handoff.Record, block)
			share := func(put func(writer int, r handoff.Record) error) {
				var wg sync.WaitGroup
				for w := range bm.writers {
					wg.Go(func() {
						for i := w; i < block; i += bm.writers {
							if err := put(w, records[i]); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
			}
			for i := range records {
				records[i] = newRecord(b)
			}
			ours := func() {
				share(func(w int, r handoff.Record) error {
					_, err := logs[w%bm.logs].Append(b.Context(), r)
					return err
				})
			}
			best := func() {
				share(func(_ int, r handoff.Record) error {
					content, err := r.JSON()
					if err != nil {
						return err
					}
					return p.put(content)
				})
			}
			ours() // creates the log
			o, q := turns(b, ours, best)
			b.ReportMetric(float64(o.Microseconds())/block, "µs/append")
			b.ReportMetric(float64(q.Microseconds())/block, "µs/primitive")
			b.ReportMetric(float64(o)/float64(q), "ratio")
		})
	}
}

// BenchmarkFirstAppend measures the first append of a process to a log of 100,000
// records, which includes the search for its end.
func BenchmarkFirstAppend(b *testing.B) {
	const block = 40
	dir := manyRecords(b)
	p := &primitive{dir: fresh(b)}
	r := newRecord(b)
	content, err := r.JSON()
	must(b, err)
	o, q := turns(b, func() {
		for range block {
			_, err := filelog.Open(dir, rand.Reader).Append(b.Context(), r)
			must(b, err)
		}
	}, func() {
		for range block {
			must(b, p.put(content))
		}
	})
	b.ReportMetric(float64(o.Microseconds())/block, "µs/append")
	b.ReportMetric(float64(q.Microseconds())/block, "µs/primitive")
	b.ReportMetric(float64(o)/float64(q), "ratio")
}

// manyRecords returns the runtime directory of a log of 100,000 records. It is
// written once, without the syncs of Append.
func manyRecords(tb testing.TB) string {
	made.Do(func() {
		dir := filepath.Join(fresh(tb), ".handoff")
		must(tb, filelog.Open(dir, rand.Reader).Create())
		for n := range many {
			content, err := newRecord(tb).JSON()
			must(tb, err)
			if n%4096 == 0 {
				must(tb, os.Mkdir(filepath.Dir(recordFile(dir, n+1)), 0o755))
			}
			must(tb, os.WriteFile(recordFile(dir, n+1), content, 0o444))
		}
		manyDir = dir
	})
	return manyDir
}

const many = 100_000

var (
	made    sync.Once
	manyDir string
)

func recordFile(dir string, n int) string {
	return filepath.Join(dir, "log", fmt.Sprintf("%08d", (n-1)/4096), fmt.Sprintf("%012d.json", n))
}
