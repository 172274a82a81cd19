package keep

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/agent-handoff/handoff"
)

// FuzzExtract extracts archives that another machine may have written. Outside and
// inside the directory there is nothing but regular files, of the stated size.
func FuzzExtract(f *testing.F) {
	const most, files = 4 << 10, 4
	var plain bytes.Buffer
	tw := tar.NewWriter(&plain)
	for _, h := range []tar.Header{
		{Name: "sessions/a.jsonl", Size: 3, Typeflag: tar.TypeReg},
		{Name: "sessions/" + string(bytes.Repeat([]byte("b"), 200)), Size: 3, Typeflag: tar.TypeReg, Format: tar.FormatPAX},
		{Name: "link", Linkname: "sessions", Typeflag: tar.TypeSymlink},
	} {
		if err := tw.WriteHeader(&h); err != nil {
			f.Fatal(err)
		}
		if h.Size > 0 {
			tw.Write([]byte("abc"))
		}
	}
	if err := tw.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(plain.Bytes())
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, archive []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "copy")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		_ = Extract(t.Context(), bytes.NewReader(enc.EncodeAll(archive, nil)),
			handoff.ThreadKept{Files: files, TranscriptBytes: most}, root)
		var size int64
		n := 0
		err = filepath.WalkDir(parent, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			if n++; !info.Mode().IsRegular() || filepath.Dir(path) == parent {
				t.Errorf("extracted %s, %v", path, info.Mode())
			}
			size += info.Size()
			return nil
		})
		if err != nil || size > most || n > files {
			t.Errorf("%d files of %d bytes, %v, want at most %d of %d", n, size, err, files, most)
		}
	})
}
