package workspace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/internal/tool/testdir"
)

// TestMain lets this binary act as another process.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("LOCAL_TEST_PUBLISH") != "":
		os.Exit(publishMany(os.Getenv("LOCAL_TEST_DIR"), os.Getenv("LOCAL_TEST_PUBLISH")))
	case os.Getenv("LOCAL_TEST_LOCK") != "":
		os.Exit(holdIndex(os.Getenv("LOCAL_TEST_DIR")))
	case os.Getenv("LOCAL_TEST_LIST") != "":
		os.Exit(listAll(os.Getenv("LOCAL_TEST_DIR")))
	}
	debug.SetGCPercent(400) // the tests lack time, not memory
	if os.Getenv("HANDOFF_LONG") == "" {
		_ = flag.Set("rapid.checks", "20")
	}
	os.Exit(testdir.Run(m.Run))
}

// again runs this binary once more, as what an environment makes it.
func again(dir string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(env, "LOCAL_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// publishMany publishes n bodies of its own and prints each ID that was acknowledged, with
// the time it took.
func publishMany(dir, n string) int {
	times, _ := strconv.Atoi(n)
	w, err := Open(dir, optionsFor(dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer w.Close()
	mine := fmt.Sprintf("%d.md", os.Getpid())
	for i := range times {
		if err := os.WriteFile(filepath.Join(w.c.Dirs.Root, mine), fmt.Appendln(nil, mine, i), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		began := time.Now()
		p, err := w.Publish(background, handoff.Draft{Path: mine, Keep: handoff.KeepAlways, Channel: "design",
			Title: fmt.Sprintf("%d of %d", i, os.Getpid())})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		for _, warning := range p.Warnings {
			fmt.Fprintln(os.Stderr, warning)
		}
		fmt.Println(p.Artifact.ID, time.Since(began).Milliseconds())
	}
	return 0
}

func listAll(dir string) int {
	w, err := Open(dir, optionsFor(dir, "HANDOFF_DIR", os.Getenv("HANDOFF_DIR")))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer w.Close()
	page, err := w.c.Anonymous.Artifacts(background, handoff.ArtifactQuery{IncludeInactive: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, a := range page.Artifacts {
		fmt.Println(a.ID)
	}
	return 0
}

// acks are the acknowledgements that publishing processes got.
type acks struct {
	sync.Mutex
	ids     []string
	longest int // milliseconds
}

// read reads the output of a process to its end.
func (a *acks) read(r io.Reader) {
	for line := bufio.NewScanner(r); line.Scan(); {
		id, ms, _ := strings.Cut(line.Text(), " ")
		took, _ := strconv.Atoi(ms)
		a.Lock()
		a.ids, a.longest = append(a.ids, id), max(a.longest, took)
		a.Unlock()
	}
}

func (a *acks) sorted() []string {
	a.Lock()
	defer a.Unlock()
	return slices.Sorted(slices.Values(a.ids))
}

// listed returns the IDs that another process lists, sorted.
func listed(t *testing.T, dir string) []string {
	t.Helper()
	out, err := again(dir, "LOCAL_TEST_LIST=1").Output()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(slices.Values(strings.Fields(string(out))))
}

// TestManyProcesses has many processes publish in one workspace at once, 64 of
// them 50 times each where HANDOFF_LONG is set, each a kept body of its own: each
// publish is one complete record, none is refused,
// none waits long, and what was acknowledged is found by another process at
// once.
func TestManyProcesses(t *testing.T) {
	processes, each := 8, 10
	if os.Getenv("HANDOFF_LONG") != "" {
		processes, each = 64, 50
	}
	dir := testWorkspace(t)
	var acknowledged acks
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			cmd := again(dir, "LOCAL_TEST_PUBLISH="+strconv.Itoa(each))
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err == nil {
				acknowledged.read(out)
				err = cmd.Wait()
			}
			if err != nil {
				t.Errorf("publishing: %v", err)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	looks := 0
	for running := true; running; looks++ {
		select {
		case <-done:
			running = false
		default:
		}
		want := acknowledged.sorted()
		got := listed(t, dir)
		for _, id := range want {
			if _, found := slices.BinarySearch(got, id); !found {
				t.Errorf("%s was acknowledged, and is not listed", id)
			}
		}
	}
	want := acknowledged.sorted()
	t.Logf("longest publish: %d ms; %d listings at the same time", acknowledged.longest, looks)
	if got := listed(t, dir); len(want) != processes*each || !slices.Equal(got, want) {
		t.Errorf("%d listed, %d acknowledged, want %d, the same", len(got), len(want), processes*each)
	}
	wholeRecords(t, dir, want)
}

// wholeRecords holds that the log has the given artifacts, sorted by ID, and
// nothing else, and that there is nothing but the index beside it.
func wholeRecords(t *testing.T, dir string, want []string) {
	t.Helper()
	w := openDir(t, dir)
	var stored []string
	for r, err := range w.c.Log.Read(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := r.Fact.(*handoff.ArtifactPublished); !ok {
			t.Errorf("record %d is %s, want an artifact", r.Seq, r.Type)
		}
		stored = append(stored, r.ID)
	}
	slices.Sort(stored)
	if len(slices.Compact(slices.Clone(want))) != len(want) || !slices.Equal(stored, want) {
		t.Errorf("%d records, %d acknowledged, and they differ", len(stored), len(want))
	}
	report, err := w.Store().Check(t.Context())
	if err != nil || len(report.Findings) > 0 {
		t.Errorf("check finds %v, %v", report.Findings, err)
	}
	must(t, filepath.WalkDir(w.c.Dirs.Runtime, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(w.c.Dirs.Runtime, name)
		known := filepath.Ext(name) == ".json" || rel == filepath.Join("log", "ID") || rel == ".gitignore" ||
			rel == localstate.MarkerName ||
			strings.HasPrefix(rel, localstate.FileName) || rel == localstate.LockName ||
			strings.HasPrefix(rel, filepath.Join("bodies", "sha256"))
		if err == nil && !d.IsDir() && !known {
			t.Errorf("%s was left behind", rel)
		}
		return err
	}))
}

// harms are what may befall the index of a workspace.
var harms = map[string]func(t *testing.T, dir, file string){
	"deleted":     func(t *testing.T, _, file string) { must(t, os.Remove(file)) },
	"empty":       func(t *testing.T, _, file string) { must(t, os.Truncate(file, 0)) },
	"truncated":   func(t *testing.T, _, file string) { must(t, os.Truncate(file, 10_000)) },
	"cut in half": func(t *testing.T, _, file string) { must(t, os.Truncate(file, size(t, file)/2)) },
	"not a database": func(t *testing.T, _, file string) {
		must(t, os.WriteFile(file, bytes.Repeat([]byte("no "), 9000), 0o600))
	},
	"a directory":    func(t *testing.T, _, file string) { must(t, os.Remove(file)); must(t, os.Mkdir(file, 0o700)) },
	"bad header":     func(t *testing.T, _, file string) { flip(t, file, 20) },
	"bad pages":      badPages,
	"altered record": alter,
	"stale log beside": func(t *testing.T, _, file string) {
		must(t, os.WriteFile(file+"-wal", bytes.Repeat([]byte{7}, 9000), 0o600))
	},
	"stale memory": func(t *testing.T, _, file string) {
		must(t, os.WriteFile(file+"-shm", bytes.Repeat([]byte{7}, 32768), 0o600))
	},
	"other schema":     func(t *testing.T, _, file string) { query(t, file, `UPDATE place SET version = 99`) },
	"other tables":     func(t *testing.T, _, file string) { query(t, file, `DROP TABLE place`) },
	"lacks a table":    func(t *testing.T, _, file string) { query(t, file, `DROP TABLE pointers`) },
	"other log":        func(t *testing.T, _, file string) { query(t, file, `UPDATE place SET log = 'another'`) },
	"other record":     func(t *testing.T, _, file string) { query(t, file, `UPDATE place SET id = 'art_other'`) },
	"ahead of the log": func(t *testing.T, _, file string) { query(t, file, `UPDATE place SET seq = 900`) },
	"no lock file": func(t *testing.T, dir, _ string) {
		must(t, os.Mkdir(filepath.Join(dir, "lock"), 0o700))
		noLock(t, dir)
	},
	"killed writer":            killedWriter,
	"locked by a dead process": lockedByTheDead,
}

// TestIndexDamaged does harm to the index of a workspace and checks that every
// answer is as from memory, before and after one more publish.
func TestIndexDamaged(t *testing.T) {
	for name, harm := range harms {
		if name == "ahead of the log" {
			continue // TestLogLost
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testWorkspace(t)
			publishSome(t, dir, 30)
			harm(t, filepath.Join(dir, ".handoff"), filepath.Join(dir, ".handoff", localstate.FileName))
			n := checkWorkspace(t, dir, 30)
			publishSome(t, dir, 1)
			checkWorkspace(t, dir, n+1)
		})
	}
}

// TestIndexDamagedWhileOpen does harm to the index under an open workspace.
func TestIndexDamagedWhileOpen(t *testing.T) {
	dir := testWorkspace(t)
	publishSome(t, dir, 30)
	w := openDir(t, dir)
	if _, err := w.c.Anonymous.Newest(t.Context()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, ".handoff", localstate.FileName)
	badPages(t, "", file)
	query(t, file, `DROP TABLE IF EXISTS artifacts`)
	publishSome(t, dir, 1)
	p, err := w.Publish(t.Context(), handoff.Draft{Path: "a.md", Channel: "design"})
	if err != nil || len(p.Warnings) > 0 {
		t.Errorf("Publish = %v, warnings %q", err, p.Warnings)
	}
	checkWorkspace(t, dir, 32)
	page, err := w.c.Anonymous.Artifacts(t.Context(), handoff.ArtifactQuery{IncludeInactive: true})
	if err != nil || len(page.Artifacts) != 32 {
		t.Errorf("%d artifacts, %v, want 32", len(page.Artifacts), err)
	}
}

// TestPages checks that a list without a limit comes in several pages, each
// artifact once.
func TestPages(t *testing.T) {
	t.Parallel()
	dir := testWorkspace(t)
	publishSome(t, dir, listPage+1)
	w := openDir(t, dir)
	all, err := w.List(t.Context(), ListOptions{Filter: Filter{IncludeInactive: true}})
	must(t, err)
	var sizes []int
	var got []handoff.Artifact
	for page, err := range (ListOptions{Filter: Filter{IncludeInactive: true}}).Pages(t.Context(), w) {
		must(t, err)
		sizes, got = append(sizes, len(page.Artifacts)), append(got, page.Artifacts...)
	}
	if !slices.Equal(sizes, []int{listPage, 1}) ||
		!slices.EqualFunc(got, all.Artifacts, func(a, b handoff.Artifact) bool { return a.ID == b.ID }) {
		t.Errorf("pages of %v artifacts, want %d and 1, in the order of a list", sizes, listPage)
	}
}

// TestIndexLocked has another process hold a lock of the index: exclusively, or
// stopped in the midst of a write. A command warns, answers from another index
// and can be interrupted. The lock file is tried when the place is chosen.
func TestIndexLocked(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]func(t *testing.T, runtime string){
		"lock file": func(t *testing.T, runtime string) {
			f, err := os.OpenFile(filepath.Join(runtime, localstate.LockName), os.O_RDWR|os.O_CREATE, 0o600)
			must(t, err)
			t.Cleanup(func() { f.Close() })
			must(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
		},
		"stopped in a write": func(t *testing.T, runtime string) {
			must(t, lockIndex(t, runtime).Process.Signal(syscall.SIGSTOP))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, cache := testWorkspace(t), t.TempDir()
			publishSome(t, dir, 30)
			hold(t, filepath.Join(dir, ".handoff"))
			var warnings []string
			o := optionsFor(dir, "XDG_CACHE_HOME", cache)
			o.Warn = func(text string) { warnings = append(warnings, text) }
			w, err := Open(dir, o)
			must(t, err)
			defer w.Close()
			p, err := w.Publish(t.Context(), handoff.Draft{Path: "a.md", Channel: "design"})
			if err != nil || len(p.Warnings) > 0 {
				t.Errorf("Publish = %v, warnings %q", err, p.Warnings)
			}
			page, err := w.List(t.Context(), ListOptions{Filter: Filter{IncludeInactive: true}})
			if err != nil || len(page.Artifacts) != 31 {
				t.Errorf("%d artifacts, %v, want 31", len(page.Artifacts), err)
			}
			if len(warnings) != 1 || !strings.Contains(warnings[0], "locked by another process") {
				t.Errorf("warnings = %q, want one about the lock", warnings)
			}
			want := 0 // the place is chosen once: later the index is in memory
			if name == "lock file" {
				want = 1
			}
			if found, err := filepath.Glob(filepath.Join(cache, "agent-handoff", "*", localstate.FileName)); err != nil ||
				len(found) != want {
				t.Errorf("the cache has the indexes %q, want %d", found, want)
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			again, err := Open(dir, optionsFor(dir))
			must(t, err)
			defer again.Close()
			if _, err := again.List(ctx, ListOptions{}); !errors.Is(err, context.Canceled) {
				t.Errorf("List that is interrupted = %v, want context.Canceled", err)
			}
		})
	}
}

// TestReadOnly lets another user list a workspace that only its owner may
// write: the index is in that user's cache, or in memory.
func TestReadOnly(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run a process as another user")
	}
	if info, err := os.Stat(os.TempDir()); err != nil || info.Mode()&0o001 == 0 {
		t.Skipf("other users can't enter %s: %v", os.TempDir(), err)
	}
	dir := testWorkspace(t)
	publishSome(t, dir, 5)
	runtime := filepath.Join(dir, ".handoff")
	for _, name := range []string{filepath.Dir(dir), dir, runtime} {
		must(t, os.Chmod(name, 0o755))
	}
	must(t, exec.Command("chmod", "-R", "a+rX", runtime).Run())
	cmd := again(dir, "LOCAL_TEST_LIST=1", "HANDOFF_DIR="+runtime)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	program := filepath.Join(dir, "program")
	must(t, exec.Command("cp", os.Args[0], program).Run())
	cmd.Path = program
	out, err := cmd.Output()
	if lines := strings.Count(string(out), "\n"); err != nil || lines != 5 {
		t.Errorf("another user sees %d artifacts, %v, want 5", lines, err)
	}
}

func TestReadingMakesNothing(t *testing.T) {
	dir, cache := testWorkspace(t), t.TempDir()
	w, err := Open(dir, optionsFor(dir, "XDG_CACHE_HOME", cache))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if page, err := w.c.Anonymous.Artifacts(t.Context(), handoff.ArtifactQuery{}); err != nil || len(page.Artifacts) != 0 {
		t.Errorf("%d artifacts, %v, want none", len(page.Artifacts), err)
	}
	for _, name := range []string{filepath.Join(dir, ".handoff"), filepath.Join(cache, "handoff")} {
		if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("reading made %s", name)
		}
	}
}

// TestIndexInCache checks that the index is in the cache where it can't be
// beside the log, and that search works there and without any file.
func TestIndexInCache(t *testing.T) {
	for _, cache := range []string{t.TempDir(), ""} {
		dir := testWorkspace(t)
		must(t, os.MkdirAll(filepath.Join(dir, ".handoff", localstate.LockName), 0o700))
		w, err := Open(dir, optionsFor(dir, "XDG_CACHE_HOME", cache))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if _, err := w.Publish(t.Context(), handoff.Draft{Path: "a.md", Channel: "design",
			Title: "Retry policy"}); err != nil {
			t.Fatal(err)
		}
		found, err := w.Search(t.Context(), SearchOptions{Text: "retry"})
		if err != nil || len(found.Matches) != 1 {
			t.Errorf("Search = %d matches, %v, want one", len(found.Matches), err)
		}
		id, _, _ := localstate.LogID(t.Context(), w.c.RawLog)
		_, err = os.Stat(filepath.Join(cache, "agent-handoff", id, localstate.FileName))
		if (err == nil) != (cache != "") {
			t.Errorf("with cache %q: %v", cache, err)
		}
	}
}

// checkWorkspace compares the answers of a newly opened workspace with an index in
// memory over the same log, which holds n records or more. It returns how many.
func checkWorkspace(t *testing.T, dir string, n int) int {
	t.Helper()
	w := openDir(t, dir)
	defer w.Close()
	records := logtest.Collect(t, w.c.Log, 0)
	if len(records) < n {
		t.Fatalf("the log holds %d records, want %d", len(records), n)
	}
	want := logtest.NewReference()
	if err := want.Apply(t.Context(), records...); err != nil {
		t.Fatal(err)
	}
	if err := handoff.CatchUp(t.Context(), w.c.Log, w.c.Index); err != nil {
		t.Fatal(err)
	}
	logtest.CheckAnswers(t, w.c.Index, want, records)
	return len(records)
}
