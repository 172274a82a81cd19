package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/thread"
)

// A remoteLog is a log on another machine whose server can be away, and which answers
// from what it last heard of its server until it is refreshed.
type remoteLog struct {
	handoff.Log
	handoff.Identifier

	mu    sync.Mutex
	away  bool
	asked int
	seen  handoff.Seq // -1 before the server was asked
}

func (l *remoteLog) answer() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked++; l.away {
		return handoff.E("read log", "", handoff.Unavailable, errors.New("connection refused"), handoff.Advice("try again"))
	}
	return nil
}

func (l *remoteLog) set(away bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = away
}

func (l *remoteLog) requests() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

func (l *remoteLog) Refresh() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = -1
}

func (l *remoteLog) ID(ctx context.Context) (string, error) {
	if err := l.answer(); err != nil {
		return "", err
	}
	if l.newest(ctx) == 0 { // no record, no log
		return "", nil
	}
	return l.Identifier.ID(ctx)
}

// newest returns the newest record that the log has heard of.
func (l *remoteLog) newest(ctx context.Context) handoff.Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen < 0 {
		l.seen = 0
		for r := range l.Log.Read(ctx, 0) {
			l.seen = r.Seq
		}
	}
	return l.seen
}

func (l *remoteLog) Read(ctx context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(yield func(handoff.Record, error) bool) {
		if err := l.answer(); err != nil {
			yield(handoff.Record{}, err)
			return
		}
		end := l.newest(ctx)
		for r, err := range l.Log.Read(ctx, after) {
			if err == nil && r.Seq > end || !yield(r, err) {
				return
			}
		}
	}
}

func (l *remoteLog) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
	if err := l.answer(); err != nil {
		return 0, err
	}
	seq, err := l.Log.Append(ctx, r)
	l.Refresh()
	return seq, err
}

func (l *remoteLog) Wait(ctx context.Context, after handoff.Seq) error {
	for {
		if err := l.answer(); err != nil {
			return err
		}
		l.Refresh()
		if l.newest(ctx) > after {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// openRemote opens a workspace as a process of a machine whose home is given, over a log
// that is stored in a directory, and returns the process's connection.
func openRemote(t *testing.T, dir, home, server string) (*Workspace, *remoteLog) {
	t.Helper()
	stored := filelog.Open(server, rand.Reader)
	log := &remoteLog{Log: stored, Identifier: stored, seen: -1}
	o := optionsFor(dir, "HOME", home, "HANDOFF_LOG", "far://host/team")
	o.Backends = []storage.Backend{{Scheme: "far", Remote: true, Open: func(storage.BackendOptions) (handoff.Log,
		handoff.Bodies, error) {
		return log, stored.Bodies(), nil
	}}}
	w, err := Open(dir, o)
	must(t, err)
	t.Cleanup(func() { w.Close() })
	return w, log
}

func publishOne(t *testing.T, w *Workspace, title string) string {
	t.Helper()
	p, err := w.Publish(t.Context(), handoff.Draft{Body: strings.NewReader(title), Filename: "a.md", Channel: "design",
		Title: title, Keep: handoff.KeepAlways})
	must(t, err)
	return p.ID
}

// TestStaleAnswer has a process whose log answers from before another process of the
// machine appended and indexed a record: nothing was lost.
func TestStaleAnswer(t *testing.T) {
	for name, home := range map[string]string{"remembered": t.TempDir(), "index only": ""} {
		dir, server := testWorkspace(t), t.TempDir()
		other, _ := openRemote(t, dir, home, server)
		publishOne(t, other, "first")
		for _, prepare := range []func(*Workspace, *remoteLog){
			func(_ *Workspace, l *remoteLog) { l.newest(t.Context()) }, // before the index is opened
			func(w *Workspace, _ *remoteLog) {
				_, err := w.c.Anonymous.Newest(t.Context())
				must(t, err)
			},
		} {
			w, log := openRemote(t, dir, home, server)
			prepare(w, log)
			publishOne(t, other, "second")
			if _, err := w.List(t.Context(), ListOptions{}); err != nil {
				t.Errorf("%s: List = %v", name, err)
			}
			publishOne(t, w, "third")
		}
	}
}

// TestStaleAbsence has a process whose log answers from before another process of the
// machine created it: nothing was lost.
func TestStaleAbsence(t *testing.T) {
	for name, home := range map[string]string{"remembered": t.TempDir(), "index only": ""} {
		dir, server := testWorkspace(t), t.TempDir()
		w, log := openRemote(t, dir, home, server)
		if n := log.newest(t.Context()); n != 0 {
			t.Fatalf("%s: the log has %d records, want none", name, n)
		}
		other, _ := openRemote(t, dir, home, server)
		publishOne(t, other, "first")
		if _, err := w.List(t.Context(), ListOptions{}); err != nil {
			t.Errorf("%s: List = %v", name, err)
		}
		publishOne(t, w, "second")
	}
}

// TestRememberedRequests holds that what a machine remembers is compared without a
// request to the server.
func TestRememberedRequests(t *testing.T) {
	count := func(home string) (list, publish int) {
		dir, server := testWorkspace(t), t.TempDir()
		w, _ := openRemote(t, dir, home, server)
		publishOne(t, w, "first")
		must(t, w.Close())
		w, log := openRemote(t, dir, home, server)
		_, err := w.List(t.Context(), ListOptions{})
		must(t, err)
		list = log.requests()
		must(t, w.Close())
		w, log = openRemote(t, dir, home, server)
		publishOne(t, w, "second")
		return list, log.requests()
	}
	list, publish := count("")
	if l, p := count(t.TempDir()); l > list || p > publish {
		t.Errorf("with a state directory, list sends %d requests and publish %d, want at most %d and %d", l, p, list, publish)
	}
}

// TestOutage takes the server away under a watch and a wait, which go on when it is
// back, and miss nothing.
func TestOutage(t *testing.T) {
	server := t.TempDir()
	writer, _ := openRemote(t, testWorkspace(t), t.TempDir(), server)
	publishOne(t, writer, "before")
	for name, first := range map[string]func(context.Context, *Workspace) (string, error){
		"watch": func(ctx context.Context, w *Workspace) (string, error) {
			for a, err := range w.Watch(ctx, WatchOptions{}) {
				return a.ID, err
			}
			return "", ctx.Err()
		},
		"facts": func(ctx context.Context, w *Workspace) (string, error) {
			for r, err := range w.Store().Facts(ctx, "now") {
				return r.ID, err
			}
			return "", ctx.Err()
		},
		"wait": func(ctx context.Context, w *Workspace) (string, error) {
			a, err := w.Wait(ctx, WatchOptions{After: "now"})
			return a.ID, err
		},
	} {
		w, log := openRemote(t, testWorkspace(t), t.TempDir(), server)
		type seen struct {
			id  string
			err error
		}
		got := make(chan seen, 1)
		go func() {
			id, err := first(t.Context(), w)
			got <- seen{id, err}
		}()
		waits := func(n int) {
			for start := log.requests(); log.requests() < start+n; {
				time.Sleep(time.Millisecond)
			}
		}
		waits(6) // the watch has started
		log.set(true)
		waits(2) // and was refused
		want := publishOne(t, writer, name)
		log.set(false)
		if s := <-got; s.err != nil || s.id != want {
			t.Errorf("%s after an outage = %q, %v, want %s", name, s.id, s.err, want)
		}
	}
}

// TestServerSetBack holds that a machine that knows records notices that the server has
// other ones, or another log.
func TestServerSetBack(t *testing.T) {
	server, homes, dirs := filepath.Join(t.TempDir(), "server"), t.TempDir(), map[string]string{}
	as := func(machine string, do func(w *Workspace) error) error {
		if dirs[machine] == "" {
			dirs[machine] = testWorkspace(t)
		}
		w, _ := openRemote(t, dirs[machine], filepath.Join(homes, machine), server)
		return errors.Join(do(w), w.Close())
	}
	list := func(machine string) error {
		return as(machine, func(w *Workspace) error {
			_, err := w.List(t.Context(), ListOptions{})
			return err
		})
	}
	logtest.Rollback{
		Publish: func(machine string) error {
			return as(machine, func(w *Workspace) error {
				_, err := w.Publish(t.Context(), handoff.Draft{Body: strings.NewReader("x"), Filename: "a.md", Channel: "design",
					Title: machine})
				return err
			})
		},
		List: list,
		Accept: func(machine string) error {
			return as(machine, func(w *Workspace) error {
				_, err := w.Store().Repair(t.Context(), time.Now())
				return err
			})
		},
		Save: func() func() { return setBack(t, server) },
	}.Run(t, 6)
	must(t, os.RemoveAll(server))
	for _, m := range []string{"one", "two"} {
		if err := list(m); !errors.Is(err, handoff.Corrupt) {
			t.Errorf("without a log: %v, want kind Corrupt", err)
		}
	}
	must(t, as("new", func(w *Workspace) error { publishOne(t, w, "first"); return nil }))
	for _, m := range []string{"one", "two"} {
		if err := list(m); !errors.Is(err, handoff.Corrupt) {
			t.Errorf("another log in its place: %v, want kind Corrupt", err)
		}
	}
}

// TestNeedsOutage takes the server away under a watch of what needs a person, which goes on
// when it is back.
func TestNeedsOutage(t *testing.T) {
	server := t.TempDir()
	writer, _ := openRemote(t, testWorkspace(t), t.TempDir(), server)
	publishOne(t, writer, "before")
	w, log := openRemote(t, testWorkspace(t), t.TempDir(), server)
	type seen struct {
		ref string
		err error
	}
	got := make(chan seen, 1)
	go func() {
		set := thread.NewSet(nil, func(string) string { return "" }, "")
		for n, err := range w.News(set).WatchNeeds(t.Context(), time.Millisecond) {
			got <- seen{n.Ref, err}
			return
		}
	}()
	waits := func(n int) {
		for start := log.requests(); log.requests() < start+n && len(got) == 0; {
			time.Sleep(time.Millisecond)
		}
	}
	waits(30) // it has looked at what was there before
	log.set(true)
	waits(2) // and was refused
	opened, err := writer.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "ada"},
		Workflow: handoff.SessionWorkflow{Name: "x"}})
	must(t, err)
	_, err = writer.Sessions().Close(t.Context(), opened.ID, session.Failed, "no disk")
	must(t, err)
	log.Refresh() // as a log on another machine does after its poll
	log.set(false)
	if s := <-got; s.err != nil || s.ref != opened.ID {
		t.Errorf("got %q, %v after an outage, want %s", s.ref, s.err, opened.ID)
	}
}
