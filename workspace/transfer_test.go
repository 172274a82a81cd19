package workspace_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

const exportedID = "a0000001-0000-4000-8000-000000000000"

// exported returns a session with a run and several outputs, as a tar file.
func exported(t *testing.T) (file string, artifacts int) {
	t.Helper()
	dir := t.TempDir()
	w := openIn(t, dir)
	if _, err := w.Sessions().Open(t.Context(),
		session.OpenOptions{ID: exportedID, Agent: handoff.SessionAgent{Name: "alex"},
			Workflow: handoff.SessionWorkflow{Name: "intake"}}); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		name := filepath.Join(dir, "docs", "agent-outputs", exportedID, fmt.Sprintf("out%d.md", i))
		writeFile(t, name, fmt.Sprintf("output %d\n", i))
		if _, err := w.Sessions().AddOutput(t.Context(), exportedID,
			sessions.Output{File: name, Type: "document"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Sessions().Close(t.Context(), exportedID, session.Completed, ""); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "session.tar")
	if _, err := w.Sessions().Export(t.Context(), exportedID, file); err != nil {
		t.Fatal(err)
	}
	return file, 4
}

type tarEntry struct {
	tar.Header
	body []byte
}

func readTar(t *testing.T, file string) (list []tarEntry) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, tarEntry{tar.Header{Name: h.Name, Typeflag: h.Typeflag, Mode: h.Mode, Size: h.Size}, body})
	}
}

func writeTar(t *testing.T, list []tarEntry) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range list {
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.body); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close() // fails for an entry without its content
	file := filepath.Join(t.TempDir(), "hostile.tar")
	if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestImportHostile checks that each file that no export writes is refused with an
// error that names the reason, and that nothing is written.
func TestImportHostile(t *testing.T) {
	file, _ := exported(t)
	valid := readTar(t, file)
	with := func(h tar.Header, body string) []tarEntry {
		h.Size = int64(len(body))
		return append(slices.Clone(valid), tarEntry{h, []byte(body)})
	}
	edit := func(name, old, new string) []tarEntry {
		list := slices.Clone(valid)
		for i, e := range list {
			if strings.HasPrefix(e.Name, name) {
				list[i].body = bytes.ReplaceAll(e.body, []byte(old), []byte(new))
				list[i].Size = int64(len(list[i].body))
			}
		}
		return list
	}
	many := slices.Clone(valid)
	for i := range 100_001 {
		many = append(many, tarEntry{tar.Header{Name: fmt.Sprintf("files/d%d/", i), Typeflag: tar.TypeDir}, nil})
	}
	bomb := append(slices.Clone(valid), tarEntry{tar.Header{Name: "files/bomb", Typeflag: tar.TypeReg, Size: 1 << 40},
		nil})
	const other = "b0000001-0000-4000-8000-000000000000"
	for _, tt := range []struct {
		name, want string
		list       []tarEntry
	}{
		{"dots", `"files/../../x" has a name that leaves the archive`,
			with(tar.Header{Name: "files/../../x", Typeflag: tar.TypeReg}, "x")},
		{"absolute", `"/tmp/x" has an absolute name`, with(tar.Header{Name: "/tmp/x", Typeflag: tar.TypeReg}, "x")},
		{"symlink", `"files/l" is a link`, with(tar.Header{Name: "files/l", Typeflag: tar.TypeSymlink, Linkname: "/etc"},
			"")},
		{"hard link", `"files/l" is a link`,
			with(tar.Header{Name: "files/l", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}, "")},
		{"device", `"files/d" is a device`,
			with(tar.Header{Name: "files/d", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 5}, "")},
		{"pipe", `"files/p" is a device or another special file`,
			with(tar.Header{Name: "files/p", Typeflag: tar.TypeFifo}, "")},
		{"other entry", `"evil" is not an entry of an exported session`,
			with(tar.Header{Name: "evil", Typeflag: tar.TypeReg}, "x")},
		{"no checksum", `"files/x" has no checksum`, with(tar.Header{Name: "files/x", Typeflag: tar.TypeReg}, "x")},
		{"twice", "is in the file twice", append(slices.Clone(valid), valid[len(valid)-1])},
		{"many entries", "more than 100000 entries", many},
		{"bomb", `"files/bomb" is larger than the file that contains it`, bomb},
		{"wrong checksum", "does not match its checksum", edit("files/out1", "output", "outrut")},
		{"wrong body", "does not match its checksum", edit("bodies/", "output", "outrut")},
		{"missing entry", "is missing", slices.Clone(valid[:len(valid)-1])},
		{"manifest of another session", "the records are those of session", edit("manifest.json", exportedID, other)},
		{"folder elsewhere", "name different folders",
			edit("manifest.json", "docs/agent-outputs/"+exportedID, ".github/workflows")},
		{"no manifest", "found \"checksums.txt\" in place of manifest.json", slices.Clone(valid[1:])},
		{"future version", "version 9 of the format is not known", edit("manifest.json", `"version":1`, `"version":9`)},
		{"empty", "manifest.json is missing", nil},
	} {
		dir := t.TempDir()
		w := openIn(t, dir)
		_, err := w.Sessions().Import(t.Context(), writeTar(t, tt.list))
		if !errors.Is(err, handoff.Invalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want %q", tt.name, err, tt.want)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
			t.Errorf("%s: the import left %v, %v", tt.name, list, err)
		}
	}
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	if _, err := z.Write([]byte("x")); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "x.tgz")
	writeFile(t, name, compressed.String())
	if _, err := openIn(t, t.TempDir()).Sessions().Import(t.Context(), name); !errors.Is(err, handoff.Invalid) {
		t.Errorf("a compressed file: %v, want Invalid", err)
	}
}

// A countdown is a context that ends when it was asked for its error n times.
type countdown struct {
	context.Context
	n atomic.Int64
}

func (c *countdown) Err() error {
	if c.n.Add(-1) < 0 {
		return context.Canceled
	}
	return c.Context.Err()
}

// TestImportInterrupted ends an import at many points. Nothing of the session may be
// visible then, or all of it; repeating the import completes it.
func TestImportInterrupted(t *testing.T) {
	file, artifacts := exported(t)
	whole := t.TempDir()
	if _, err := openIn(t, whole).Sessions().Import(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	records := countFacts(t, whole)
	interrupted, finished := 0, false
	for n := int64(1); !finished; n += 7 {
		dir := t.TempDir()
		w := openIn(t, dir)
		ctx := &countdown{Context: t.Context()}
		ctx.n.Store(n)
		_, err := w.Sessions().Import(ctx, file)
		finished = err == nil
		w = openIn(t, dir)
		page, listErr := w.List(t.Context(), workspace.ListOptions{})
		if listErr != nil {
			t.Fatal(listErr)
		}
		_, sessionErr := w.Hub().Session(t.Context(), exportedID)
		if got := len(page.Artifacts); sessionErr == nil && got != artifacts || sessionErr != nil && got != 0 {
			t.Fatalf("ended after %d checks (%v): session %v, %d artifacts", n, err, sessionErr, got)
		}
		if sessionErr != nil {
			interrupted++
			if _, err := w.Sessions().Import(t.Context(), file); err != nil {
				t.Fatalf("ended after %d checks, repeated: %v", n, err)
			}
		}
		if got := countFacts(t, dir); got != records {
			t.Errorf("ended after %d checks, repeated: the log has %d records, want %d", n, got, records)
		}
		report, err := w.Store().Check(t.Context())
		if err != nil || !report.OK() {
			t.Fatalf("ended after %d checks: check: %+v, %v", n, report, err)
		}
		page, err = w.List(t.Context(), workspace.ListOptions{})
		if err != nil || len(page.Artifacts) != artifacts {
			t.Fatalf("ended after %d checks, repeated: %d artifacts, %v", n, len(page.Artifacts), err)
		}
		for _, a := range page.Artifacts {
			if a.Target != handoff.Available && a.Target != handoff.Unknown {
				t.Errorf("ended after %d checks, repeated: %s is %s", n, a.Path, a.Target)
			}
		}
		err = filepath.WalkDir(filepath.Join(dir, "docs"), func(name string, d fs.DirEntry, err error) error {
			if strings.Contains(name, ".import-") {
				t.Errorf("ended after %d checks, repeated: %s is left", n, name)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if interrupted < 5 {
		t.Errorf("%d imports were interrupted, want several", interrupted)
	}
}
