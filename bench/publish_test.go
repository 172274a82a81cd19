package bench

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// BenchmarkPublish compares a publish in an open workspace with what it can't
// do without: the log's primitive; and, where the body is kept, the primitive
// once more for a body of its own, and a transaction of one row.
func BenchmarkPublish(b *testing.B) {
	const block = 40 // publishes a turn
	for _, bm := range []struct {
		name string
		keep handoff.Keep
	}{{"no-keep", handoff.KeepNever}, {"keep", handoff.KeepAlways}} {
		b.Run(bm.name, func(b *testing.B) {
			dir := fresh(b)
			w, err := workspace.Open(dir, workspace.Options{})
			must(b, err)
			defer w.Close()
			record, err := newRecord(b).JSON()
			must(b, err)
			log, bodies, row := &primitive{dir: fresh(b)}, &bodyPrimitive{dir: fresh(b)}, rowPrimitive(b, record)
			n := 0
			next := func() []byte {
				n++
				return bytes.Repeat(fmt.Appendf(nil, "finding %d\n", n), 1500) // about as much as newRecord says
			}
			ours := func() {
				for range block {
					must(b, os.WriteFile(filepath.Join(dir, "review.md"), next(), 0o644))
					_, err := w.Publish(b.Context(), workspace.Publication{Channel: "verification", Path: "review.md", Title: "Review of the retry loop", Keep: bm.keep})
					must(b, err)
				}
			}
			best := func() {
				for range block {
					must(b, os.WriteFile(filepath.Join(dir, "other.md"), next(), 0o644))
					must(b, log.put(record))
					if bm.keep == handoff.KeepAlways {
						must(b, bodies.put(next()))
						must(b, row())
					}
				}
			}
			ours() // the workspace is made
			o, p := turns(b, ours, best)
			b.ReportMetric(float64(o.Microseconds())/block, "µs/publish")
			b.ReportMetric(float64(p.Microseconds())/block, "µs/primitives")
			b.ReportMetric(float64(o)/float64(p), "ratio")
		})
	}
}

// A bodyPrimitive keeps bodies as durably as can be, and does nothing else:
// digest, directory, and what primitive does for a record.
type bodyPrimitive struct{ dir string }

func (p *bodyPrimitive) put(content []byte) error {
	name := fmt.Sprintf("%x", sha256.Sum256(content))
	shard := primitive{dir: filepath.Join(p.dir, name[:2])}
	if err := os.Mkdir(shard.dir, 0o755); err == nil {
		err = syncDir(p.dir)
		if err != nil {
			return err
		}
	}
	return shard.putAs(name, content)
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// rowPrimitive returns what inserts a row in a transaction of its own, synced
// as the index is.
func rowPrimitive(tb testing.TB, row []byte) func() error {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(fresh(tb), "one.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	must(tb, err)
	tb.Cleanup(func() { db.Close() })
	_, err = db.Exec("CREATE TABLE one (seq INTEGER PRIMARY KEY, record BLOB)")
	must(tb, err)
	stmt, err := db.Prepare("INSERT INTO one (record) VALUES (?)")
	must(tb, err)
	return func() error {
		_, err := stmt.Exec(row)
		return err
	}
}

// BenchmarkPublishProcess measures whole processes that publish among 1,000
// records against a program that says hello.
func BenchmarkPublishProcess(b *testing.B) {
	program, hello := programs(b)
	dir := fresh(b)
	w, err := workspace.Open(dir, workspace.Options{Rand: rand.Reader})
	must(b, err)
	for i := range 1000 {
		write(b, filepath.Join(dir, "a.md"), fmt.Sprint(i, "\n"))
		_, err := w.Publish(b.Context(), workspace.Publication{Channel: "design", Path: "a.md", Title: fmt.Sprint("Draft ", i)})
		must(b, err)
	}
	must(b, w.Close())
	n := 0
	o, p := turns(b, func() {
		n++
		write(b, filepath.Join(dir, "a.md"), fmt.Sprint("again ", n, "\n"))
		run(b, dir, program, "publish", "a.md", "--channel", "design", "--title", "Draft")
	}, func() { run(b, dir, hello) })
	b.ReportMetric(float64(o.Microseconds())/1000, "ms/publish")
	b.ReportMetric(float64(p.Microseconds())/1000, "ms/hello")
	b.ReportMetric(float64((o-p).Microseconds())/1000, "ms-more")
}
