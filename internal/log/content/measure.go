package content

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
)

// autoKeep returns the size up to which KeepAuto keeps a file: in a linked
// worktree, which may be removed, more than elsewhere.
func (s *Files) autoKeep() int64 {
	if s.Linked == "" {
		return handoff.KeepLimit
	}
	return max(handoff.KeepLimit, cmp.Or(s.WorktreeKeep, DefaultWorktreeKeep))
}

// keeps reports whether a file of this size is kept.
func (s *Files) keeps(k handoff.Keep, size, limit int64) bool {
	k = cmp.Or(k, s.Keep, handoff.KeepAuto)
	return k == handoff.KeepAlways || (k == handoff.KeepAuto && size <= limit)
}

// notKeptReason explains why a body is not kept.
func notKeptReason(k handoff.Keep, limit int64) string {
	if k == handoff.KeepNever {
		return "the setting keep is never"
	}
	if limit <= handoff.KeepLimit {
		return fmt.Sprintf("it has more than %d bytes", limit)
	}
	return fmt.Sprintf("it has more than %d bytes (limits.worktree_keep)", limit)
}

// measure describes a regular file in p and keeps it, in one pass. If the file
// changes while it is read, measure retries once. The fingerprint is that of a
// file whose digest is in p.
func (s *Files) measure(ctx context.Context, root *os.Root, name string, d handoff.Draft, p *handoff.ArtifactPublished,
	to handoff.Bodies, limit int64) (fingerprint string, err error) {
	head, info, err := s.measureOnce(ctx, root, name, d, p, to, limit)
	if errors.Is(err, errChanging) {
		head, info, err = s.measureOnce(ctx, root, name, d, p, to, limit)
	}
	if err != nil {
		return "", fileError(p.Path, err)
	}
	classify(p, head)
	if p.Digest == (handoff.Digest{}) {
		return "", nil
	}
	return s.fingerprint(info), nil
}

// classify sets the media type and kind of a file, by its name or else its first
// bytes, if the publisher did not.
func classify(p *handoff.ArtifactPublished, head []byte) {
	ext := strings.ToLower(path.Ext(p.Path))
	p.MediaType = cmp.Or(p.MediaType, mediaTypes[ext], sniff(head))
	p.Kind = cmp.Or(p.Kind, extKinds[ext], "file")
}

func (s *Files) measureOnce(ctx context.Context, root *os.Root, name string, d handoff.Draft,
	p *handoff.ArtifactPublished, to handoff.Bodies, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := openSteady(ctx, root, name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	f.report = s.Reading
	size := f.was.Size()
	head := make([]byte, headSize)
	n, err := f.f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	head = head[:n]
	keep := s.keeps(d.Keep, size, limit)
	p.SizeBytes = &size
	p.Digest = handoff.Digest{}
	p.Kept = keep && to != nil
	switch {
	case p.Kept:
		p.Digest, err = to.Put(ctx, f)
	case keep || size <= cmp.Or(s.DigestLimit, DefaultDigestLimit):
		p.Digest, err = digestOf(ctx, f)
	default:
		return head, f.was, f.changed()
	}
	if err == nil && f.n != 0 && f.n != size {
		err = errChanging
	}
	return head, f.was, cmp.Or(err, f.changed())
}

// headSize is the number of bytes that sniff examines.
const headSize = 512

// A headWriter counts the bytes written to it and stores the first ones.
type headWriter struct {
	head []byte
	n    int64
}

func (h *headWriter) Write(p []byte) (int, error) {
	h.head = append(h.head, p[:min(len(p), headSize-len(h.head))]...)
	h.n += int64(len(p))
	return len(p), nil
}

// sniff returns the media type of plain text, or of arbitrary bytes.
func sniff(head []byte) string {
	for n := headSize; n > headSize-utf8.UTFMax && len(head) == n && !utf8.Valid(head); n-- {
		head = head[:n-1] // the last character may be cut
	}
	if utf8.Valid(head) && !strings.ContainsRune(string(head), 0) {
		return "text/plain"
	}
	return "application/octet-stream"
}

// measureDir keeps a directory if the draft requires it, or in a linked worktree if it
// is not too large, and returns why it does not. One that is not kept gets a digest, if
// reading it takes not too long.
func (s *Files) measureDir(ctx context.Context, name string, d handoff.Draft, p *handoff.ArtifactPublished,
	to handoff.Bodies, limit int64) (notKept string, err error) {
	if d.Keep == handoff.KeepAlways {
		return "", s.readDir(ctx, name, p, to)
	}
	size, err := treeSize(ctx, s.Root, name)
	switch policy := cmp.Or(d.Keep, s.Keep, handoff.KeepAuto); {
	case d.Keep == handoff.KeepNever || (to == nil && limit <= handoff.KeepLimit):
		to = nil
	case policy == handoff.KeepNever || (limit > handoff.KeepLimit && size > limit && policy == handoff.KeepAuto):
		to, notKept = nil, notKeptReason(policy, limit)
	case limit <= handoff.KeepLimit:
		to, notKept = nil, "it is a directory"
	}
	if err == nil && to == nil && size > cmp.Or(s.DigestLimit, DefaultDigestLimit) {
		return notKept, nil
	}
	if err == nil {
		err = s.readDir(ctx, name, p, to)
	}
	var known *handoff.Error
	if errors.As(err, &known) && known.Kind == handoff.Invalid { // a directory that can't be packed can be published
		p.Digest, p.Kept = handoff.Digest{}, false
		return known.Name + " " + known.Err.Error(), nil
	}
	return notKept, err
}

// treeSize returns the size of the files in a directory.
func treeSize(ctx context.Context, root *os.Root, name string) (size int64, err error) {
	dir, err := root.OpenRoot(name)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	entries, err := list(ctx, dir)
	return sizeOf(entries), err
}

// readDir sets the digest of a directory, and keeps it as one body if to is not nil.
func (s *Files) readDir(ctx context.Context, name string, p *handoff.ArtifactPublished, to handoff.Bodies) error {
	if inside, err := filepath.Rel(filepath.FromSlash(name), filepath.FromSlash(s.RuntimePath)); s.RuntimePath != "" &&
		err == nil && filepath.IsLocal(inside) {
		return notKept(p.Path, "contains the runtime directory")
	}
	read := digestOf
	if to != nil {
		read = to.Put
	}
	d, err := s.packed(ctx, s.Root, name, read)
	if errors.Is(err, handoff.Conflict) {
		d, err = s.packed(ctx, s.Root, name, read)
	}
	p.Digest, p.Kept = handoff.Digest{Algorithm: handoff.SHA256Tar, Value: d.Value}, to != nil
	return err
}

// packed calls read with a directory packed as one body.
func (s *Files) packed(ctx context.Context, root *os.Root, name string,
	read func(context.Context, io.Reader) (handoff.Digest, error)) (handoff.Digest, error) {
	dir, err := root.OpenRoot(name)
	if err != nil {
		return handoff.Digest{}, err
	}
	defer dir.Close()
	r := Pack(ctx, dir, s.Reading)
	defer r.Close()
	return read(ctx, r)
}

// digestOf returns the digest of the bytes of r.
func digestOf(_ context.Context, r io.Reader) (handoff.Digest, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, r)
	return handoff.Digest{Algorithm: handoff.SHA256, Value: hex.EncodeToString(sum.Sum(nil))}, err
}
