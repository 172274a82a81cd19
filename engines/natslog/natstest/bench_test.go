//go:build linux

package natstest

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/engines/natslog"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func always(o *server.Options) { o.SyncAlways = true }

// BenchmarkAppend compares Log.Append with a publish of the same messages by the
// library, by 8 writers each, in turns.
func BenchmarkAppend(b *testing.B) {
	const writers, each = 8, 200
	at := address(b, start(b, always))
	var logs []*natslog.Log
	var bare []jetstream.JetStream
	for range writers {
		logs = append(logs, machine(b, at, "team", b.TempDir(), nil))
		nc, err := nats.Connect("nats://" + at)
		if err != nil {
			b.Fatal(err)
		}
		defer nc.Close()
		js, err := jetstream.New(nc)
		if err != nil {
			b.Fatal(err)
		}
		bare = append(bare, js)
	}
	logtest.Append(b, logs[0], "a.md")
	run := func(write func(writer int, r handoff.Record) error) time.Duration {
		records := make([]handoff.Record, writers*each)
		for i := range records {
			records[i] = logtest.NewRecord("a.md")
		}
		started := time.Now()
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					if err := write(w, records[w*each+i]); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		return time.Since(started)
	}
	var ours, theirs []float64
	for b.Loop() {
		for range 10 {
			ours = append(ours, run(func(w int, r handoff.Record) error {
				_, err := logs[w].Append(b.Context(), r)
				return err
			}).Seconds())
			theirs = append(theirs, run(func(w int, r handoff.Record) error {
				data, err := r.JSON()
				if err != nil {
					return err
				}
				m := nats.NewMsg("handoff.team.artifact=2epublished.design." + r.ID)
				m.Data = data
				_, err = bare[w].PublishMsg(b.Context(), m, jetstream.WithExpectStream("HANDOFF_team"),
					jetstream.WithExpectLastSequencePerSubject(0))
				return err
			}).Seconds())
		}
	}
	b.ReportMetric(writers*each/median(ours), "appends/s")
	b.ReportMetric(writers*each/median(theirs), "publishes/s")
	b.ReportMetric(median(theirs)/median(ours), "ratio")
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// BenchmarkWatch measures the time from the start of an append, and from its end,
// until the watch of another workspace yields the artifact.
func BenchmarkWatch(b *testing.B) {
	at := address(b, start(b, always))
	writer := machine(b, at, "team", b.TempDir(), nil)
	logtest.Append(b, writer, "a.md")
	environment := func(name string) string {
		return map[string]string{"HANDOFF_LOG": "nats://" + at + "/team", "HOME": b.TempDir()}[name]
	}
	w, err := workspace.Open(b.TempDir(), workspace.Options{
		Getenv: environment, Backends: []storage.Backend{natslog.Backend}})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	seen := make(chan string)
	go func() {
		for a, err := range w.Watch(b.Context(), workspace.WatchOptions{After: "0"}) {
			if err != nil {
				return
			}
			seen <- a.ID
		}
	}()
	<-seen
	var times, stored []float64
	for b.Loop() {
		for range 500 {
			time.Sleep(time.Duration(len(times)%7) * time.Millisecond)
			started := time.Now()
			r := logtest.Append(b, writer, "a.md")
			acknowledged := time.Now()
			if id := <-seen; id != r.ID {
				b.Fatalf("the watch yields %s, want %s", id, r.ID)
			}
			times = append(times, float64(time.Since(started).Microseconds())/1000)
			stored = append(stored, float64(time.Since(acknowledged).Microseconds())/1000)
		}
	}
	slices.Sort(times)
	slices.Sort(stored)
	b.ReportMetric(times[len(times)/2], "p50-ms")
	b.ReportMetric(times[len(times)*99/100], "p99-ms")
	b.ReportMetric(stored[len(stored)/2], "p50-after-ack-ms")
	b.ReportMetric(stored[len(stored)*99/100], "p99-after-ack-ms")
}

// BenchmarkLoad compares how long it takes to load 100,000 records into a fresh index
// from a server and from files, in turns; with -short, 20,000.
func BenchmarkLoad(b *testing.B) {
	const batch = 1000
	records := 100_000
	if testing.Short() {
		records = 20_000
	}
	at := address(b, start(b, nil))
	files, n := b.TempDir(), 0
	logs := []handoff.Log{machine(b, at, "team", b.TempDir(), nil), filelog.Open(files, rand.Reader)}
	logtest.Append(b, logs[1], "0.md")
	for range records / batch {
		list := make([]handoff.Record, batch)
		for i := range list {
			list[i] = logtest.NewRecord(fmt.Sprintf("%d.md", i))
		}
		if _, err := logs[0].(handoff.BatchAppender).AppendAll(b.Context(), list); err != nil {
			b.Fatal(err)
		}
		for _, r := range list {
			if n++; n > 1 { // the first was appended, which creates the directory
				storeFile(b, files, n, r)
			}
		}
	}
	times := make([][]float64, len(logs))
	for b.Loop() {
		for i, l := range logs {
			x, err := sqlindex.Open(b.Context(), filepath.Join(b.TempDir(), "index.db"), "log")
			if err != nil {
				b.Fatal(err)
			}
			started := time.Now()
			if err := handoff.CatchUp(b.Context(), l, x); err != nil {
				b.Fatal(err)
			}
			times[i] = append(times[i], time.Since(started).Seconds())
			if n, err := x.Seq(b.Context()); int(n) != records || err != nil {
				b.Fatal(n, err)
			}
			x.Close()
		}
	}
	b.ReportMetric(float64(records)/median(times[0]), "nats/s")
	b.ReportMetric(float64(records)/median(times[1]), "files/s")
	b.ReportMetric(median(times[1])/median(times[0]), "ratio")
}

// storeFile writes a record under its number in a log of files, without syncs.
func storeFile(b *testing.B, dir string, n int, r handoff.Record) {
	b.Helper()
	name := filepath.Join(dir, "log", fmt.Sprintf("%08d", (n-1)/4096), fmt.Sprintf("%012d.json", n))
	content, err := r.JSON()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(name), 0o755)
	}
	if err == nil {
		err = os.WriteFile(name, content, 0o444)
	}
	if err != nil {
		b.Fatal(err)
	}
}
