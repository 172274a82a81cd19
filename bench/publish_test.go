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

// BenchmarkPublish compares a publish in an open workspace with the least that it
// needs: the primitive for the record and, if the body is kept, also the primitive
// for the body and a transaction of one row.
func BenchmarkPublish(b *testing.B) {
	const block = 40 // publishes in a round
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
				return bytes.Repeat(fmt.Appendf(nil, "finding %d\n", n), 1500) // about the size of newRecord
			}
			ours := func() {
				for range block {
					must(b, os.WriteFile(filepath.Join(dir, "review.md"), next(), 0o644))
					_, err := w.Publish(b.Context(), handoff.Draft{Channel: "verification", Path: "review.md",
						Title: "Review of the retry loop", Keep: bm.keep})
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
			ours() // creates the workspace
			o, p := turns(b, ours, best)
			b.ReportMetric(float64(o.Microseconds())/block, "µs/publish")
			b.ReportMetric(float64(p.Microseconds())/block, "µs/primitives")
			b.ReportMetric(float64(o)/float64(p), "ratio")
		})
	}
}

// A bodyPrimitive stores bodies durably and does nothing else: digest, directory,
// and what primitive does for a record.
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

// rowPrimitive returns a function that inserts a row in a transaction of its own,
// with the sync mode of the index.
func rowPrimitive(tb testing.TB, row []byte) func() error {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(fresh(tb), "one.db")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
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

// BenchmarkPublishProcess compares processes that publish to a log of 1,000
// records with hello-world.
func BenchmarkPublishProcess(b *testing.B) {
	program, hello := programs(b)
	dir := fresh(b)
	w, err := workspace.Open(dir, workspace.Options{Rand: rand.Reader})
	must(b, err)
	for i := range 1000 {
		write(b, filepath.Join(dir, "a.md"), fmt.Sprint(i, "\n"))
		_, err := w.Publish(b.Context(), handoff.Draft{
			Channel: "design", Path: "a.md", Title: fmt.Sprint("Draft ", i)})
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
