package handoff

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"
)

// DefaultDigestLimit is the size up to which a body that is not kept gets a
// digest.
const DefaultDigestLimit = 64 << 20

// managed is where the runtime directory holds bodies that have no other
// place, each below its artifact's id.
const managed = "artifacts/files"

// describe fills in what p says about the body at its path, and checks that it
// may be published.
func (h *Hub) describe(ctx context.Context, p *ArtifactPublished) error {
	where, err := h.locate(p.Path)
	if err != nil {
		return err
	}
	info, err := h.o.Files.Lstat(p.Path)
	if err != nil {
		return unreadable("publish", p.Path, err)
	}
	p.TargetType = "file"
	if info.Mode()&fs.ModeSymlink != 0 {
		p.TargetType = "symlink"
		if info, err = h.o.Files.Stat(where); err != nil {
			return unreadable("publish", p.Path, err)
		}
	}
	switch {
	case info.IsDir():
		if p.TargetType == "file" {
			p.TargetType = "directory"
		}
		p.Kind = cmp.Or(p.Kind, "directory")
		return nil
	case !info.Mode().IsRegular():
		return &Error{Op: "publish", Name: p.Path, Kind: Invalid, Err: errors.New("is neither a file nor a directory"),
			Hint: "handoff publish - takes a body from standard input"}
	}
	b, err := measure(ctx, h.o.Files, where, h.o.DigestLimit)
	if err != nil {
		return unreadable("publish", p.Path, err)
	}
	b.describe(p)
	return nil
}

// locate returns where a path leads once symbolic links are followed, which
// must lie below the workspace and outside the runtime directory.
func (h *Hub) locate(name string) (string, error) {
	refuse := func(reason, hint string) (string, error) {
		return "", &Error{Op: "publish", Name: name, Kind: Invalid, Err: errors.New(reason), Hint: hint}
	}
	const below = "write the file below the workspace first, or pass --workspace"
	switch {
	case strings.ContainsRune(name, 0) || !utf8.ValidString(name):
		return refuse("path is not text", "give the file a name in UTF-8")
	case name != path.Clean(name) || !filepath.IsLocal(filepath.FromSlash(name)):
		return refuse("path leaves the workspace", below)
	case name == ".":
		return refuse("is the workspace itself", "publish a directory within it")
	}
	where, err := h.follow(name)
	if err != nil {
		return "", unreadable("publish", name, err)
	}
	if !filepath.IsLocal(where) {
		return refuse("path leaves the workspace", below)
	}
	if h.o.RuntimePath != "" {
		inside, err := filepath.Rel(filepath.FromSlash(h.o.RuntimePath), where)
		if err == nil && (inside == "." || filepath.IsLocal(inside)) {
			return refuse("is part of the runtime directory", "publish files of your own; handoff show ID reads a record")
		}
	}
	return filepath.ToSlash(where), nil
}

// follow returns where a path leads once symbolic links are followed, as the
// workspace sees it.
func (h *Hub) follow(name string) (string, error) {
	root, err := filepath.EvalSymlinks(h.o.Files.Name())
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return "", err
	}
	return filepath.Rel(root, real)
}

// A bodyFact is what one pass over a body tells.
type bodyFact struct {
	size   int64
	digest Digest
	head   []byte
}

func (b bodyFact) describe(p *ArtifactPublished) {
	p.SizeBytes, p.Digest = &b.size, b.digest
	ext := strings.ToLower(path.Ext(p.Path))
	p.MediaType = cmp.Or(p.MediaType, mediaTypes[ext], sniff(b.head))
	p.Kind = cmp.Or(p.Kind, extKinds[ext], "file")
}

// sniff tells text from other bytes.
func sniff(head []byte) string {
	for i := 0; i < utf8.UTFMax && len(head) > 0 && !utf8.Valid(head); i++ {
		head = head[:len(head)-1] // a character may be cut
	}
	if utf8.Valid(head) && !strings.ContainsRune(string(head), 0) {
		return "text/plain"
	}
	return "application/octet-stream"
}

var errChanging = errors.New("changes while it is read")

// measure reads a regular file once, with a look at it before and after. A file
// that changes meanwhile is read once more, and then refused with kind
// Conflict. Beyond limit bytes there is no digest.
func measure(ctx context.Context, root *os.Root, name string, limit int64) (bodyFact, error) {
	for range 2 {
		b, stable, err := measureOnce(ctx, root, name, limit)
		if err != nil || stable {
			return b, err
		}
	}
	return bodyFact{}, errChanging
}

func measureOnce(ctx context.Context, root *os.Root, name string, limit int64) (b bodyFact, stable bool, err error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe that took the file's place must not block
	if err != nil {
		return b, false, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return b, false, err
	}
	if !before.Mode().IsRegular() {
		return b, false, nil
	}
	b.head = make([]byte, 512)
	n, err := io.ReadFull(f, b.head)
	b.head = b.head[:n]
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return b, false, err
	}
	b.size = before.Size()
	if b.size > limit {
		return b, true, nil
	}
	sum := sha256.New()
	sum.Write(b.head)
	// One byte more than there was tells of growth; a log that grows faster
	// than it is read would have no end.
	rest, err := io.Copy(sum, io.LimitReader(readerOf(ctx, f), b.size-int64(n)+1))
	if err != nil {
		return b, false, err
	}
	after, err := f.Stat()
	if err != nil {
		return b, false, err
	}
	b.digest = Digest{"sha256", hex.EncodeToString(sum.Sum(nil))}
	return b, after.Size() == b.size && int64(n)+rest == b.size && after.ModTime().Equal(before.ModTime()), nil
}

// readerOf returns r, ending with ctx.
func readerOf(ctx context.Context, r io.Reader) io.Reader { return contextReader{ctx, r} }

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// look says what became of an artifact's body. Only with hash is its content
// read; a size that differs shows without.
func (h *Hub) look(ctx context.Context, a Artifact, hash bool) Target {
	root := h.o.Files
	if a.Root == RuntimeRoot {
		r, err := h.o.Runtime()
		if err != nil {
			return Unknown
		}
		defer r.Close()
		root = r
	}
	if root == nil {
		return Unknown
	}
	name, err := filepath.FromSlash(a.Path), error(nil)
	if a.TargetType == "symlink" {
		name, err = h.follow(a.Path) // an absolute link may stay within, where os.Root refuses it
	}
	var info fs.FileInfo
	if err == nil {
		info, err = root.Stat(name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return Missing
	case err != nil:
		return Unknown
	case a.SizeBytes == nil:
		return Unknown
	case !info.Mode().IsRegular() || info.Size() != *a.SizeBytes:
		return Modified
	case !hash || a.Digest.Algorithm != "sha256":
		return Unknown
	}
	b, err := measure(ctx, root, name, *a.SizeBytes)
	switch {
	case err != nil:
		return Unknown
	case b.digest != a.Digest:
		return Modified
	}
	return Available
}

// store writes a body that has no other place below its artifact's id, and
// makes p say so. The returned function takes it away again.
func (h *Hub) store(ctx context.Context, d Draft, id string, p *ArtifactPublished) (discard func(), err error) {
	name := cmp.Or(d.Filename, filename(d.MediaType))
	if name != path.Base(name) || !filepath.IsLocal(name) || name == "." || strings.ContainsAny(name, "\\\x00") {
		return nil, &Error{Op: "publish", Name: name, Kind: Invalid, Err: errors.New("is no plain file name"),
			Hint: "name the file without a directory"}
	}
	if h.o.Runtime == nil {
		return nil, &Error{Op: "publish", Name: "-", Kind: Unsupported, Err: errors.New("there is no runtime directory to store it in")}
	}
	root, err := h.o.Runtime()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir := path.Join(managed, id)
	discard = func() {
		if root, err := h.o.Runtime(); err == nil {
			root.RemoveAll(dir)
			root.Remove(managed) // if it is empty
			root.Close()
		}
	}
	b, err := writeFile(ctx, root, path.Join(dir, name), d.Body)
	if err != nil {
		discard()
		return nil, &Error{Op: "publish", Name: "-", Kind: Unavailable, Err: reason(err)}
	}
	p.TargetType = "file"
	p.Path, p.Root = path.Join(dir, name), RuntimeRoot
	if h.o.RuntimePath != "" {
		p.Path, p.Root = path.Join(h.o.RuntimePath, p.Path), ""
	}
	b.describe(p)
	return discard, nil
}

// writeFile writes a new file and the directories above it: when it returns,
// they are on stable storage.
func writeFile(ctx context.Context, root *os.Root, name string, body io.Reader) (b bodyFact, err error) {
	dir := path.Dir(name)
	if err := root.MkdirAll(dir, 0o777); err != nil {
		return b, err
	}
	temporary := path.Join(dir, ".tmp-"+path.Base(name))
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return b, err
	}
	defer root.Remove(temporary)
	sum, head := sha256.New(), &headWriter{}
	b.size, err = io.Copy(io.MultiWriter(f, sum, head), readerOf(ctx, body))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return b, err
	}
	b.digest, b.head = Digest{"sha256", hex.EncodeToString(sum.Sum(nil))}, head.b
	if err := root.Rename(temporary, name); err != nil {
		return b, err
	}
	for ; ; dir = path.Dir(dir) {
		if err := syncDir(root, dir); err != nil || dir == "." {
			return b, err
		}
	}
}

func syncDir(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// headWriter keeps the first bytes of what is written to it.
type headWriter struct{ b []byte }

func (h *headWriter) Write(p []byte) (int, error) {
	h.b = append(h.b, p[:min(len(p), 512-len(h.b))]...)
	return len(p), nil
}

// unreadable gives an error of the file system its kind.
func unreadable(op, name string, err error) error {
	switch {
	case errors.Is(err, errChanging):
		return &Error{Op: op, Name: name, Kind: Conflict, Err: err, Hint: "publish it again once its writer is done"}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &Error{Op: op, Name: name, Kind: NotFound, Err: fs.ErrNotExist, Hint: "write the file first; it is published where it lies"}
	}
	return &Error{Op: op, Name: name, Kind: Unavailable, Err: reason(err), Hint: "publish what this process can read"}
}

// reason strips the operation and the path from an error of the file system,
// which its wrapper names.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
