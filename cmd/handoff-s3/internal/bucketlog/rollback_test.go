package bucketlog_test

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"

	"github.com/agent-handoff/handoff/cmd/handoff-s3/internal/bucketlog"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/johannesboyne/gofakes3"
)

// objects returns the content of every object of the store.
func (s *store) objects(t *testing.T) map[string]string {
	t.Helper()
	list, err := s.backend.ListBucket("bucket", nil, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, o := range list.Contents {
		found, err := s.backend.GetObject("bucket", o.Key, nil)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(found.Contents)
		if err != nil {
			t.Fatal(err)
		}
		all[o.Key] = string(content)
	}
	return all
}

// save returns a function that gives the store the objects that it has now.
func (s *store) save(t *testing.T) func() {
	saved := s.objects(t)
	return func() {
		for key := range s.objects(t) {
			if _, err := s.backend.DeleteObject("bucket", key); err != nil {
				t.Fatal(err)
			}
		}
		for key, content := range saved {
			if _, err := s.backend.PutObject("bucket", key, map[string]string{"Last-Modified": "Mon, 02 Jan 2006 15:04:05 GMT"},
				strings.NewReader(content), int64(len(content)), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestRollback sets the store back.
func TestRollback(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "k")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	s, homes := newStore(t), t.TempDir()
	dirs := map[string]string{}
	as := func(machine string, do func(w *workspace.Workspace) error) error {
		if dirs[machine] == "" {
			dirs[machine] = t.TempDir()
		}
		env := map[string]string{"HANDOFF_WORKSPACE": dirs[machine], "HANDOFF_LOG": "s3://bucket/team?poll=0s&endpoint=" +
			s.URL, "AWS_REGION": "us-east-1", "HOME": filepath.Join(homes, machine)}
		w, err := workspace.Open(dirs[machine],
			workspace.Options{Backends: []storage.Backend{bucketlog.Backend}, Getenv: func(name string) string {
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
		Save: func() func() { return s.save(t) },
	}.Run(t, 10)
}
