package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff"

	"github.com/agent-handoff/handoff/workspace"
)

const helloText = `package main

import "os"

func main() { os.Stdout.WriteString("hello, world\n") }
`

// BenchmarkShow compares processes: `handoff show ID` in a log of 1,000 records,
// and hello-world.
func BenchmarkShow(b *testing.B) {
	program, hello := programs(b)
	dir := fresh(b)
	write(b, filepath.Join(dir, "a.md"), "a\n")
	w, err := workspace.Open(dir, workspace.Options{})
	must(b, err)
	defer w.Close()
	var id string
	for i := range 1000 {
		p, err := w.Publish(b.Context(), handoff.Draft{
			Channel: "design", Path: "a.md", Title: fmt.Sprint("Draft ", i), Summary: "What was decided, and why."})
		must(b, err)
		if i == 500 {
			id = p.ID
		}
	}
	o, q := turns(b, func() { run(b, dir, program, "show", id) }, func() { run(b, dir, hello) })
	b.ReportMetric(float64(o.Microseconds())/1000, "ms/show")
	b.ReportMetric(float64(q.Microseconds())/1000, "ms/hello")
	b.ReportMetric(float64((o-q).Microseconds())/1000, "ms-more")
}

// run runs a program in a directory and waits for its end.
func run(tb testing.TB, dir, program string, args ...string) {
	c := exec.Command(program, args...)
	c.Dir, c.Env = dir, []string{"HOME=" + dir}
	if out, err := c.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// programs builds handoff and hello-world.
func programs(tb testing.TB) (handoff, hello string) {
	bin := fresh(tb)
	handoff, hello = filepath.Join(bin, "handoff"), filepath.Join(bin, "hello")
	write(tb, hello+".go", helloText)
	build(tb, hello, hello+".go")
	build(tb, handoff, "../cmd/handoff")
	return handoff, hello
}

func build(tb testing.TB, out, what string) {
	c := exec.Command("go", "build", "-trimpath", "-o", out, what)
	c.Env = append(os.Environ(), "CGO_ENABLED=0") // static, as it is distributed
	if text, err := c.CombinedOutput(); err != nil {
		tb.Fatalf("go build: %v\n%s", err, text)
	}
}
