package thread

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"time"
)

// A Stored is a transcript, as it is found without reading it.
type Stored struct {
	Provider string
	Source   string    // absolute path of the transcript
	Key      string    // identifies the transcript; its source, unless a file has several
	Stamp    string    // changes whenever the transcript may have changed
	Modified time.Time // when the transcript was last written
	Changed  time.Time // when one of its files was last changed in any way

	// Texts are the files of a transcript that is plain JSON, so that every word
	// of its messages and calls occurs in one of them, unless Elsewhere, if it is
	// set, occurs there. It is nil for other formats.
	Texts     []string
	Elsewhere string

	// Open returns the threads in the transcript, usually one. It returns none if
	// the file is not a thread. Its errors are those of Provider.Thread.
	Open func(context.Context) ([]*Thread, error)
}

// A Lister is a provider that finds its transcripts, including those of
// subagents, without opening them.
type Lister interface {
	// Stored yields the transcripts in any order. What can't be read is an error
	// between them.
	Stored(ctx context.Context) iter.Seq2[Stored, error]
}

// StoredIn yields the transcripts of a provider. If the provider is not a Lister,
// its threads and their subagents are opened, and each counts as changed whenever
// its file has changed.
func StoredIn(ctx context.Context, name string, p Provider) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		if l, ok := p.(Lister); ok {
			for s, err := range l.Stored(ctx) {
				if s.Provider = name; !yield(s, err) {
					return
				}
			}
			return
		}
		w := NewWalk(ctx)
		for t, err := range p.Threads(ctx) {
			s := Stored{}
			if err == nil {
				s = w.stored(p, t)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// stored returns the transcript of a thread that was opened to find it.
func (w *Walk) stored(p Provider, t *Thread) Stored {
	s, ok := w.StatStored([]string{t.Source}, t.Source+"-wal")
	if !ok {
		s = Stored{Source: t.Source, Stamp: t.Modified.String()}
	}
	s.Provider, s.Key, s.Texts = t.Provider, t.Source+"#"+t.ID, nil
	if !t.Modified.IsZero() {
		s.Modified = t.Modified
	}
	s.Open = func(ctx context.Context) ([]*Thread, error) {
		agents, err := p.Agents(ctx, t)
		list := []*Thread{t}
		for _, a := range agents {
			if a.Thread != nil && a.Thread.ID != t.ID {
				a.Thread.Subagent, a.Thread.Parent = true, cmp.Or(a.Thread.Parent, t.ID)
				list = append(list, a.Thread)
			}
		}
		return list, err
	}
	return s
}

// StatStored returns the transcript in the first of the files; the others are
// copies of it. The stamp also depends on the files in also, which need not
// exist. ok is false if the first file does not exist.
func (w *Walk) StatStored(files []string, also ...string) (s Stored, ok bool) {
	var b strings.Builder
	for i, path := range slices.Concat(files, also) {
		info, err := os.Stat(path)
		if i == 0 {
			if err != nil {
				return s, false
			}
			s.Source, s.Key, s.Modified, s.Texts = path, path, info.ModTime(), files
		}
		if i > 0 && i < len(files) {
			b.WriteString(path)
		}
		stamp, changed := stampOf(info)
		b.WriteString(stamp)
		if changed.After(s.Changed) {
			s.Changed = changed
		}
	}
	s.Stamp = b.String()
	return s, true
}

// stampOf returns what changes with a file: its size, its identity, and the times
// of its last modification and of its last change of any kind, which a program
// can't set.
func stampOf(info fs.FileInfo) (stamp string, changed time.Time) {
	if info == nil {
		return "-;", time.Time{}
	}
	inode, nanos := identity(info)
	if changed = time.Unix(0, nanos); changed.Before(info.ModTime()) {
		changed = info.ModTime()
	}
	return fmt.Sprintf("%x.%x.%x.%x;", info.Size(), info.ModTime().UnixNano(), inode, nanos), changed
}
