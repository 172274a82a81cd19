package keep

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agent-handoff/handoff/internal/tool/secret"
	"github.com/agent-handoff/handoff/thread"
)

// A reporter is called with each secret that is found, and its line or row.
type reporter func(kind, text string, line int)

// hasRows reports whether a thread is rows of a database that may have other threads.
func hasRows(t *thread.Thread) bool {
	_, ok := t.Reader.(thread.Extractor)
	return ok && isDatabase(t.Source)
}

// addRows adds a thread in a database. Those of one database are in one file.
func (p *Plan) addRows(set *thread.Set, t part) error {
	d, roots, _ := set.Driver(t.thread.Provider)
	name := d.Database
	for _, root := range roots {
		if rel, err := filepath.Rel(root, t.thread.Source); d.Database == "" && err == nil && filepath.IsLocal(rel) {
			name = filepath.ToSlash(rel)
		}
	}
	if name == "" {
		return outside(t.thread)
	}
	i := slices.IndexFunc(p.files, func(f file) bool { return f.name == name })
	if i < 0 {
		i = len(p.files)
		p.files = append(p.files, file{name: name, uri: t.uri})
	}
	p.files[i].rows = append(p.files[i].rows, t)
	return nil
}

// extract writes the rows of a file to a temporary file.
func (p *Plan) extract(ctx context.Context, f *file, report func(uri string) reporter) (err error) {
	if p.dir == "" {
		if p.dir, err = os.MkdirTemp("", "handoff-thread-"); err != nil {
			return thread.UnreadableError(f.name, err)
		}
	}
	f.path = filepath.Join(p.dir, strconv.Itoa(slices.IndexFunc(p.files, func(o file) bool { return o.name == f.name })))
	for _, t := range f.rows {
		if err := t.thread.Reader.(thread.Extractor).Extract(ctx, f.path, edit(p.Redact, report(t.uri))); err != nil {
			return err
		}
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return thread.UnreadableError(f.name, err)
	}
	f.size = info.Size()
	return nil
}

// writeTo copies a file that was extracted.
func (f *file) writeTo(ctx context.Context, to io.Writer) error {
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, &reader{ctx, in})
	return errors.Join(err, in.Close())
}

// edit returns an Edit that reports secrets and, with redact, replaces them.
func edit(redact bool, report reporter) thread.Edit {
	return func(row int, value any) any {
		at := func(kind, text string, _ int) { report(kind, text, row) }
		var redacted any
		switch v := value.(type) {
		case string:
			redacted = redactText(v, at)
		case []byte:
			redacted = redactBytes(v, at)
		}
		if redact && redacted != nil {
			return redacted
		}
		return value
	}
}

// redactText redacts a value, which may be JSON.
func redactText(text string, report reporter) string {
	var b strings.Builder
	b.Grow(len(text))
	secret.Redact(&b, strings.NewReader(text), report) // of a string, it can't fail
	return b.String()
}

// redactBytes redacts a binary value. What is not text keeps its length, because it may
// contain the lengths of its parts.
func redactBytes(b []byte, report reporter) []byte {
	if utf8.Valid(b) {
		return []byte(redactText(string(b), report))
	}
	b = bytes.Clone(b)
	text := string(b)
	for _, m := range secret.Find(text) {
		report(m.Kind, text[m.Start:m.End], 0)
		for i := m.Start; i < m.End; i++ {
			b[i] = '*'
		}
	}
	return b
}
