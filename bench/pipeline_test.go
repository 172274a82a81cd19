package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// BenchmarkValidate compares processes: `handoff pipeline validate` of a plan of 1
// MB, and hello-world.
func BenchmarkValidate(b *testing.B) {
	program, hello := programs(b)
	dir := fresh(b)
	var plan strings.Builder
	plan.WriteString(
		`{"affected_files":["a.go"],"acceptance_mapping":{"AC1":"a_test.go"},"steps":[{"order":0,"file":"a.go"}`)
	for i := 1; plan.Len() < 1_000_000; i++ {
		fmt.Fprintf(&plan, `,{"order":%d,"file":"a.go","action":"edit","description":"what the step is, in words"}`, i)
	}
	write(b, filepath.Join(dir, "plan.json"), plan.String()+"]}")
	o, q := turns(b, func() { run(b, dir, program, "pipeline", "validate", "plan.json") }, func() { run(b, dir, hello) })
	b.ReportMetric(float64(o.Microseconds())/1000, "ms/validate")
	b.ReportMetric(float64(q.Microseconds())/1000, "ms/hello")
	b.ReportMetric(float64((o-q).Microseconds())/1000, "ms-more")
}

// BenchmarkNext compares processes: `handoff pipeline next` with an archive of
// 10,000 runs, whose moves are recorded, and without one.
func BenchmarkNext(b *testing.B) {
	program, _ := programs(b)
	full, empty := fresh(b), fresh(b)
	for _, dir := range []string{full, empty} {
		write(b, filepath.Join(dir, "plan.json"),
			`{"affected_files":["a.go"],"steps":[{"order":1,"file":"a.go"}],"acceptance_mapping":{"AC1":"a_test.go"}}`)
		run(b, dir, program, "pipeline", "put", "42", "plan", "plan.json")
	}
	w, err := workspace.Open(full, workspace.Options{})
	must(b, err)
	defer w.Close()
	for i := range 10_000 {
		to := fmt.Sprintf(".pipeline/completed/i%d", i)
		must(b, os.MkdirAll(filepath.Join(full, to), 0o777))
		write(b, filepath.Join(full, to, "plan.json"), "{}")
		_, _, err := w.Hub().Record(b.Context(), &handoff.PathMoved{From: fmt.Sprintf(".pipeline/i%d", i), To: to})
		must(b, err)
	}
	o, q := turns(b, func() { run(b, full, program, "pipeline", "next", "42") },
		func() { run(b, empty, program, "pipeline", "next", "42") })
	b.ReportMetric(float64(o.Microseconds())/1000, "ms/10,000-archived")
	b.ReportMetric(float64(q.Microseconds())/1000, "ms/none-archived")
}
