package workspace

import (
	"github.com/agent-handoff/handoff/engines/memory"
	"github.com/agent-handoff/handoff/storage"

	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/workspace/store"
)

// plainBodies are bodies without any further ability.
type plainBodies struct{ handoff.Bodies }

// TestPlainLog uses a workspace over a log and a body store that have none of the
// optional abilities.
func TestPlainLog(t *testing.T) {
	dir, log := testWorkspace(t), memory.NewLog()
	plain := storage.Backend{Scheme: "plain", Open: func(o storage.BackendOptions) (handoff.Log, handoff.Bodies, error) {
		return log, plainBodies{filelog.Open(filepath.Join(o.Runtime, "plain"), o.Rand).Bodies()}, nil
	}}
	open := func() *Workspace {
		env := map[string]string{"HANDOFF_WORKSPACE": dir, "HANDOFF_LOG": "plain:"}
		w, err := Open(dir, Options{Getenv: func(name string) string { return env[name] },
			Backends: []storage.Backend{plain}})
		must(t, err)
		t.Cleanup(func() { w.Close() })
		return w
	}
	p, err := open().Publish(t.Context(), handoff.Draft{Path: "a.md", Channel: "design"})
	if err != nil || len(p.Warnings) > 0 {
		t.Fatalf("Publish = %v, warnings %q", err, p.Warnings)
	}
	w := open()
	page, err := w.c.Anonymous.Artifacts(t.Context(), handoff.ArtifactQuery{})
	if err != nil || len(page.Artifacts) != 1 {
		t.Errorf("Artifacts = %d artifacts, %v, want 1", len(page.Artifacts), err)
	}
	if err := os.Remove(filepath.Join(dir, "a.md")); err != nil {
		t.Fatal(err)
	}
	b, err := w.c.Anonymous.Open(t.Context(), page.Artifacts[0].ID)
	if err != nil || !b.Kept {
		t.Errorf("Open = kept %t, %v, want the kept body", b.Kept, err)
	} else {
		b.Close()
	}
	report, err := w.Store().Check(t.Context())
	if err != nil || !report.OK() || report.Records != 1 {
		t.Errorf("Check = %+v, %v, want 1 record and no problem", report, err)
	}
	if _, err := w.Store().Repair(t.Context(), time.Now()); err != nil {
		t.Errorf("Repair = %v", err)
	}
	if _, err := w.Store().Garbage(t.Context(), store.GarbageOptions{}); !errors.Is(err, handoff.Unsupported) {
		t.Errorf("Unneeded = %v, want kind Unsupported", err)
	}
	if _, err := os.Stat(filepath.Join(w.c.Dirs.Runtime, localstate.FileName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the index of a log without an ID is in a file: %v", err)
	}
	must(t, os.RemoveAll(filepath.Join(dir, ".handoff/plain/bodies")))
	if report, err := w.Store().Check(t.Context()); err != nil || report.OK() ||
		!strings.Contains(report.Findings[0].Text, "is missing; it is the body of art_") {
		t.Errorf("without the body, Check = %+v, %v", report, err)
	}
}

// TestIgnoreFile holds that the runtime directory is created with a .gitignore,
// and that one which its owner removed stays away.
func TestIgnoreFile(t *testing.T) {
	dir := testWorkspace(t)
	file := filepath.Join(dir, ".handoff", localstate.IgnoreName)
	publishSome(t, dir, 1)
	if b, err := os.ReadFile(file); err != nil || string(b) != "*\n" {
		t.Errorf("%s contains %q, %v", localstate.IgnoreName, b, err)
	}
	must(t, os.Remove(file))
	publishSome(t, dir, 1)
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s was created again: %v", localstate.IgnoreName, err)
	}
}

// TestFailedFirstWrite holds that a first write which fails leaves no runtime
// directory behind, and one that follows a success leaves everything.
func TestFailedFirstWrite(t *testing.T) {
	dir := testWorkspace(t)
	w := openDir(t, dir)
	broken := func() {
		if _, err := w.c.Bodies.Put(t.Context(), iotest.ErrReader(errors.New("broken"))); err == nil {
			t.Error("a broken body was stored")
		}
	}
	broken()
	if _, err := os.Stat(w.c.Dirs.Runtime); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a failed write left the runtime directory behind: %v", err)
	}
	publishSome(t, dir, 1)
	broken()
	checkWorkspace(t, dir, 1)
}

// lateErrorLog appends a record and then reports that it could not.
type lateErrorLog struct{ handoff.Log }

func (l lateErrorLog) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
	seq, err := l.Log.Append(ctx, r)
	return seq, cmp.Or(err, error(handoff.Unavailable))
}

// TestErrorAfterAppend publishes a body to a log whose append fails after it has
// stored the record: the body must stay, because the record needs it.
func TestErrorAfterAppend(t *testing.T) {
	dir := testWorkspace(t)
	late := storage.Backend{Scheme: "late", Open: func(o storage.BackendOptions) (handoff.Log, handoff.Bodies, error) {
		log := filelog.Open(o.Runtime, o.Rand)
		return lateErrorLog{log}, log.Bodies(), nil
	}}
	env := map[string]string{"HANDOFF_WORKSPACE": dir, "HANDOFF_LOG": "late:"}
	w, err := Open(dir, Options{Getenv: func(name string) string { return env[name] }, Backends: []storage.Backend{late}})
	must(t, err)
	defer w.Close()
	for _, keep := range []handoff.Keep{handoff.KeepNever, handoff.KeepAlways} {
		_, err := w.Publish(t.Context(), handoff.Draft{Body: strings.NewReader("the body"), Channel: "design", Keep: keep})
		if !errors.Is(err, handoff.Unavailable) {
			t.Fatalf("Publish = %v, want kind Unavailable", err)
		}
	}
	read := openDir(t, dir)
	page, err := read.c.Anonymous.Artifacts(t.Context(), handoff.ArtifactQuery{})
	if err != nil || len(page.Artifacts) != 2 {
		t.Fatalf("Artifacts = %d artifacts, %v, want 2", len(page.Artifacts), err)
	}
	for _, a := range page.Artifacts {
		b, err := read.c.Anonymous.Open(t.Context(), a.ID)
		if err != nil {
			t.Errorf("Open (kept %t) = %v", a.Kept, err)
			continue
		}
		if text, err := io.ReadAll(b); err != nil || string(text) != "the body" {
			t.Errorf("the body is %q, %v", text, err)
		}
		b.Close()
	}
}

// stoppedLog and stoppedBodies are of a process that is stopped for two hours
// after a body was put, or before a record is appended, while another process
// collects bodies.
type stoppedLog struct {
	handoff.Log
	stop func()
}

func (l stoppedLog) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
	l.stop()
	return l.Log.Append(ctx, r)
}

type stoppedBodies struct {
	handoff.Bodies
	stop func()
}

func (b stoppedBodies) Put(ctx context.Context, r io.Reader) (handoff.Digest, error) {
	d, err := b.Bodies.Put(ctx, r)
	b.stop()
	return d, err
}

// TestCollectedBeforeAppend stops a publish for longer than bodies without a
// record are kept: nothing is acknowledged whose body is lost.
func TestCollectedBeforeAppend(t *testing.T) {
	for _, at := range []string{"put", "append"} {
		dir := testWorkspace(t)
		publishSome(t, dir, 1)
		now, stops := time.Now(), 0
		stop := func(where string) func() {
			return func() {
				if where != at || stops > 0 {
					return
				}
				stops++
				now = now.Add(2 * time.Hour)
				o := optionsFor(dir)
				o.Now = func() time.Time { return now }
				other, err := Open(dir, o)
				must(t, err)
				defer other.Close()
				g, err := other.Store().Garbage(t.Context(), store.GarbageOptions{Collect: true})
				if err != nil || len(g.Bodies) != 1 {
					t.Errorf("%s: Collect = %+v, %v, want one body", at, g, err)
				}
			}
		}
		env := map[string]string{"HANDOFF_WORKSPACE": dir, "HANDOFF_LOG": "stopped:"}
		w, err := Open(dir, Options{Getenv: func(name string) string { return env[name] }, Now: func() time.Time {
			return now
		},
			Backends: []storage.Backend{{Scheme: "stopped", Open: func(o storage.BackendOptions) (handoff.Log, handoff.Bodies,
				error) {
				log := filelog.Open(o.Runtime, o.Rand)
				return stoppedLog{log, stop("append")}, stoppedBodies{log.Bodies(), stop("put")}, nil
			}}}})
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, "b.md"), []byte("collected"), 0o644))
		_, err = w.Publish(t.Context(), handoff.Draft{Path: "b.md", Channel: "design"})
		if at == "put" && !errors.Is(err, handoff.Unavailable) || at == "append" && err != nil {
			t.Errorf("%s: Publish = %v", at, err)
		}
		must(t, w.Close())
		if report, err := openDir(t, dir).Store().Check(t.Context()); err != nil || !report.OK() || stops != 1 {
			t.Errorf("%s: Check = %+v, %v", at, report.Findings, err)
		}
	}
}
