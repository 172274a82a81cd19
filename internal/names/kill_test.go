package names_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	randv2 "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/testdir"
	"github.com/agent-handoff/handoff/workspace"
)

const session = "6f1b1c7e-3f43-4a7c-9b0d-2f3f4d5e6a7b"

var background = context.Background()

// TestMain is also the main function of the processes that these tests kill.
func TestMain(m *testing.M) {
	dir := os.Getenv("NAMES_DIR")
	if dir == "" {
		debug.SetGCPercent(400) // the tests lack time, not memory
		os.Exit(testdir.Run(m.Run))
	}
	err := errors.New("unknown work")
	switch os.Getenv("NAMES_WORK") {
	case "points":
		err = workToPoint(dir)
	case "until killed":
		err = workUntilKilled(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// startProcess starts this binary as a process that works in a workspace.
func startProcess(t *testing.T, dir string, env ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(env, "NAMES_DIR="+dir)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &out
}

func scopeOf(dir, run string) names.Scope {
	return names.Scope{Session: session, Run: run, Dir: filepath.Join(dir, "docs", "agent-outputs", session), Within: dir}
}

// file returns the file of a run's name.
func file(dir, run, name string) string {
	return filepath.Join(scopeOf(dir, run).Dir, "artifacts", run, name)
}

// A worker publishes, writes and edits, and reports what it did on standard
// output: "ack ID SEQ" for an acknowledged record, "edits DIGEST" before and
// "edit DIGEST" after it edits a name's file.
type worker struct {
	dir, run, name string
	hub            *handoff.Hub
}

func say(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }

func (w worker) publish(text string) error {
	mine := fmt.Sprintf("%s-%d.md", w.run, os.Getpid())
	if err := os.WriteFile(filepath.Join(w.dir, mine), []byte(text), 0o644); err != nil {
		return err
	}
	p, err := w.hub.Publish(background, handoff.Draft{Channel: "design", Path: mine, Keep: handoff.KeepAlways})
	return w.acknowledged(p, err)
}

func (w worker) write(text string) error {
	writer := names.Writer{Hub: w.hub, Workspace: w.dir, Scope: scopeOf(w.dir, w.run)}
	written, err := writer.Write(background,
		handoff.Draft{Channel: "handoff", Name: w.name, Body: strings.NewReader(text)})
	return w.acknowledged(written.Published, err)
}

// pipe publishes content without a file.
func (w worker) pipe(text string) error {
	p, err := w.hub.Publish(background, handoff.Draft{
		Channel: "design", Filename: "piped.md", Body: strings.NewReader(text)})
	return w.acknowledged(p, err)
}

// edit replaces the name's file as an agent does that does not know handoff.
func (w worker) edit(text string) error {
	digest := logtest.DigestOf(text).Value
	say("edits %s", digest) // it may be killed before the second report
	beside := filepath.Join(w.dir, fmt.Sprint("edit-", os.Getpid()))
	err := errors.Join(os.WriteFile(beside, []byte(text), 0o644), os.Rename(beside, file(w.dir, w.run, w.name)))
	say("edit %s", digest)
	return err
}

func (w worker) acknowledged(p handoff.Published, err error) error {
	if err == nil && len(p.Warnings) > 0 {
		err = errors.New(p.Warnings[0])
	}
	if err == nil {
		say("ack %s %d", p.ID, p.Seq)
	}
	return err
}

// workToPoint publishes and writes, and kills itself at point NAMES_POINT. If
// that is 0 it lists all points on standard error.
func workToPoint(dir string) error {
	left, _ := strconv.Atoi(os.Getenv("NAMES_POINT"))
	list := left == 0
	point := func(name string) {
		if list {
			fmt.Fprintln(os.Stderr, name)
		} else if left--; left == 0 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Hour)
		}
	}
	step := func(name string, do func() error) error {
		point("before " + name)
		err := do()
		point("after " + name)
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	runtime := filepath.Join(dir, ".handoff")
	log := filelog.Open(runtime, rand.Reader)
	if err := errors.Join(localstate.NewDir(runtime, nil).Create(background), log.Create()); err != nil {
		return err
	}
	id, err := log.ID(context.Background())
	if err != nil {
		return err
	}
	index, err := sqlindex.Open(background, filepath.Join(runtime, "index.db"), id)
	if err != nil {
		return err
	}
	files := &content.Files{Root: root, Runtime: func() (*os.Root, error) {
		return os.OpenRoot(runtime)
	}, RuntimeDir: runtime, RuntimePath: ".handoff"}
	hub := handoff.New(stepLog{log, step}, stepIndex{index, step}, stepBodies{log.Bodies(), step},
		handoff.Options{Now: time.Now, Rand: rand.Reader, Files: stepFiles{files, step}})
	w := worker{dir, "run-1", "plans/context.md", hub}
	for i, work := range []func(string) error{w.publish, w.write, w.pipe, w.edit, w.write, w.write} {
		if err := work(fmt.Sprintf("text %d\n", i)); err != nil {
			return err
		}
	}
	return nil
}

type stepLog struct {
	*filelog.Log
	step func(string, func() error) error
}

func (l stepLog) Append(ctx context.Context, r handoff.Record) (seq handoff.Seq, err error) {
	err = l.step("append", func() error { seq, err = l.Log.Append(ctx, r); return err })
	return seq, err
}

func (l stepLog) Link(r handoff.Record) error {
	return l.step("link ID", func() error { return l.Log.Link(r) })
}

type stepIndex struct {
	*sqlindex.Index
	step func(string, func() error) error
}

func (x stepIndex) Apply(ctx context.Context, records ...handoff.Record) error {
	if len(records) == 0 {
		return nil
	}
	return x.step("index", func() error { return x.Index.Apply(ctx, records...) })
}

func (x stepIndex) Artifacts(ctx context.Context, q handoff.ArtifactQuery) (page handoff.ArtifactPage, err error) {
	err = x.step("query", func() error { page, err = x.Index.Artifacts(ctx, q); return err })
	return page, err
}

type stepFiles struct {
	*content.Files
	step func(string, func() error) error
}

func (f stepFiles) Store(ctx context.Context, id string, d handoff.Draft, p *handoff.ArtifactPublished,
	to handoff.Bodies) (s handoff.FileState, discard func(), err error) {
	err = f.step("store", func() error { s, discard, err = f.Files.Store(ctx, id, d, p, to); return err })
	return s, discard, err
}

type stepBodies struct {
	*filelog.Bodies
	step func(string, func() error) error
}

func (b stepBodies) Put(ctx context.Context, r io.Reader) (d handoff.Digest, err error) {
	err = b.step("body", func() error { d, err = b.Bodies.Put(ctx, r); return err })
	return d, err
}

func (b stepBodies) Open(ctx context.Context, d handoff.Digest) (r io.ReadSeekCloser, err error) {
	err = b.step("open body", func() error { r, err = b.Bodies.Open(ctx, d); return err })
	return stepReader{r, b.step}, err
}

// A stepReader makes steps of reading a body, during which the temporary file
// is filled, and of closing it, after the file was replaced.
type stepReader struct {
	io.ReadSeekCloser
	step func(string, func() error) error
}

func (r stepReader) Read(p []byte) (n int, err error) {
	var end error
	_ = r.step("read body", func() error { n, end = r.ReadSeekCloser.Read(p); return nil })
	return n, end
}

func (r stepReader) Close() error { return r.step("close body", r.ReadSeekCloser.Close) }

// TestKillPoints kills a process before and after each step of these: publish a
// kept file and content without a file, write a name, write it over an agent's
// edit, write it again. Without HANDOFF_LONG it kills only at the last point of
// each name. The steps of replacing a file are tested in package durable.
func TestKillPoints(t *testing.T) {
	var points []string
	{
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{"NAMES_DIR=" + t.TempDir(), "NAMES_WORK=points"}
		var listed bytes.Buffer
		cmd.Stderr = &listed
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, listed.String())
		}
		points = strings.Split(strings.TrimSpace(listed.String()), "\n")
	}
	for _, step := range []string{"body", "store", "append", "link ID", "index", "query", "open body", "read body",
		"close body"} {
		if n := strings.Count(strings.Join(points, "\n")+"\n", "before "+step+"\n"); n < 3 {
			t.Errorf("%d points before %q, want 3 or more", n, step)
		}
	}
	for i, point := range points {
		if os.Getenv("HANDOFF_LONG") == "" && slices.Contains(points[i+1:], point) {
			continue
		}
		t.Run(fmt.Sprintf("%d %s", i+1, point), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd, out := startProcess(t, dir, "NAMES_WORK=points", fmt.Sprint("NAMES_POINT=", i+1))
			if err := cmd.Wait(); !killed(err) {
				t.Fatalf("process ended with %v, want SIGKILL", err)
			}
			checkWorkspace(t, dir, out.String())
			checkNextWrite(t, dir, "run-1", "plans/context.md")
			checkWorkspace(t, dir, out.String())
		})
	}
}

func killed(err error) bool {
	exit, ok := err.(*exec.ExitError)
	return ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

func open(t *testing.T, dir string) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Open(dir, workspace.Options{Getenv: func(name string) string {
		return map[string]string{"HANDOFF_WORKSPACE": dir}[name]
	}})
	must(t, err)
	t.Cleanup(func() { w.Close() })
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// checkWorkspace compares a workspace with the reports of processes that were
// killed: no acknowledged record is lost or torn, no edit is lost, Check finds
// nothing, every kept body matches its digest, each name's file is a revision or
// an edit, and the index gives the same answers as one in memory.
func checkWorkspace(t *testing.T, dir, reports string) {
	t.Helper()
	w := open(t, dir)
	defer w.Close()
	report, err := w.Store().Check(t.Context())
	if err != nil || !report.OK() {
		t.Errorf("Check = %+v, %v, want no findings", report.Findings, err)
	}
	log := filelog.Open(w.Store().Runtime(), rand.Reader)
	records := logtest.Collect(t, log, 0)
	known := map[string]bool{}
	for _, r := range records {
		switch f := r.Fact.(type) {
		case *handoff.Damaged:
			t.Errorf("record %d is torn: %v", r.Seq, f.Err)
		case *handoff.ArtifactPublished:
			known[f.Digest.Value] = true
			if strings.HasPrefix(f.Path, ".handoff/") {
				text, err := os.ReadFile(filepath.Join(dir, f.Path))
				if err != nil || logtest.DigestOf(string(text)) != f.Digest {
					t.Errorf("file of record %d = %q, %v", r.Seq, text, err)
				}
			}
			b, err := log.Bodies().Open(t.Context(), f.Digest)
			if err != nil || !f.Kept {
				t.Errorf("body of record %d, kept %v: %v", r.Seq, f.Kept, err)
				continue
			}
			text, err := io.ReadAll(b)
			b.Close()
			if err != nil || logtest.DigestOf(string(text)) != f.Digest {
				t.Errorf("body of record %d = %q, %v", r.Seq, text, err)
			}
		}
	}
	rendered := renderings(t, dir)
	edits := map[string]bool{}
	for line := range strings.Lines(reports) {
		var what, id string
		var seq int
		fmt.Sscan(line, &what, &id, &seq)
		switch {
		case what == "edits":
			edits[id] = true
		case what == "edit":
			if !known[id] && !rendered[id] {
				t.Errorf("edit %.8s is lost", id)
			}
		case what != "ack" || seq < 1 || seq > len(records) || records[seq-1].ID != id:
			t.Errorf("%q was acknowledged, but is not in the log of %d records", line, len(records))
		}
	}
	for digest := range rendered {
		if !known[digest] && !edits[digest] {
			t.Errorf("a name's file has content %.8s, which nobody wrote", digest)
		}
	}
	compareIndex(t, w, records)
}

// renderings returns the digests of the files of all names.
func renderings(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(dir, "docs"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || durable.IsTemporary(d.Name()) {
			return err
		}
		text, err := os.ReadFile(name)
		found[logtest.DigestOf(string(text)).Value] = true
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return found
}

// compareIndex compares the index of a workspace with one in memory.
func compareIndex(t *testing.T, w *workspace.Workspace, records []handoff.Record) {
	t.Helper()
	if len(records) == 0 {
		return
	}
	if _, err := w.Hub().Newest(t.Context()); err != nil {
		t.Fatal(err)
	}
	id, err := filelog.Open(w.Store().Runtime(), rand.Reader).ID(t.Context())
	must(t, err)
	index, err := sqlindex.Open(t.Context(), filepath.Join(w.Store().Runtime(), "index.db"), id)
	must(t, err)
	defer index.Close()
	memory := logtest.NewReference()
	must(t, memory.Apply(t.Context(), records...))
	if seq, err := index.Seq(t.Context()); err != nil || int(seq) != len(records) {
		t.Errorf("position of the index = %d, %v, want %d", seq, err, len(records))
	}
	logtest.CheckAnswers(t, index, memory, records)
}

// checkNextWrite writes a name twice: each time its file has the content of the
// newest revision, and old temporary files of killed processes are removed.
func checkNextWrite(t *testing.T, dir, run, name string) {
	t.Helper()
	w := open(t, dir)
	defer w.Close()
	beside := filepath.Dir(file(dir, run, name))
	for i := range 2 {
		text := fmt.Sprintf("written again %d\n", i)
		old := time.Now().Add(-2 * time.Hour)
		for _, temporary := range temporaries(t, beside) {
			must(t, os.Chtimes(temporary, old, old))
		}
		writer := names.Writer{Hub: w.Hub(), Workspace: dir, Scope: scopeOf(dir, run)}
		written, err := writer.Write(t.Context(),
			handoff.Draft{Channel: "handoff", Name: name, Body: strings.NewReader(text)})
		if err != nil || len(written.Warnings) > 0 {
			t.Fatalf("write: %v, %v", written.Warnings, err)
		}
		if got, err := os.ReadFile(file(dir, run, name)); err != nil || string(got) != text {
			t.Errorf("file of the name = %q, %v, want %q", got, err, text)
		}
		if a, err := resolver(w.Hub(), scopeOf(dir, run)).Find(t.Context(), name); err != nil || a.ID != written.ID {
			t.Errorf("newest revision = %s, %v, want %s", a.ID, err, written.ID)
		}
	}
	if left := temporaries(t, beside); len(left) > 0 {
		t.Errorf("temporary files %q are left", left)
	}
}

func temporaries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, ".handoff-*"))
	must(t, err)
	return slices.DeleteFunc(list, func(name string) bool { return !durable.IsTemporary(filepath.Base(name)) })
}

// workUntilKilled publishes, writes and edits until it is killed.
func workUntilKilled(dir string) error {
	w, err := workspace.Open(dir, workspace.Options{Getenv: func(name string) string {
		return map[string]string{"HANDOFF_WORKSPACE": dir}[name]
	}})
	if err != nil {
		return err
	}
	run := os.Getenv("NAMES_RUN")
	w1 := worker{dir: dir, run: run, name: "context.md", hub: w.Hub()}
	for i := 0; ; i++ {
		text := fmt.Sprintln(run, os.Getpid(), i)
		if err := w1.publish(fmt.Sprint("same for all ", i)); err != nil {
			return err
		}
		if err := w1.write(text); err != nil {
			return err
		}
		if run == "shared" {
			continue // another process may render between an edit and the next write
		}
		if err := w1.edit("edit " + text); err != nil {
			return err
		}
	}
}

// TestRandomKills kills eight processes at random points, again and again, while
// the log is being checked. Every other process shares its names. With
// HANDOFF_LONG it kills 1,000 times.
func TestRandomKills(t *testing.T) {
	t.Parallel()
	kills := int64(12)
	if os.Getenv("HANDOFF_LONG") != "" {
		kills = 1000
	}
	dir := t.TempDir()
	var left, slow atomic.Int64 // slow machines need more time before something is acknowledged
	var processes sync.WaitGroup
	var reports [8]bytes.Buffer
	left.Store(kills)
	slow.Store(1)
	for i := range reports {
		run := "shared"
		if i%2 == 0 {
			run = fmt.Sprint("run-", i)
		}
		processes.Go(func() {
			for left.Add(-1) >= 0 {
				cmd, out := startProcess(t, dir, "NAMES_WORK=until killed", "NAMES_RUN="+run)
				time.Sleep(time.Duration(slow.Load()*int64(50_000+randv2.IntN(500_000))) * time.Microsecond)
				cmd.Process.Kill()
				if err := cmd.Wait(); !killed(err) {
					t.Errorf("process %d was not killed: %v", i, err)
				}
				reports[i].Write(out.Bytes())
				if !bytes.Contains(out.Bytes(), []byte("ack ")) {
					slow.Store(min(2*slow.Load(), 16))
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { processes.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-time.After(300 * time.Millisecond):
		}
		if report, err := filelog.Open(filepath.Join(dir, ".handoff"), rand.Reader).Check(t.Context(), nil); err != nil ||
			!report.OK() {
			t.Errorf("Check = %+v, %v, want no findings", report.Findings, err)
		}
	}
	all := ""
	for i := range reports {
		all += reports[i].String()
	}
	if strings.Count(all, "ack ") == 0 {
		t.Error("nothing was acknowledged between the kills")
	}
	checkWorkspace(t, dir, all)
	for _, run := range []string{"run-0", "run-2", "run-4", "run-6", "shared"} {
		checkNextWrite(t, dir, run, "context.md")
	}
	checkWorkspace(t, dir, all)
	t.Logf("%d kills, %d acknowledgements, %d edits", kills, strings.Count(all, "ack "), strings.Count(all, "edit "))
}
