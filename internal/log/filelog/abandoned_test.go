package filelog

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAbandonedTemporaries leaves files of killed writers in log/tmp: the first
// write of a process removes those older than an hour, and nothing else.
func TestAbandonedTemporaries(t *testing.T) {
	dir := t.TempDir()
	if err := newSystemLog(dir).Create(); err != nil {
		t.Fatal(err)
	}
	tmp := filepath.Join(dir, filepath.FromSlash(tmpDir))
	old := time.Now().Add(-2 * time.Hour)
	for name, age := range map[string]time.Time{"record-old": old, "record-young": time.Now(), "another": old} {
		file := filepath.Join(tmp, name)
		if err := errors.Join(os.MkdirAll(tmp, 0o700), os.WriteFile(file, nil, 0o600),
			os.Chtimes(file, age, age)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := newSystemLog(dir).Bodies().Put(t.Context(), strings.NewReader("body")); err != nil {
		t.Fatal(err)
	}
	for name, kept := range map[string]bool{"record-old": false, "record-young": true, "another": true} {
		if _, err := os.Lstat(filepath.Join(tmp, name)); errors.Is(err, fs.ErrNotExist) == kept {
			t.Errorf("%s: %v, want kept %t", name, err, kept)
		}
	}
}

func newSystemLog(dir string) *Log { return Open(dir, strings.NewReader(strings.Repeat("r", 64))) }

// TestHeldTemporaries leaves the temporary file of a writer untouched for hours, as
// one whose input pauses does: neither a write nor a repair of others removes it.
func TestHeldTemporaries(t *testing.T) {
	dir := t.TempDir()
	if err := newSystemLog(dir).Create(); err != nil {
		t.Fatal(err)
	}
	input, feed := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := newSystemLog(dir).Bodies().Put(t.Context(), input)
		done <- err
	}()
	if _, err := feed.Write(make([]byte, 2<<20)); err != nil {
		t.Fatal(err)
	}
	tmp := filepath.Join(dir, filepath.FromSlash(tmpDir))
	entries, err := os.ReadDir(tmp)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d temporary files, %v", len(entries), err)
	}
	paused := filepath.Join(tmp, entries[0].Name())
	for { // until all of it is written
		if info, err := os.Lstat(paused); err != nil || info.Size() == 2<<20 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(paused, old, old); err != nil {
		t.Fatal(err)
	}
	other := newSystemLog(dir)
	if _, err := other.Bodies().Put(t.Context(), strings.NewReader("body")); err != nil {
		t.Fatal(err)
	}
	if err := other.Repair(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	feed.Close()
	if err := <-done; err != nil {
		t.Errorf("the write that paused: %v", err)
	}
}
