package keep

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/safepath"
	"github.com/agent-handoff/handoff/thread"
)

// maxHeader is how many bytes the archive has for each file beside its content, and
// maxDepth how many directories the name of a file has, more than any tool uses.
const (
	maxHeader = 16 << 10
	maxDepth  = 32
)

// Extract writes the files of a copy to an empty directory. It refuses everything that
// Write does not write, and more bytes or files than the record of the copy states.
// Kind: Corrupt, and those of reading the copy.
func Extract(ctx context.Context, from io.Reader, k handoff.ThreadKept, dir *os.Root) error {
	dec, err := newDecoder(&reader{ctx, from})
	if err != nil {
		return err
	}
	defer dec.Close()
	archive := &io.LimitedReader{R: dec, N: k.TranscriptBytes + int64(min(k.Files, maxFiles)+1)*maxHeader}
	tr := tar.NewReader(archive)
	left := k.TranscriptBytes
	for n := 0; ; n++ {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) && archive.N > 0 {
			return nil
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case archive.N <= 0:
			err = errors.New("it is larger than its record states")
		case err != nil:
		case n == maxFiles || n == k.Files:
			err = errors.New("it has more files than its record states")
		case h.Typeflag != tar.TypeReg || !fs.ValidPath(h.Name) || h.Name == "." ||
			!filepath.IsLocal(filepath.FromSlash(h.Name)):
			err = fmt.Errorf("entry %.200q is not a file in the directory of the tool", h.Name)
		case safepath.Check(h.Name) != nil:
			err = fmt.Errorf("entry %.200q %w", h.Name, safepath.Check(h.Name))
		case strings.Count(h.Name, "/") > maxDepth:
			err = fmt.Errorf("entry %.200q is in more than %d directories", h.Name, maxDepth)
		case h.Size > left:
			err = errors.New("it is larger than its record states")
		default:
			left -= h.Size
			err = extract(tr, h.Name, k.ModifiedAt, dir)
		}
		if err != nil {
			return corrupt(k, err)
		}
	}
}

func extract(from io.Reader, name string, modified time.Time, dir *os.Root) error {
	if err := dir.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o700); err != nil {
		return err
	}
	f, err := dir.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err = errors.Join(err, f.Close()); err == nil && !modified.IsZero() {
		err = dir.Chtimes(filepath.FromSlash(name), modified, modified)
	}
	return err
}

func corrupt(k handoff.ThreadKept, err error) error {
	var known *handoff.Error
	if errors.As(err, &known) {
		return err
	}
	if file := new(fs.PathError); errors.As(err, &file) && !errors.Is(err, fs.ErrExist) &&
		!errors.Is(err, syscall.ENOTDIR) {
		return handoff.E("open kept transcript", k.Thread, handoff.Unavailable, err,
			handoff.Advice("free disk space for temporary files"))
	}
	return handoff.E("open kept transcript", k.Thread, handoff.Corrupt, err,
		handoff.Suggest("list every problem", handoff.ActionCheck))
}

// unusable returns the error for a copy in dir that its provider can't read.
func unusable(ctx context.Context, k handoff.KeptThread, dir string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return corrupt(k.ThreadKept, errors.New(strings.ReplaceAll(err.Error(), dir, "the copy")))
}

// A Store is where copies are, and the tools that made the transcripts.
type Store struct {
	Hub    *handoff.Hub
	Bodies handoff.Bodies
	Set    *thread.Set
}

// Copies opens kept copies of transcripts. Close removes what it extracted. The zero
// value is ready to use.
type Copies struct {
	mu   sync.Mutex
	dirs map[string]extraction // by digest
	last []string              // digests, the newest last
}

// An extraction is a directory with the files of a copy.
type extraction struct {
	dir   string
	files int
}

// Open opens the copy of a thread, nil if there is none. The view says that it
// is a copy. Kinds: Conflict (several providers have the ID), Corrupt, Unavailable.
func (c *Copies) Open(ctx context.Context, s Store, u thread.URI) (*thread.View, error) {
	k, dir, v, err := c.open(ctx, s, u)
	if err != nil || v == nil {
		return nil, err
	}
	err = rename(v.Thread, dir, k)
	for _, a := range v.Agents {
		if a.Thread != nil && err == nil {
			err = rename(a.Thread, dir, k)
		}
	}
	if err != nil {
		return nil, err
	}
	v.Thread.KeptAt = k.KeptAt
	note := "the transcript was removed; this is the copy that was kept at " + k.KeptAt.UTC().Format(time.RFC3339)
	switch k.Redacted {
	case 0:
	case 1:
		note += ", with 1 secret redacted"
	default:
		note += fmt.Sprintf(", with %d secrets redacted", k.Redacted)
	}
	v.Thread.WarnFound(note)
	if v.Agent != nil && v.Agent.Thread != nil {
		v.Agent.Thread.WarnFound(note)
	}
	return v, nil
}

// open extracts the copy of a thread to a directory; the view is nil if there is
// none.
func (c *Copies) open(ctx context.Context, s Store, u thread.URI) (k handoff.KeptThread, dir string, v *thread.View,
	err error) {
	list, err := s.Hub.KeptThreads(ctx, "")
	if err != nil {
		return k, "", nil, err
	}
	k, u, err = pick(list, u)
	if err != nil || u.Provider == "" {
		return k, "", nil, err
	}
	if f, ok := s.Bodies.(handoff.BodyFetcher); ok {
		if err := f.Fetch(ctx, k.Digest, k.SizeBytes); err != nil {
			return k, "", nil, missing(k, err)
		}
	}
	if dir, err = c.extracted(ctx, s.Bodies, k.ThreadKept); err != nil {
		return k, "", nil, missing(k, err)
	}
	v, err = At(s.Set, u.Provider, dir).Open(ctx, u)
	if err == nil {
		err = v.LoadAgents(ctx)
	}
	if err != nil {
		return k, "", nil, unusable(ctx, k, dir, err)
	}
	return k, dir, v, nil
}

// missing returns why a copy could not be opened: if it is not stored because a policy dropped it,
// that.
func missing(k handoff.KeptThread, err error) error {
	if k.Dropped == nil || !errors.Is(err, handoff.NotFound) {
		return err
	}
	return handoff.E("open kept transcript", k.Thread, handoff.NotFound, errors.New(k.Dropped.Notice()),
		handoff.Advice("look for the transcript on the machine where the agent ran"))
}

// pick returns the copy of a thread, and its URI with the provider, "" if there is
// no copy.
func pick(list []handoff.KeptThread, u thread.URI) (found handoff.KeptThread, _ thread.URI, err error) {
	provider := ""
	for _, k := range list {
		of, err := thread.ParseURI(k.Thread)
		switch {
		case err != nil, !strings.EqualFold(of.Thread, u.Thread), u.Provider != "" && u.Provider != of.Provider:
		case provider != "":
			return found, u, handoff.E("open kept transcript", u.Thread, handoff.Conflict,
				errors.New("there are several copies with this ID"),
				handoff.Advice("use the URI of one, such as "+k.Thread))
		default:
			found, provider = k, of.Provider
		}
	}
	u.Provider = provider
	return found, u, nil
}

// rename sets the source of a thread in a copy to the digest and name of its file. The
// error is Corrupt if it is not in the copy.
func rename(t *thread.Thread, dir string, k handoff.KeptThread) error {
	rel, err := filepath.Rel(dir, t.Source)
	if err != nil || !filepath.IsLocal(rel) {
		return corrupt(k.ThreadKept, errors.New("refers to a file outside the copy"))
	}
	t.Source = k.Digest.Algorithm + ":" + k.Digest.Value + "/" + filepath.ToSlash(rel)
	return nil
}

// maxExtracted is how many copies are extracted at the same time, more than a list
// opens at a time.
const maxExtracted = 128

// maxSize returns how many bytes a copy may have when it is extracted: a copy from
// another machine must not fill the disk of this one.
func maxSize(body int64) int64 { return max(minUnpacked, 200*body) }

// extracted returns a directory with the files of a copy. Kind: NotFound (the body is
// not on this machine), and those of Extract.
func (c *Copies) extracted(ctx context.Context, bodies handoff.Bodies, k handoff.ThreadKept) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x, ok := c.dirs[k.Digest.Value]; ok && countFiles(x.dir) == x.files {
		return x.dir, nil
	}
	if err := c.remove(k.Digest.Value); err != nil { // a cleaner has removed files of it
		return "", err
	}
	body, err := bodies.Open(ctx, k.Digest)
	if err != nil {
		return "", err
	}
	defer body.Close()
	size, err := body.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = body.Seek(0, io.SeekStart)
	}
	if err == nil && k.TranscriptBytes > maxSize(size) {
		err = corrupt(k, fmt.Errorf("a body of %d bytes is too small for transcripts of %d bytes", size, k.TranscriptBytes))
	}
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "handoff-thread-")
	if err != nil {
		return "", thread.UnreadableError(k.Thread, err)
	}
	root, err := os.OpenRoot(dir)
	if err == nil {
		err = errors.Join(Extract(ctx, body, k, root), root.Close())
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	if c.dirs == nil {
		c.dirs = map[string]extraction{}
	}
	if c.dirs[k.Digest.Value], c.last = (extraction{dir, countFiles(dir)}), append(c.last,
		k.Digest.Value); len(c.last) > maxExtracted {
		err = c.remove(c.last[0])
	}
	return dir, err
}

// countFiles returns the number of files below a directory.
func countFiles(dir string) (n int) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error { // what can't be read has no files
		if err == nil && !e.IsDir() {
			n++
		}
		return nil
	})
	return n
}

// remove removes what was extracted of the copy with a digest, if there is anything.
func (c *Copies) remove(digest string) error {
	x, ok := c.dirs[digest]
	if !ok {
		return nil
	}
	delete(c.dirs, digest)
	c.last = slices.DeleteFunc(c.last, func(d string) bool { return d == digest })
	return os.RemoveAll(x.dir)
}

// Close removes what was extracted. The views that Open returned can't be read after it.
func (c *Copies) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for digest := range c.dirs {
		errs = append(errs, c.remove(digest))
	}
	return errors.Join(errs...)
}
