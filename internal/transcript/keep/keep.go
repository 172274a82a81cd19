// Package keep copies transcripts of agent programs, so that a thread can be read
// after its tool has removed it.
//
// A copy is a tar file, compressed with zstd, of the files of a thread and its
// subagents, named as in the directory of the tool. Extracted, that directory is
// opened by the provider of the tool. Equal files have equal copies.
//
// Every file is read twice: first to find secrets and to determine its size, then to
// copy it. Files are never held in memory.
//
// Of a database with several threads, the copy has one of the same format with
// the rows of the thread, which is first written to a temporary file.
package keep

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/secret"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// maxFiles is how many files a copy has at most.
const maxFiles = 10_000

// window is the size of the window of the compression, in bytes.
const window = 8 << 20

// A Plan is what a copy of a thread would contain.
type Plan struct {
	URI      string
	Modified time.Time // when the newest of its files was written
	Size     int64     // of all files in the copy
	Secrets  int       // how many were found
	Findings []transcript.Secret
	Redact   bool

	files []file
	dir   string // of temporary files, "" if there are none
}

// Close removes temporary files.
func (p *Plan) Close() error {
	if p.dir == "" {
		return nil
	}
	return os.RemoveAll(p.dir)
}

// Files returns how many files the copy has.
func (p *Plan) Files() int { return len(p.files) }

// A file is one file of a copy.
type file struct {
	path, name string // name is that in the copy
	uri        string // of the thread or subagent
	size       int64  // in the copy
	secrets    int
	read       int64  // bytes that are read
	rows       []part // of a database with other threads; path is that of a temporary file
}

// New returns the plan of a copy of the thread that v identifies. With redact,
// secrets are replaced in the copy. Close the plan.
//
// Kinds: Unsupported (the program keeps threads together), Unavailable, Conflict.
func New(ctx context.Context, set *thread.Set, v *thread.View, redact bool) (_ *Plan, err error) {
	p := &Plan{URI: v.URI.Main().String(), Redact: redact}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	parts, err := all(ctx, set, v)
	if err != nil {
		return nil, err
	}
	found := map[string]*threadFindings{}
	for _, t := range parts {
		if err := p.add(set, t); err != nil {
			return nil, err
		}
		if t.thread.Modified.After(p.Modified) {
			p.Modified = t.thread.Modified
		}
		found[t.uri] = &threadFindings{thread: t.thread, left: map[string]int{}, lines: map[string]int{}}
	}
	for i := range p.files {
		f := &p.files[i]
		report := func(uri string) reporter {
			return func(kind, text string, line int) {
				p.Secrets++
				f.secrets++
				found[uri].note(kind, text, line)
			}
		}
		if f.rows != nil {
			err = p.extract(ctx, f, report)
		} else {
			f.size, err = f.copyTo(ctx, io.Discard, redact, report(f.uri))
		}
		if err != nil {
			return nil, err
		}
		p.Size += f.size
	}
	for _, t := range parts {
		list, err := found[t.uri].locate(ctx, t.uri)
		if err != nil {
			return nil, err
		}
		p.Findings = append(p.Findings, list...)
	}
	return p, nil
}

// A part is a thread whose files are in the copy of a thread.
type part struct {
	thread *thread.Thread
	uri    string
}

// all returns the thread of v with its subagents, at any depth, and the threads that
// these were forked from: their transcripts have the beginning of the thread, or
// show which part of it is theirs.
func all(ctx context.Context, set *thread.Set, v *thread.View) ([]part, error) {
	provider, err := set.Provider(v.Thread.Provider)
	if err != nil {
		return nil, err
	}
	main := v.URI.Main()
	list := []part{{v.Thread, main.String()}}
	add := func(t *thread.Thread, uri string) {
		if len(list) < maxFiles &&
			!slices.ContainsFunc(list, func(p part) bool { return p.thread.ID == t.ID && p.thread.Source == t.Source }) {
			list = append(list, part{t, uri})
		}
	}
	for i := 0; i < len(list); i++ {
		t := list[i].thread
		if t.ForkedFrom != "" && t.ForkedFrom != t.ID {
			if base, err := provider.Thread(ctx, t.ForkedFrom); err == nil {
				add(base, base.URI().String())
			}
		}
		if i > 0 && t.URI().String() == list[i].uri {
			continue // the subagents of another thread
		}
		agents, err := provider.Agents(ctx, t)
		if err != nil {
			return nil, err
		}
		for _, a := range agents {
			if a.Thread != nil && (a.Thread.Source != t.Source || hasRows(a.Thread)) {
				add(a.Thread, main.Child(a.Thread.ID).String())
			}
		}
	}
	return list, nil
}

// add adds the files or rows of a thread that are not yet in the copy.
func (p *Plan) add(set *thread.Set, t part) error {
	if hasRows(t.thread) {
		return p.addRows(set, t)
	}
	root, paths, err := filesOf(set, t.thread)
	if err != nil {
		return err
	}
	for _, path := range paths {
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f := file{path: path, name: filepath.ToSlash(strings.TrimSuffix(rel, packed)), uri: t.uri}
		if slices.ContainsFunc(p.files, func(o file) bool { return o.name == f.name }) {
			continue // a subagent in the transcript of its parent
		}
		if len(p.files) == maxFiles {
			return handoff.E("keep thread", p.URI, handoff.Unsupported, fmt.Errorf("it has more than %d files", maxFiles))
		}
		p.files = append(p.files, f)
	}
	return nil
}

// packed is the extension of transcripts that a tool has compressed. The copy has them
// as they were before, which the provider reads too.
const packed = ".zst"

// A compressed transcript is read up to this size, or ratio to its own size.
const (
	minUnpacked = 64 << 20
	maxRatio    = 1000
)

// copyTo copies the file, with the length that it has when it is first read.
func (f *file) copyTo(ctx context.Context, to io.Writer, redact bool, report reporter) (int64, error) {
	in, err := thread.OpenFile(f.path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if f.read == 0 {
		f.read = in.Size()
	}
	counted := &counter{to: to}
	from := io.Reader(&reader{ctx, io.LimitReader(in, f.read)})
	if strings.HasSuffix(f.path, packed) {
		dec, err := newDecoder(from)
		if err != nil {
			return 0, err
		}
		defer dec.Close()
		from = io.LimitReader(dec, max(minUnpacked, maxRatio*f.read))
	}
	if redact {
		err = secret.Redact(counted, from, report)
	} else {
		err = secret.Redact(nil, io.TeeReader(from, counted), report)
	}
	if err != nil {
		return 0, thread.UnreadableError(f.path, err)
	}
	return counted.n, nil
}

func newDecoder(r io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(32<<20))
}

// Write writes the copy. Its kinds are those of the files, and Conflict if one has
// changed since New.
func (p *Plan) Write(ctx context.Context, to io.Writer) error {
	enc, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err != nil {
		return err
	}
	tw := tar.NewWriter(enc)
	for i := range p.files {
		f := &p.files[i]
		if err := tw.WriteHeader(&tar.Header{Name: f.name, Mode: 0o600, Size: f.size, Typeflag: tar.TypeReg,
			Format: tar.FormatPAX}); err != nil {
			return err
		}
		secrets := 0
		n, err := f.size, error(nil)
		if f.rows != nil {
			secrets, err = f.secrets, f.writeTo(ctx, tw)
		} else {
			n, err = f.copyTo(ctx, tw, p.Redact, func(string, string, int) { secrets++ })
		}
		if errors.Is(err, tar.ErrWriteTooLong) || err == nil && (n != f.size || secrets != f.secrets) {
			err = handoff.E("keep thread", f.path, handoff.Conflict, errors.New("the transcript changes while it is read"),
				handoff.Advice("retry"))
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(tw.Close(), enc.Close())
}

// A counter counts what is written.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	return n, err
}

// A reader ends with its context.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r *reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}
