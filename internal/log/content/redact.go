package content

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/secret"
)

// Secrets returns the kinds of what looks like a secret in a body, by secret.
func Secrets(c handoff.Content) (map[string]string, error) {
	found := map[string]string{}
	_, err := redact(io.Discard, c, func(kind, secret string, _ int) { found[secret] = kind })
	return found, err
}

// Redact copies a body with its secrets replaced, and the known ones wherever they are,
// and returns how many it has. A directory is a tar, whose files are redacted one by one.
func Redact(to io.Writer, c handoff.Content, known map[string]string) (n int, err error) {
	r := &replacer{to: to, known: known}
	if c.Artifact.IsDirectory() {
		r.known = nil // its sizes would change
	}
	n, err = redact(r, c, func(string, string, int) {})
	return n + r.n, errors.Join(err, r.Flush())
}

func redact(to io.Writer, c handoff.Content, found func(kind, secret string, line int)) (n int, err error) {
	if _, err := c.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	report := func(kind, secret string, line int) {
		n++
		found(kind, secret, line)
	}
	if !c.Artifact.IsDirectory() {
		return n, secret.Redact(to, c, report)
	}
	var sizes []int64
	if err := eachFile(c, func(_ *tar.Header, r io.Reader) error {
		var size counter
		err := secret.Redact(&size, r, func(string, string, int) {})
		sizes = append(sizes, int64(size))
		return err
	}); err != nil {
		return 0, err
	}
	if _, err := c.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	w := tar.NewWriter(to)
	err = eachFile(c, func(h *tar.Header, r io.Reader) error {
		h.Size, sizes = sizes[0], sizes[1:]
		name, any := handoff.RedactText(h.Name)
		if any {
			n++
		}
		h.Name = name
		if err := w.WriteHeader(h); err != nil || h.Size == 0 {
			return err
		}
		return secret.Redact(w, r, report)
	})
	return n, errors.Join(err, w.Close())
}

// A replacer replaces known secrets in what is written to it.
type replacer struct {
	to    io.Writer
	known map[string]string // kinds by secret
	kept  []byte            // the end of what was written, which can be the beginning of one
	n     int
}

func (r *replacer) Write(b []byte) (int, error) {
	longest := 0
	for value := range r.known {
		longest = max(longest, len(value))
	}
	text := append(r.kept, b...)
	for value, kind := range r.known {
		if k := bytes.Count(text, []byte(value)); value != "" && k > 0 {
			r.n += k
			text = bytes.ReplaceAll(text, []byte(value), []byte(secret.Redacted(kind)))
		}
	}
	hold := min(max(longest-1, 0), len(text))
	r.kept = bytes.Clone(text[len(text)-hold:])
	_, err := r.to.Write(text[:len(text)-hold])
	return len(b), err
}

// Flush writes the end.
func (r *replacer) Flush() error {
	_, err := r.to.Write(r.kept)
	r.kept = nil
	return err
}

// eachFile calls do for each entry of a tar.
func eachFile(from io.Reader, do func(*tar.Header, io.Reader) error) error {
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(h, r)
		}
		if err != nil {
			return err
		}
	}
}

// A counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// IsOwn reports whether handoff wrote the file of an artifact: that of a name, or of
// content without a file.
func IsOwn(a handoff.Artifact) bool {
	return a.Name != "" || a.Root == handoff.RuntimeRoot || (a.Root == "" && IsStored(filepath.ToSlash(a.Path)))
}
