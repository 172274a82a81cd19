package handoff_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// A writerContext is a context that appends to a file each time Err is called, up
// to the given number of times: a concurrent writer.
type writerContext struct {
	context.Context
	file  string
	times *int
}

func (c writerContext) Err() error {
	if *c.times > 0 {
		*c.times--
		f, err := os.OpenFile(c.file, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		f.WriteString("more\n")
		f.Close()
	}
	return c.Context.Err()
}

func TestPublishWhileWritten(t *testing.T) {
	publish := func(times int) (handoff.Published, *workspace.Workspace, error) {
		dir := t.TempDir()
		file := filepath.Join(dir, "a.md")
		if err := errors.Join(os.Mkdir(filepath.Join(dir, ".git"), 0o755),
			os.WriteFile(file, make([]byte, 100<<10), 0o644)); err != nil {
			t.Fatal(err)
		}
		w, err := workspace.Open(dir, workspace.Options{Now: func() time.Time { return when }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		p, err := w.Publish(writerContext{t.Context(), file, &times}, handoff.Draft{Channel: "design", Path: "a.md"})
		return p, w, err
	}
	// If the file changes once, it is read again.
	p, _, err := publish(1)
	if err != nil || *p.SizeBytes != 100<<10+5 {
		t.Errorf("a publish of a file that changed once = %v, %v, want its new size", p.SizeBytes, err)
	}
	// If it keeps changing, it is refused, and nothing is left behind.
	_, w, err := publish(1000)
	var e *handoff.Error
	if !errors.As(err, &e) || e.Kind != handoff.Conflict || e.Hint.IsZero() {
		t.Errorf("a publish of a file that keeps changing = %v, want kind Conflict with a hint", err)
	}
	if _, err := os.Stat(w.Store().Runtime()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused publish left %s behind", w.Store().Runtime())
	}
}
