package evidence

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff"
)

// A oneBody has one body, under every digest.
type oneBody struct{ *bytes.Reader }

func (b oneBody) Put(context.Context, io.Reader) (d handoff.Digest, err error) { return d, err }

func (b oneBody) Has(context.Context, handoff.Digest) (bool, error) { return true, nil }

func (b oneBody) Open(context.Context, handoff.Digest) (io.ReadSeekCloser, error) { return b, nil }

func (b oneBody) Close() error {
	_, err := b.Seek(0, io.SeekStart)
	return err
}

// TestClean checks which changes of tracked files a tree knows, in repositories of
// several forms.
func TestClean(t *testing.T) {
	inner := newRepository(t)
	for name, tt := range map[string]struct {
		change func(r repository)
		want   bool
	}{
		"as committed":     {func(repository) {}, true},
		"an untracked one": {func(r repository) { r.write("new.txt", "n") }, true},
		"touched":          {func(r repository) { r.must(os.Chtimes(r.path("sub/b.txt"), long, long)) }, true},
		"changed":          {func(r repository) { r.write("a.txt", "x") }, false},
		"staged":           {func(r repository) { r.write("a.txt", "x"); r.git("add", "a.txt") }, false},
		"staged, not here": {func(r repository) { r.write("a.txt", "x"); r.git("add", "a.txt"); r.write("a.txt", "a") },
			true},
		"deleted":          {func(r repository) { r.must(os.Remove(r.path("a.txt"))) }, false},
		"a new staged one": {func(r repository) { r.write("new.txt", "n"); r.git("add", "new.txt") }, false},
		"hidden": {func(r repository) {
			r.git("update-index", "--assume-unchanged", "a.txt")
			r.write("a.txt", "x")
		}, false},
		"executable": {func(r repository) { r.must(os.Chmod(r.path("a.txt"), 0o755)) }, false},
		"converted":  {func(r repository) { r.write(".gitattributes", "*.txt text eol=crlf\n"); r.commit() }, true},
		"a converted one changed": {func(r repository) {
			r.write(".gitattributes", "*.txt text eol=crlf\n")
			r.commit()
			r.write("a.txt", "x")
		}, false},
		"a submodule": {func(r repository) { r.git("submodule", "--quiet", "add", inner.dir, "module"); r.commit() }, true},
		"a changed submodule": {func(r repository) {
			r.git("submodule", "--quiet", "add", inner.dir, "module")
			r.commit()
			r.write("module/a.txt", "x")
		}, false},
		"a submodule at another commit": {func(r repository) {
			r.git("submodule", "--quiet", "add", inner.dir, "module")
			r.commit()
			r.write("module/a.txt", "x")
			repository{r.t, r.path("module")}.commit()
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			tt.change(r)
			if s := r.state(); s.Clean != tt.want {
				t.Errorf("got %t, want %t", s.Clean, tt.want)
			}
		})
	}
}

// TestCompare checks that the changes of a tree and its commit give its files again, and
// which differences a later tree has.
func TestCompare(t *testing.T) {
	r := newRepository(t)
	r.write("a.txt", "changed")
	r.must(os.Remove(r.path("sub/b.txt")))
	r.write("new\tname\n.txt", "n")
	before := r.state()
	bodies := oneBody{bytes.NewReader(before.changes())}
	before.Changes = "the list"
	r.write("report.md", "r")
	r.commit()
	r.write("a.txt", "again")
	now := r.state()
	files, err := now.filesOf(t.Context(), bodies, before.Tree, false)
	if err != nil || files.digest() != before.Digest {
		t.Fatalf("got the tree %s, %v, want %s", files.digest(), err, before.Digest)
	}
	names, more := named(compare(files, now.files))
	if want := []string{"changed a.txt", "added report.md"}; !slices.Equal(names, want) || more != 0 {
		t.Errorf("got %q and %d more, want %q", names, more, want)
	}
	if left := now.Without(t.Context(), "report.md"); slices.Contains(names, "report.md") || left.Digest == now.Digest {
		t.Error("the digest without a file is the same")
	}
	r.git("commit", "-q", "--amend", "-m", "other")
	before.Commit = "0000000000000000000000000000000000000001"
	if _, err := now.filesOf(t.Context(), bodies, before.Tree, false); err == nil {
		t.Error("got the files of a commit that is not there")
	}
}
