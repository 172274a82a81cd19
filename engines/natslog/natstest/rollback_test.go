//go:build linux

package natstest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/engines/natslog"
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
			workspace.Options{Backends: []workspace.Backend{natslog.Backend}, Getenv: func(name string) string {
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
				_, err := w.Publish(t.Context(), workspace.Publication{Body: strings.NewReader("x"), Filename: "a.md",
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
				_, err := w.Repair(t.Context(), time.Now())
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
