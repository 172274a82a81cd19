package filelog

import (
	"errors"
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
	old := time.Now().Add(-2 * staleAfter)
	for name, age := range map[string]time.Time{"record-old": old, "record-young": time.Now(), "another": old} {
		file := filepath.Join(tmp, name)
		if err := errors.Join(os.MkdirAll(tmp, 0o700), os.WriteFile(file, nil, 0o600), os.Chtimes(file, age, age)); err != nil {
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
