package localstate

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-handoff/handoff"
)

// fill creates files below a directory. A name that ends with a slash is a directory,
// one that starts with | a pipe.
func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		pipe := strings.HasPrefix(name, "|")
		file := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(name, "|")))
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		switch {
		case err != nil:
		case pipe:
			err = syscall.Mkfifo(file, 0o644)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(file, 0o755)
		default:
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

const someID = "0123456789abcdef0123456789abcdef"

var sqliteHeader = "SQLite format 3\x00" + strings.Repeat("\x00", 52)

// TestInspect decides which directories are handoff's, and writes to those that are.
func TestInspect(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		kind  error // nil for handoff's
	}{
		{"empty", nil, nil},
		{"settings", map[string]string{"config.yaml": "keep: always\n"}, nil},
		{"settings and .gitignore", map[string]string{"config.yaml": "", ".gitignore": "*\n"}, nil},
		{"killed during the first write", map[string]string{".gitignore": "*\n", ".handoff-1-2-x": "",
			"log/tmp/record-1": "x", "artifacts/records/": "", "bodies/sha256/": ""}, nil},
		{"what a reader of a log in git left",
			map[string]string{"config.yaml": "", "git/" + someID + "/HEAD": "", "queue/" + someID + "/state.json": "",
				"bucket/" + someID + ".json": ""}, nil},
		{"an index", map[string]string{"config.yaml": "", "index.db": sqliteHeader + "hdof", "index.db-wal": "",
			"index.lock": "1", "index.db.damaged": "", ".DS_Store": "", ".nfs0001": ""}, nil},
		{"an index that can't be created", map[string]string{"index.lock/": ""}, nil},

		{"a log without a marker", map[string]string{"log/ID": someID + "\n", "log/00000000/000000000001.json": "{}"},
			handoff.Invalid},
		{"an origin without a marker", map[string]string{"origin": someID}, handoff.Invalid},
		{"pipelines", map[string]string{"pipelines/a.yaml": ""}, handoff.Invalid},
		{"an own .gitignore", map[string]string{".gitignore": "*\n!config.yaml\n"}, handoff.Invalid},
		{"notes", map[string]string{"README.md": "notes"}, handoff.Invalid},
		{"a clone", map[string]string{".git/HEAD": "ref: refs/heads/main", "README.md": "", "skills/x.md": ""},
			handoff.Invalid},
		{"a clone without work tree", map[string]string{".git/HEAD": "ref: refs/heads/main"}, handoff.Invalid},
		{"logs of another program", map[string]string{"log/2026-01-01.md": "n", ".gitignore": ".handoff-runtime/\n"},
			handoff.Invalid},
		{"only logs of another program", map[string]string{"log/2026-01-01.md": "n"}, handoff.Invalid},
		{"a folder for each task", map[string]string{"0193-fix/HANDOFF.md": "n"}, handoff.Invalid},
		{"another index.db", map[string]string{"index.db": sqliteHeader + "\x00\x00\x00\x2a"}, handoff.Invalid},
		{"an index and a foreign file", map[string]string{"index.db": sqliteHeader + "hdof", "notes.md": ""},
			handoff.Invalid},
		{"git of another form", map[string]string{"git/HEAD": ""}, handoff.Invalid},
		{"a pipe", map[string]string{"|inbox": ""}, handoff.Invalid},
		{"a pipe with a known name", map[string]string{"|index.db": ""}, handoff.Invalid},
		{"another HANDOFF", map[string]string{"HANDOFF": "# What to do next\n"}, handoff.Invalid},
		{"a HANDOFF without number", map[string]string{"HANDOFF": markerLine + "\nformat\n"}, handoff.Invalid},
		{"a pipe as marker", map[string]string{"|HANDOFF": ""}, handoff.Corrupt},
		{"a directory as marker", map[string]string{"HANDOFF/": ""}, handoff.Corrupt},
	} {
		dir := filepath.Join(t.TempDir(), ".handoff")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		fill(t, dir, tt.files)
		s, err := inspect(dir)
		if !errors.Is(err, tt.kind) {
			t.Errorf("%s: inspect = %+v, %v, want kind %v", tt.name, s, err, tt.kind)
		}
		var e *handoff.Error
		if err != nil && (!errors.As(err, &e) || e.Hint.IsZero() || !strings.HasPrefix(e.Name, dir)) {
			t.Errorf("%s: %v has no hint, or not the name of the directory", tt.name, err)
		}
		before := names(t, dir)
		err = NewDir(dir, rand.Reader).Create(t.Context())
		if !errors.Is(err, tt.kind) {
			t.Errorf("%s: Create = %v, want kind %v", tt.name, err, tt.kind)
		}
		if s, err := inspect(dir); tt.kind == nil && (err != nil || !s.marked) {
			t.Errorf("%s: after Create, inspect = %+v, %v, want a marker", tt.name, s, err)
		}
		after := names(t, dir)
		if tt.kind != nil && after != before {
			t.Errorf("%s: Create changed the directory:\n%s\nwas:\n%s", tt.name, after, before)
		}
		if tt.kind == nil && !strings.Contains(after, ".gitignore") {
			t.Errorf("%s: after Create, it has no .gitignore", tt.name)
		}
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		b.WriteString(name + " " + d.Type().String() + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestNewerFormat holds that a directory of a later version can be read, is not written
// to, and names the version that can.
func TestNewerFormat(t *testing.T) {
	for _, tt := range []struct{ marker, hint string }{
		{markerLine + "\nformat 2\nneeds 1.4.0\n", "install agent-handoff 1.4.0 or later"},
		{markerLine + "\nformat 3\nother line\nneeds 2.0.0-rc.1+x\n", "install agent-handoff 2.0.0-rc.1+x or later"},
		{markerLine + "\nformat 12\n", "install a newer agent-handoff"},
		{markerLine + "\nformat 2\nneeds 1; rm -rf ~\n", "install a newer agent-handoff"},
	} {
		dir := t.TempDir()
		fill(t, dir, map[string]string{MarkerName: tt.marker, "layout-two": ""})
		if warnings, err := checkTrust(dir, false); err != nil {
			t.Errorf("%q: checkTrust = %q, %v", tt.marker, warnings, err)
		}
		d := NewDir(dir, rand.Reader)
		for _, err := range []error{d.Create(t.Context()), d.Writable()} {
			var e *handoff.Error
			if !errors.Is(err, handoff.Unsupported) || !errors.As(err, &e) || e.Hint.Text != tt.hint {
				t.Errorf("%q: %v, want kind Unsupported and hint %q", tt.marker, err, tt.hint)
			}
		}
		if dirs := directories(dir, func(string) string { return "" })(someID); len(dirs) > 0 {
			t.Errorf("%q: the index is in %v", tt.marker, dirs)
		}
	}
}
