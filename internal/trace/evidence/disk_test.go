package evidence

import (
	"crypto/sha1"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestReadAgain checks that a file which was read is read again if its content may have
// changed since, and only then.
func TestReadAgain(t *testing.T) {
	for _, test := range []struct {
		name   string
		until  time.Duration
		change func(t *testing.T, root *os.Root)
		again  bool
	}{
		{"nothing", time.Hour, func(*testing.T, *os.Root) {}, false},
		{"the same size and time", time.Hour, func(t *testing.T, root *os.Root) {
			write(t, root, "two", long)
		}, true},
		{"another file", time.Hour, func(t *testing.T, root *os.Root) {
			if err := root.Remove("d/f"); err != nil {
				t.Fatal(err)
			}
			write(t, root, "two", long)
		}, true},
		{"a change that is too young to know", -time.Hour, func(*testing.T, *os.Root) {}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			root, err := os.OpenRoot(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			if err := root.Mkdir("d", 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, root, "one", long)
			until := time.Now().Add(test.until).UnixNano()
			first := disk{root: root, sum: sha1.New(), until: until, read: map[string]stamped{}}
			if got, err := first.entry(t.Context(), "d/f"); err != nil || got != oneBlob {
				t.Fatalf("got %q, %v", got, err)
			}
			first.close()
			for name, s := range first.read {
				s.entry = "as before"
				first.read[name] = s
			}
			test.change(t, root)
			second := disk{root: root, sum: sha1.New(), until: until, read: map[string]stamped{}, before: first.read}
			defer second.close()
			got, err := second.entry(t.Context(), "d/f")
			if err != nil || (got != "as before") != test.again {
				t.Errorf("got %q, %v, want it to be read again: %t", got, err, test.again)
			}
		})
	}
}

// TestNoDirectory checks that a file is missing whose directory is a pipe or a file.
func TestNoDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d := disk{root: root, sum: sha1.New(), read: map[string]stamped{}}
	defer d.close()
	for _, name := range []string{"file/f", "none/f", "pipe/f"} {
		if got, err := d.entry(t.Context(), name); got != deleted || err != nil {
			t.Errorf("%s is %q, %v, want it to be missing", name, got, err)
		}
	}
}

// oneBlob is the entry of a file with the content "one", as git hash-object prints it.
const oneBlob = "100644 43dd47ea691c90a5fa7827892c70241913351963"

func write(t *testing.T, root *os.Root, text string, modified time.Time) {
	t.Helper()
	if err := root.WriteFile("d/f", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := root.Chtimes("d/f", modified, modified); err != nil {
		t.Fatal(err)
	}
}
