//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agent-handoff/handoff/workspace"
)

// A fileSystem is one that images are made of.
type fileSystem struct {
	name  string
	size  int64
	mkfs  []string
	fsck  []string // before the copy of an image is mounted
	mount string   // options
}

var fileSystems = []fileSystem{
	{"ext4", 64 << 20, []string{"mkfs.ext4", "-q", "-F", "-b", "4096"}, []string{"e2fsck", "-fy"}, "loop"},
	{"ext4 without a journal", 64 << 20, []string{"mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "^has_journal"},
		[]string{"e2fsck", "-fy"}, "loop"},
	{"ext2", 64 << 20, []string{"mkfs.ext2", "-q", "-F", "-b", "4096"}, []string{"e2fsck", "-fy"}, "loop"},
	{"xfs", 320 << 20, []string{"mkfs.xfs", "-q", "-f"}, nil, "loop,nouuid"},
	{"btrfs", 128 << 20, []string{"mkfs.btrfs", "-q", "-f"}, nil, "loop"},
}

// An image is the copy of a device, as a power loss would leave it.
type image struct {
	file  string
	acked []string // refs of what had been acknowledged
}

// TestCrashImages copies the device of a file system at each acknowledgement. In
// each copy, once the file system was checked and mounted, nothing acknowledged
// may be missing, and check must find no problem.
func TestCrashImages(t *testing.T) {
	if os.Getenv("HANDOFF_LONG") == "" {
		t.Skip("set HANDOFF_LONG to run it")
	}
	program := build(t)
	for _, kind := range fileSystems {
		t.Run(kind.name, func(t *testing.T) {
			for _, tool := range append([]string{"mount", "umount", "cp", "cmp", kind.mkfs[0]},
				kind.fsck[:min(1, len(kind.fsck))]...) {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skipf("%s is not installed", tool)
				}
			}
			d := device{T: t, kind: kind, program: program, file: filepath.Join(t.TempDir(), "device")}
			must(t, os.WriteFile(d.file, nil, 0o600))
			must(t, os.Truncate(d.file, kind.size))
			d.tool(append(kind.mkfs, d.file)...)
			images := d.work()
			for _, i := range images {
				d.check(i)
			}
			t.Logf("%d images, %d acknowledged", len(images), len(images[len(images)-1].acked))
		})
	}
}

// A device is the file of a file system on which the program works.
type device struct {
	*testing.T
	kind    fileSystem
	program string
	file    string
	mounted string
	acked   []string
}

func (d *device) tool(args ...string) {
	d.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		d.Fatalf("%q: %v: %s", args, err, out)
	}
}

// fsck repairs the file system of an image, in as many runs as it takes.
func (d *device) fsck(file string) {
	d.Helper()
	var exit *exec.ExitError
	for range 5 {
		out, err := exec.Command(d.kind.fsck[0], append(d.kind.fsck[1:], file)...).CombinedOutput()
		if err == nil {
			return
		}
		if !errors.As(err, &exit) || exit.ExitCode() > 4 { // up to 4 it found errors
			d.Fatalf("%s %s: %v: %s", d.kind.fsck[0], file, err, out)
		}
	}
	d.Fatalf("%s does not come to an end: %s", d.kind.fsck[0], file)
}

// mount mounts the file of a device.
func (d *device) mount(file string) (dir string, unmount func()) {
	d.Helper()
	dir = d.TempDir()
	if out, err := exec.Command("mount", "-o", d.kind.mount, file, dir).CombinedOutput(); err != nil {
		if os.Geteuid() != 0 || strings.Contains(string(out), "loop") {
			d.Skipf("no loop devices: %s", strings.TrimSpace(string(out)))
		}
		d.Fatalf("mount %s: %s", file, out)
	}
	unmount = sync.OnceFunc(func() { d.tool("umount", dir) })
	d.Cleanup(unmount)
	return dir, unmount
}

// run runs a command in the workspace and returns the ID that it prints.
func (d *device) run(content string, args ...string) string {
	cmd := exec.Command(d.program, args...)
	cmd.Dir, cmd.Env = filepath.Join(d.mounted, "ws"), []string{"HOME=" + filepath.Join(d.mounted, "home")}
	cmd.Stdin = strings.NewReader(content)
	out, err := cmd.Output()
	if err != nil {
		d.Errorf("%q: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// work runs commands on the device, and returns an image for each
// acknowledgement.
func (d *device) work() (images []image) {
	dir, unmount := d.mount(d.file)
	defer unmount()
	d.mounted = dir
	for _, name := range []string{"ws/.git", "home"} {
		must(d.T, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	acknowledged := func(ids ...string) {
		d.acked = append(d.acked, ids...)
		images = append(images, image{d.copy(len(images)), append([]string(nil), d.acked...)})
	}
	for i := range 6 {
		acknowledged(d.run(fmt.Sprint("content ", i), "publish", "-", "--channel", "design"))
		name := fmt.Sprintf("%d.md", i)
		must(d.T, os.WriteFile(filepath.Join(dir, "ws", name), []byte(name), 0o644))
		acknowledged(d.run("", "publish", name, "--channel", "design"))
		acknowledged(d.run(fmt.Sprint("revision ", i), "write", "context.md", "--run", fmt.Sprint("r", i/3)))
		ids := make([]string, 4)
		var wg sync.WaitGroup
		for j := range ids {
			wg.Go(func() { ids[j] = d.run(fmt.Sprint("one of four ", i, j), "publish", "-", "--channel", "patch") })
		}
		wg.Wait()
		acknowledged(ids...)
	}
	d.run("", "session", "open", "--agent", "alex", "--workflow", "intake", "--id", session)
	acknowledged(session)
	d.run(`{"affected_files":["a.go"],"steps":[{"order":1,"file":"a.go"}],"acceptance_mapping":{"AC1":"a_test.go"}}`,
		"pipeline", "put", "42", "plan", "-")
	acknowledged("42/plan.json")
	return images
}

// copy copies the device as it is at one time: what the system writes to it
// meanwhile is copied again.
func (d *device) copy(n int) string {
	file := fmt.Sprint(d.file, n)
	for range 100 {
		d.tool("cp", "--sparse=always", d.file, file)
		if exec.Command("cmp", "-s", d.file, file).Run() == nil {
			return file
		}
	}
	d.Fatal("the device does not come to rest")
	return ""
}

// check checks and mounts an image, and looks for everything that was
// acknowledged.
func (d *device) check(i image) {
	d.Helper()
	name := filepath.Base(i.file)
	if d.kind.fsck != nil {
		d.fsck(i.file)
	}
	dir, unmount := d.mount(i.file)
	defer os.Remove(i.file)
	defer unmount()
	w, err := workspace.Open(filepath.Join(dir, "ws"), workspace.Options{})
	must(d.T, err)
	defer w.Close()
	ctx := context.Background()
	for _, ref := range i.acked {
		if ref == session {
			if _, err := w.Hub().Session(ctx, ref); err != nil {
				d.Errorf("%s: session %s was acknowledged: %v", name, ref, err)
			}
			continue
		}
		b, err := w.Read(ctx, ref, workspace.ReadOptions{})
		if err != nil {
			d.Errorf("%s: %s was acknowledged: %v", name, ref, err)
			continue
		}
		if _, err := io.Copy(io.Discard, b); err != nil {
			d.Errorf("%s: read %s: %v", name, ref, err)
		}
		b.Close()
	}
	report, err := w.Store().Check(ctx)
	if err != nil || !report.OK() {
		d.Errorf("%s: check: %v, %+v", name, err, report.Findings)
	}
}
