package local_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/local"
)

const processes, each = 64, 50

// TestMain is also the main function of the processes that publish.
func TestMain(m *testing.M) {
	dir := os.Getenv("PUBLISH_IN")
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := publish(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// publish publishes a file again and again, once its standard input ends, and
// prints the ids.
func publish(dir string) error {
	w, err := local.Open(dir, local.Options{})
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := os.Stdin.Read(make([]byte, 1)); err == nil {
		return errors.New("standard input is to end, and to say nothing")
	}
	for range each {
		p, err := w.Publish(context.Background(), handoff.Draft{Channel: "patch", Path: "a.md"})
		if err != nil {
			return err
		}
		if len(p.Warnings) > 0 {
			return fmt.Errorf("%s: %q", p.ID, p.Warnings)
		}
		fmt.Println(p.ID)
	}
	return nil
}

// TestManyProcesses has many processes publish in one workspace at once: each
// publish is one whole record of its own, and none is refused.
func TestManyProcesses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	start, begin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var children []*exec.Cmd
	for range processes {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "PUBLISH_IN="+dir)
		c.Stdin, c.Stdout, c.Stderr = start, new(bytes.Buffer), os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, c)
	}
	start.Close()
	begin.Close()
	var told []string
	for i, c := range children {
		if err := c.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
		ids := strings.Fields(c.Stdout.(*bytes.Buffer).String())
		if len(ids) != each {
			t.Errorf("process %d published %d times, want %d", i, len(ids), each)
		}
		told = append(told, ids...)
	}

	w, err := local.Open(dir, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var stored []string
	for r, err := range w.Log.Read(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, whole := r.Fact.(*handoff.ArtifactPublished); !whole {
			t.Errorf("record %d is %s, want an artifact", r.Seq, r.Type)
		}
		stored = append(stored, r.ID)
	}
	slices.Sort(told)
	slices.Sort(stored)
	if got := len(slices.Compact(slices.Clone(stored))); got != processes*each {
		t.Errorf("%d distinct records, want %d", got, processes*each)
	}
	if !slices.Equal(told, stored) {
		t.Error("the records are not those that the publishers were told of")
	}
	report, err := w.Log.Check(t.Context())
	if err != nil || len(report.Findings) > 0 {
		t.Errorf("check finds %v, %v", report.Findings, err)
	}
	noStrangers(t, w.Runtime)
}

// noStrangers holds that there is nothing but records below a runtime
// directory: no lock, no temporary.
func noStrangers(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		if err == nil && !d.IsDir() && filepath.Ext(name) != ".json" && rel != filepath.Join("log", "ID") && rel != ".gitignore" {
			t.Errorf("%s was left behind", rel)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
