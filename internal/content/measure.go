package content

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
)

// keeps reports whether a file of this size is kept.
func (s *Files) keeps(k handoff.Keep, size int64) bool {
	k = cmp.Or(k, s.Keep, handoff.KeepAuto)
	return k == handoff.KeepAlways || k == handoff.KeepAuto && size <= handoff.KeepLimit
}

// measure fills in what p says about a regular file, in one pass, which also
// keeps it. A file that changes meanwhile is read once more, and then refused.
func (s *Files) measure(ctx context.Context, root *os.Root, name string, d handoff.Draft, p *handoff.ArtifactPublished, to handoff.Bodies) error {
	head, err := s.measureOnce(ctx, root, name, d, p, to)
	if errors.Is(err, errChanging) {
		head, err = s.measureOnce(ctx, root, name, d, p, to)
	}
	if err != nil {
		return unreadable("publish", p.Path, err)
	}
	classify(p, head)
	return nil
}

// classify says what a file is, by its name or else its beginning, where its
// publisher didn't.
func classify(p *handoff.ArtifactPublished, head []byte) {
	ext := strings.ToLower(path.Ext(p.Path))
	p.MediaType = cmp.Or(p.MediaType, mediaTypes[ext], sniff(head))
	p.Kind = cmp.Or(p.Kind, extKinds[ext], "file")
}

func (s *Files) measureOnce(ctx context.Context, root *os.Root, name string, d handoff.Draft, p *handoff.ArtifactPublished, to handoff.Bodies) ([]byte, error) {
	f, err := openSteady(ctx, root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, seen := f.was.Size(), &headWriter{}
	r := io.TeeReader(f, seen)
	keep := s.keeps(d.Keep, size)
	p.SizeBytes, p.Digest, p.Kept = &size, handoff.Digest{}, keep && to != nil
	switch {
	case p.Kept:
		p.Digest, err = to.Put(ctx, r)
	case keep || size <= cmp.Or(s.DigestLimit, DefaultDigestLimit):
		p.Digest, err = digestOf(ctx, r)
	default:
		_, err = io.Copy(io.Discard, io.LimitReader(r, headSize))
		return seen.head, err
	}
	if err == nil && seen.n != size {
		err = errChanging
	}
	return seen.head, err
}

// headSize is how many bytes tell text from others.
const headSize = 512

// A headWriter counts what is written to it, and keeps its beginning.
type headWriter struct {
	head []byte
	n    int64
}

func (h *headWriter) Write(p []byte) (int, error) {
	h.head = append(h.head, p[:min(len(p), headSize-len(h.head))]...)
	h.n += int64(len(p))
	return len(p), nil
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

// keepDir keeps a directory as one body.
func (s *Files) keepDir(ctx context.Context, name string, p *handoff.ArtifactPublished, to handoff.Bodies) error {
	if inside, err := filepath.Rel(filepath.FromSlash(name), filepath.FromSlash(s.RuntimePath)); s.RuntimePath != "" && err == nil && filepath.IsLocal(inside) {
		return unkept(p.Path, "holds the runtime directory")
	}
	read := digestOf
	if to != nil {
		read = to.Put
	}
	d, err := packed(ctx, s.Root, name, read)
	if errors.Is(err, handoff.Conflict) {
		d, err = packed(ctx, s.Root, name, read)
	}
	p.Digest, p.Kept = handoff.Digest{Algorithm: handoff.SHA256Tar, Value: d.Value}, to != nil
	return err
}

// packed hands a directory, as one body, to read.
func packed(ctx context.Context, root *os.Root, name string, read func(context.Context, io.Reader) (handoff.Digest, error)) (handoff.Digest, error) {
	dir, err := root.OpenRoot(name)
	if err != nil {
		return handoff.Digest{}, err
	}
	defer dir.Close()
	r := Pack(ctx, dir)
	defer r.Close()
	return read(ctx, r)
}

// digestOf reads r to its end.
func digestOf(_ context.Context, r io.Reader) (handoff.Digest, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, r)
	return handoff.Digest{Algorithm: handoff.SHA256, Value: hex.EncodeToString(sum.Sum(nil))}, err
}
