package bench

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/engines/gitlog"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
)

func runGit(tb testing.TB, dir string, in *bufio.Reader, args ...string) string {
	c := exec.Command("git", args...)
	c.Dir = dir
	if in != nil {
		c.Stdin = in
	}
	out, err := c.Output()
	if err != nil {
		tb.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

func gitServer(tb testing.TB) string {
	dir := filepath.Join(fresh(tb), "server.git")
	runGit(tb, "/", nil, "init", "-q", "--bare", dir)
	return dir
}

func gitLog(tb testing.TB, url string) *gitlog.Log {
	l := gitlog.Open(gitlog.Options{Fetch: url, Name: "default", Runtime: fresh(tb), Rand: rand.Reader, Poll: time.Hour})
	tb.Cleanup(func() { l.Close() })
	return l
}

// BenchmarkGitAppend compares an append to a log in git with the creation and the
// push of a commit that has the same record.
func BenchmarkGitAppend(b *testing.B) {
	ctx := context.Background()
	l, bare, work := gitLog(b, gitServer(b)), gitServer(b), filepath.Join(fresh(b), "work.git")
	runGit(b, "/", nil, "init", "-q", "--bare", work)
	_, err := l.Append(ctx, newRecord(b))
	must(b, err)
	parent, n := "", 0
	o, p := turns(b, func() {
		_, err := l.Append(ctx, newRecord(b))
		must(b, err)
	}, func() {
		record, err := newRecord(b).JSON()
		must(b, err)
		n++
		var s strings.Builder
		fmt.Fprintf(&s, "commit refs/handoff/next\nmark :1\ncommitter a <a@b> 1 +0000\ndata 1\nx\n")
		if parent != "" {
			fmt.Fprintf(&s, "from %s\n", parent)
		}
		fmt.Fprintf(&s, "deleteall\nM 100644 inline %012d.json\ndata %d\n%s\nget-mark :1\n", n, len(record), record)
		parent = runGit(b, work, bufio.NewReader(strings.NewReader(s.String())), "fast-import", "--quiet", "--force")
		runGit(b, work, nil, "push", "-q", "--", bare, parent+":refs/handoff/default")
	})
	b.ReportMetric(o.Seconds()*1000, "append-ms")
	b.ReportMetric(p.Seconds()*1000, "push-ms")
	b.ReportMetric(float64(o)/float64(p), "ratio")
}

// BenchmarkGitAppendTogether appends records of 64 goroutines, which share pushes.
func BenchmarkGitAppendTogether(b *testing.B) {
	url := gitServer(b)
	l := gitLog(b, url)
	const writers, each = 64, 10
	start := time.Now()
	rounds := 0
	for b.Loop() {
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for range each {
					_, err := l.Append(context.Background(), newRecord(b))
					must(b, err)
				}
			})
		}
		wg.Wait()
		rounds++
	}
	records := float64(rounds * writers * each)
	var pushes float64
	fmt.Sscan(runGit(b, url, nil, "rev-list", "--count", "refs/handoff/default"), &pushes)
	b.ReportMetric(records/time.Since(start).Seconds(), "records/s")
	b.ReportMetric(pushes/records, "pushes/record")
}

// BenchmarkGitLoad compares filling an index from a log in git with filling one from
// files with the same records. The history is fetched before: that depends on the
// network.
func BenchmarkGitLoad(b *testing.B) {
	ctx := context.Background()
	const loaded = 20_000
	runtime := filepath.Join(fresh(b), ".handoff")
	files := filelog.Open(runtime, rand.Reader)
	must(b, files.Create())
	_, err := writeLog(runtime, loaded)
	must(b, err)
	url := gitServer(b)
	id := strings.Repeat("ab", 16)
	in, out := make(chan struct{}), exec.Command("git", "fast-import", "--quiet")
	out.Dir = url
	pipe, err := out.StdinPipe()
	must(b, err)
	must(b, out.Start())
	go func() {
		defer close(in)
		w := bufio.NewWriter(pipe)
		for r := range files.Read(ctx, 0) {
			record, _ := r.JSON()
			message := fmt.Sprintf("handoff log %s records %d-%d\n", id, r.Seq, r.Seq)
			fmt.Fprintf(w, "commit refs/handoff/default\ncommitter a <a@b> 1 +0000\ndata %d\n%s\ndeleteall\nM 100644 inline "+
				"%012d.json\ndata %d\n%s\n", len(message), message, r.Seq, len(record), record)
		}
		w.Flush()
		pipe.Close()
	}()
	<-in
	must(b, out.Wait())
	l := gitLog(b, url)
	start := time.Now()
	n, err := l.Newest(ctx)
	must(b, err)
	if n != loaded {
		b.Fatalf("%d records, want %d", n, loaded)
	}
	fetch := time.Since(start)
	load := func(log handoff.Log) func() {
		return func() {
			x, err := sqlindex.Open(ctx, filepath.Join(fresh(b), "index.db"), id)
			must(b, err)
			must(b, handoff.CatchUp(ctx, log, x))
			must(b, x.Close())
		}
	}
	o, p := turns(b, load(l), load(files))
	b.ReportMetric(fetch.Seconds(), "fetch-s")
	b.ReportMetric(o.Seconds(), "git-s")
	b.ReportMetric(p.Seconds(), "files-s")
	b.ReportMetric(float64(p)/float64(o), "rate")
}
