package filelog

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A clonedBody is a file that a store may clone.
type clonedBody struct {
	io.Reader
	f *os.File
}

func (b clonedBody) File() *os.File { return b.f }

// TestClone checks that a large file is kept without a second copy of its blocks
// on a file system that shares them, and copied from another file system.
func TestClone(t *testing.T) {
	const size = 24 << 20
	for _, kind := range []string{"mkfs.btrfs", "mkfs.xfs"} {
		t.Run(kind, func(t *testing.T) {
			dir := loopMount(t, kind)
			content := make([]byte, size)
			rand.Read(content)
			want := sha256.Sum256(content)
			for _, tt := range []struct {
				dir    string // of the file
				copied bool
			}{{dir, false}, {t.TempDir(), true}} {
				name := filepath.Join(tt.dir, "big")
				must(t, os.WriteFile(name, content, 0o600))
				store, err := os.MkdirTemp(dir, "store")
				must(t, err)
				bodies := Open(filepath.Join(store, ".handoff"), rand.Reader).Bodies()
				before := used(t, dir)
				f, err := os.Open(name)
				must(t, err)
				d, err := bodies.Put(t.Context(), clonedBody{f, f})
				must(t, err)
				f.Close()
				if got := used(t, dir) - before; got > size/2 != tt.copied {
					t.Errorf("keeping %d bytes used %d, copied %v", size, got, tt.copied)
				}
				if d.Value != hex.EncodeToString(want[:]) {
					t.Errorf("the digest is %s, want %x", d.Value, want)
				}
				must(t, os.WriteFile(name, []byte("other"), 0o600))
				kept, err := bodies.Open(t.Context(), d)
				must(t, err)
				kept.Close()
			}
		})
	}
}

// loopMount mounts a new file system.
func loopMount(t *testing.T, mkfs string) string {
	t.Helper()
	if _, err := exec.LookPath(mkfs); err != nil {
		t.Skipf("%s is not installed", mkfs)
	}
	device, dir := filepath.Join(t.TempDir(), "device"), t.TempDir()
	must(t, os.WriteFile(device, nil, 0o600))
	must(t, os.Truncate(device, 320<<20))
	if out, err := exec.Command(mkfs, "-q", "-f", device).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", mkfs, err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop", device, dir).CombinedOutput(); err != nil {
		t.Skipf("no loop devices, or no %s: %s", mkfs, strings.TrimSpace(string(out)))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// used returns the bytes that a file system uses.
func used(t *testing.T, dir string) int64 {
	t.Helper()
	d, err := os.Open(dir)
	must(t, err)
	defer d.Close()
	must(t, unix.Syncfs(int(d.Fd())))
	var s unix.Statfs_t
	must(t, unix.Statfs(dir, &s))
	return int64(s.Blocks-s.Bfree) * s.Bsize
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
