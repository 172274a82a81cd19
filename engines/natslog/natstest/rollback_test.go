//go:build linux

package natstest

import (
	"crypto/rand"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/engines/natslog"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/nats-io/nats-server/v2/server"
)

// TestRollback sets the directory of a server back, as a loss of power before it wrote to
// its disk does.
func TestRollback(t *testing.T) {
	store, homes, dirs := filepath.Join(t.TempDir(), "store"), t.TempDir(), map[string]string{}
	port := server.RANDOM_PORT
	run := func() (s *server.Server, at string) {
		s = start(t, func(o *server.Options) { o.StoreDir, o.Port = store, port })
		at = address(t, s)
		return s, at
	}
	s, at := run()
	port = s.Addr().(*net.TCPAddr).Port
	stop := func() {
		s.Shutdown()
		s.WaitForShutdown()
	}
	as := func(machine string, do func(w *workspace.Workspace) error) error {
		if dirs[machine] == "" {
			dirs[machine] = t.TempDir()
		}
		env := map[string]string{"HANDOFF_WORKSPACE": dirs[machine], "HANDOFF_LOG": "nats://" + at + "/team",
			"HOME": filepath.Join(homes, machine)}
		w, err := workspace.Open(dirs[machine],
			workspace.Options{Backends: []storage.Backend{natslog.Backend}, Getenv: func(name string) string {
				return env[name]
			}})
		if err != nil {
			return err
		}
		return errors.Join(do(w), w.Close())
	}
	logtest.Rollback{
		Publish: func(machine string) error {
			return as(machine, func(w *workspace.Workspace) error {
				_, err := w.Publish(t.Context(), handoff.Draft{Body: strings.NewReader("x"), Filename: "a.md",
					Channel: "design", Title: machine})
				return err
			})
		},
		List: func(machine string) error {
			return as(machine, func(w *workspace.Workspace) error {
				_, err := w.List(t.Context(), workspace.ListOptions{})
				return err
			})
		},
		Accept: func(machine string) error {
			return as(machine, func(w *workspace.Workspace) error {
				_, err := w.Store().Repair(t.Context(), time.Now())
				return err
			})
		},
		Save: func() func() {
			saved := filepath.Join(t.TempDir(), "saved")
			stop()
			if err := os.CopyFS(saved, os.DirFS(store)); err != nil {
				t.Fatal(err)
			}
			s, _ = run()
			return func() {
				stop()
				if err := errors.Join(os.RemoveAll(store), os.CopyFS(store, os.DirFS(saved))); err != nil {
					t.Fatal(err)
				}
				s, _ = run()
			}
		},
	}.Run(t, 6)
}

// TestRollbackWhileOpen sets the server back below a process that keeps its log open.
func TestRollbackWhileOpen(t *testing.T) {
	store, saved := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "saved")
	port := server.RANDOM_PORT
	run := func() *server.Server {
		return start(t, func(o *server.Options) { o.StoreDir, o.Port = store, port })
	}
	s := run()
	port = s.Addr().(*net.TCPAddr).Port
	l := natslog.Open(natslog.Options{Servers: []string{"nats://" + address(t, s)}, Name: "team", Runtime: t.TempDir(),
		Rand: rand.Reader, Timeout: 3 * time.Second})
	defer l.Close()
	stop := func() {
		s.Shutdown()
		s.WaitForShutdown()
	}
	logtest.Append(t, l, "a.md")
	stop()
	if err := os.CopyFS(saved, os.DirFS(store)); err != nil {
		t.Fatal(err)
	}
	s = run()
	logtest.Append(t, l, "b.md")
	stop()
	if err := errors.Join(os.RemoveAll(store), os.CopyFS(store, os.DirFS(saved))); err != nil {
		t.Fatal(err)
	}
	s = run()
	if _, err := l.Newest(t.Context()); !errors.Is(err, handoff.Corrupt) {
		t.Errorf("Newest = %v, want kind Corrupt", err)
	}
	for _, err := range l.Read(t.Context(), 0) {
		if !errors.Is(err, handoff.Corrupt) {
			t.Errorf("Read = %v, want kind Corrupt", err)
		}
	}
}
