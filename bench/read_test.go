package bench

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
)

// decoded has every field of a record of an artifact.
type decoded struct {
	Version   int
	Type, ID  string
	CreatedAt time.Time
	Producer  handoff.Producer
	handoff.ArtifactPublished
}

// BenchmarkRead compares Log.Read of 100,000 records, in order, with reading and
// decoding the same files on all processors, in any order.
func BenchmarkRead(b *testing.B) {
	dir := manyRecords(b)
	names := make([]string, many)
	for i := range names {
		names[i] = recordFile(dir, i+1)
	}
	o, q := turns(b, func() {
		n := 0
		for r, err := range filelog.Open(dir, rand.Reader).Read(b.Context(), 0) {
			must(b, err)
			if _, ok := r.Fact.(*handoff.ArtifactPublished); !ok {
				b.Fatalf("record %d is %s", r.Seq, r.Type)
			}
			if n++; n == many {
				break
			}
		}
		if n != many {
			b.Fatalf("%d records, want %d", n, many)
		}
	}, func() {
		cores := runtime.GOMAXPROCS(0)
		var wg sync.WaitGroup
		for c := range cores {
			wg.Go(func() {
				for i := c; i < many; i += cores {
					content, err := os.ReadFile(names[i])
					var d decoded
					if err == nil {
						err = json.Unmarshal(content, &d)
					}
					if err != nil || d.ID == "" {
						b.Errorf("%s: %v", names[i], err)
					}
				}
			})
		}
		wg.Wait()
	})
	b.ReportMetric(many/o.Seconds(), "records/s")
	b.ReportMetric(many/q.Seconds(), "decoded/s")
	b.ReportMetric(q.Seconds()/o.Seconds(), "rate-ratio")
}
