package bench

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/settings"
	"github.com/agent-handoff/handoff/workspace"
	disk "github.com/agent-handoff/handoff/workspace/store"
)

// BenchmarkGarbage compares the processor time of gc about 100,000 bodies, without and with
// a policy, with that of listing the files of the bodies.
func BenchmarkGarbage(b *testing.B) {
	const bodies = 100_000
	dir := fresh(b)
	keepBodies(b, filepath.Join(dir, ".handoff"), bodies)
	w, err := workspace.Open(dir, workspace.Options{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }})
	must(b, err)
	defer w.Close()
	_, err = w.Hub().Newest(b.Context()) // the index is complete
	must(b, err)
	list := filelog.Open(filepath.Join(dir, ".handoff"), rand.NewChaCha8([32]byte{1})).Bodies().List
	var listed, plain, planned []time.Duration
	used := func(work func() int) time.Duration {
		before := processorTime(b)
		if n := work(); n != bodies {
			b.Fatalf("%d bodies, want %d", n, bodies)
		}
		return processorTime(b) - before
	}
	garbage := func(o disk.GarbageOptions) disk.Garbage {
		g, err := w.Store().Garbage(b.Context(), o)
		must(b, err)
		return g
	}
	for b.Loop() {
		listed = append(listed, used(func() (n int) {
			for _, err := range list(b.Context()) {
				must(b, err)
				n++
			}
			return n
		}))
		plain = append(plain, used(func() (n int) {
			for _, u := range garbage(disk.GarbageOptions{By: "channel"}).Usage {
				n += u.Bodies
			}
			return n
		}))
		planned = append(planned, used(func() int {
			return len(garbage(disk.GarbageOptions{Policy: settings.Policy{KeepLast: 3}}).Retention.Bodies)
		}))
	}
	for name, list := range map[string][]time.Duration{"list": listed, "gc": plain, "gc-policy": planned} {
		b.ReportMetric(float64(median(list).Milliseconds()), "ms-cpu-"+name)
	}
	b.ReportMetric(float64(median(plain))/float64(median(listed)), "times-list")
	b.ReportMetric(float64(median(planned))/float64(median(listed)), "times-list-policy")
}

// keepBodies writes n artifacts with a body each, four revisions of each document.
func keepBodies(b *testing.B, runtime string, n int) {
	random := rand.NewChaCha8([32]byte{7})
	log := filelog.Open(runtime, random)
	must(b, localstate.NewDir(runtime, nil).Create(b.Context()))
	must(b, log.Create())
	start, before := time.Now().Add(-48*time.Hour), ""
	for i := range n {
		size := int64(1)
		d := handoff.Digest{Algorithm: handoff.SHA256, Value: fmt.Sprintf("%02x%062x", i%256, i)}
		p := &handoff.ArtifactPublished{Channel: "patch", Path: fmt.Sprintf("docs/%d.diff", i/4), TargetType: "file",
			SizeBytes: &size, Digest: d, Kept: true}
		if i%4 > 0 {
			p.Replaces = []string{before}
		}
		at := start.Add(time.Duration(i) * time.Millisecond)
		r, err := handoff.NewRecord(at, random, handoff.Producer{Agent: "builder"}, p)
		must(b, err)
		r.Seq, err = log.Append(b.Context(), r)
		must(b, err)
		must(b, log.Link(r))
		write(b, filepath.Join(runtime, "bodies/sha256", d.Value[:2], d.Value[2:]), "x")
		before = r.ID
	}
}
