package localstate

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff"
)

func TestCheckTrust(t *testing.T) {
	newDir := func() string {
		dir := filepath.Join(t.TempDir(), ".handoff")
		if err := os.MkdirAll(filepath.Join(dir, "log"), 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	linked := func() string {
		link := newDir() + "-link"
		if err := os.Symlink(newDir(), link); err != nil {
			t.Fatal(err)
		}
		return link
	}
	for _, tt := range []struct {
		name  string
		dir   string
		named bool
		kind  error
	}{
		{"ordinary", newDir(), false, nil},
		{"missing", filepath.Join(t.TempDir(), "nothing"), false, nil},
		{"link", linked(), false, handoff.Unavailable},
		{"link that the user named", linked(), true, nil},
		{"file", "/etc/hostname", true, handoff.Unavailable},
	} {
		var e *handoff.Error
		if _, err := checkTrust(tt.dir, tt.named); !errors.Is(err, tt.kind) || err != nil &&
			(!errors.As(err, &e) || e.Hint.IsZero()) {
			t.Errorf("%s: checkTrust = %v, want kind %v", tt.name, err, tt.kind)
		}
	}
	// A process that was killed while it created the log leaves a second name.
	killed := newDir()
	id := filepath.Join(killed, "log", "ID")
	if err := errors.Join(NewDir(killed, nil).Create(t.Context()), os.Mkdir(filepath.Join(killed, "log", "tmp"), 0o700),
		os.WriteFile(id, []byte(someID+"\n"), 0o400),
		os.Link(id, filepath.Join(killed, "log", "tmp", "record-1"))); err != nil {
		t.Fatal(err)
	}
	if _, err := checkTrust(killed, false); err != nil {
		t.Errorf("a log ID with two names: checkTrust = %v", err)
	}
	for _, name := range append(append([]string{}, runtimeDirs...), runtimeFiles...) {
		dir := newDir()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.RemoveAll(file), os.MkdirAll(filepath.Dir(file), 0o700),
			os.Symlink("/etc", file)); err != nil {
			t.Fatal(err)
		}
		if _, err := checkTrust(dir, true); !errors.Is(err, handoff.Corrupt) {
			t.Errorf("%s is a link: checkTrust = %v, want kind corrupt", name, err)
		}
	}
}

// TestCheckTrustOwner gives the directory to others, which only root can.
func TestCheckTrustOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory to another user")
	}
	dir := filepath.Join(t.TempDir(), ".handoff")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 12345, 12345)); err != nil {
		t.Fatal(err)
	}
	if warnings, err := checkTrust(dir, false); err != nil || len(warnings) != 1 {
		t.Errorf("root, a directory of another user: %q, %v, want one warning", warnings, err)
	}
	if warnings, err := checkTrust(dir, true); err != nil || len(warnings) != 0 {
		t.Errorf("root, a named directory of another user: %q, %v, want no warning", warnings, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if ownedBy(info, os.Geteuid()) || groupMayWrite(info) {
		t.Error("the directory of another user and group counts as the caller's")
	}
	if err := errors.Join(os.Chown(dir, 12345, os.Getegid()), os.Chmod(dir, 0o770)); err != nil {
		t.Fatal(err)
	}
	if info, err = os.Stat(dir); err != nil || !groupMayWrite(info) {
		t.Errorf("a directory that the caller's group may write: groupMayWrite = false, %v", err)
	}
}
