package thread

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Stored is a transcript, as it is found without reading it.
type Stored struct {
	Provider string
	Source   string    // absolute path of the transcript
	Key      string    // identifies the transcript; its source, unless a file has several
	Stamp    uint64    // changes whenever the transcript may have changed
	Modified time.Time // when the transcript was last written
	Changed  time.Time // when one of its files was last changed in any way

	// Texts are the files of a transcript that is plain JSON, so that every word
	// of its messages and calls occurs in one of them, unless Elsewhere, if it is
	// set, occurs in the first MiB. It is nil for other formats.
	Texts     []string
	Elsewhere string

	Opener
}

// An Opener opens a stored transcript.
type Opener interface {
	// Open returns the threads in the transcript, usually one. It returns none if
	// the file is not a thread. Its errors are those of Provider.Thread.
	Open(context.Context) ([]*Thread, error)
}

// An OpenFunc is an Opener.
type OpenFunc func(context.Context) ([]*Thread, error)

// Open implements Opener.
func (open OpenFunc) Open(ctx context.Context) ([]*Thread, error) { return open(ctx) }

// Load returns the threads in the transcript, loaded. The errors are those of Open and of
// Thread.Load.
func (s Stored) Load(ctx context.Context) ([]*Thread, error) {
	threads, err := s.Open(ctx)
	var loaded []*Thread
	for _, t := range threads {
		if !t.Loaded() {
			if failed := t.Load(ctx); failed != nil {
				err = errors.Join(err, failed)
				continue
			}
		}
		loaded = append(loaded, t)
	}
	return loaded, err
}

// A Lister is a provider that finds its transcripts, including those of
// subagents, without opening them.
type Lister interface {
	// Stored yields the transcripts in any order. What can't be read is an error
	// between them.
	Stored(ctx context.Context) iter.Seq2[*Stored, error]
}

// StoredIn yields the transcripts of a provider. If the provider is not a Lister,
// its threads and their subagents are opened, and each counts as changed whenever
// its file has changed.
func StoredIn(ctx context.Context, name string, p Provider) iter.Seq2[*Stored, error] {
	return func(yield func(*Stored, error) bool) {
		if l, ok := p.(Lister); ok {
			for s, err := range l.Stored(ctx) {
				if err == nil {
					s.Provider = name
				}
				if !yield(s, err) {
					return
				}
			}
			return
		}
		w := NewWalk(ctx)
		for t, err := range p.Threads(ctx) {
			var s *Stored
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
func (w *Walk) stored(p Provider, t *Thread) *Stored {
	s, ok := w.StatStored([]string{t.Source}, t.Source+"-wal")
	if !ok {
		s = &Stored{Source: t.Source, Stamp: addNumber(noStamp, uint64(t.Modified.UnixNano()))}
	}
	s.Provider, s.Key, s.Texts = t.Provider, t.Source+"#"+t.ID, nil
	if !t.Modified.IsZero() {
		s.Modified = t.Modified
	}
	s.Opener = OpenFunc(func(ctx context.Context) ([]*Thread, error) {
		agents, err := p.Agents(ctx, t)
		list := []*Thread{t}
		for _, a := range agents {
			if a.Thread != nil && a.Thread.ID != t.ID {
				a.Thread.Subagent, a.Thread.Parent = true, cmp.Or(a.Thread.Parent, t.ID)
				list = append(list, a.Thread)
			}
		}
		return list, err
	})
	return s
}

// StatStored returns the transcript in the first of the files; the others are
// copies of it. The stamp also depends on the files in also, which need not
// exist. ok is false if the first file does not exist. A file of several transcripts,
// such as a database, is checked once for all of them.
func (w *Walk) StatStored(files []string, also ...string) (s *Stored, ok bool) {
	stats := make([]FileStat, 0, len(files)+len(also))
	for _, path := range slices.Concat(files, also) {
		stats = append(stats, w.StatFile(path))
	}
	s = new(Stored)
	s.SetFiles(files, stats)
	return s, stats[0] != FileStat{}
}

// StatFile returns the state of a file, zero on error. A file is checked once in a walk.
func (w *Walk) StatFile(path string) FileStat {
	st, ok := w.stats[path]
	if !ok {
		st, _ = stat(path) // zero on error
		w.stats[path] = st
	}
	return st
}

// SetFiles sets what is known of a transcript by its files, as StatStored does. The
// first of the stats are those of the files, the others those of further files that
// the stamp depends on.
func (s *Stored) SetFiles(files []string, stats []FileStat) {
	s.Source, s.Key, s.Modified, s.Texts = files[0], files[0], stats[0].Modified, files
	s.Stamp = noStamp
	for i, st := range stats {
		if 0 < i && i < len(files) {
			s.Stamp = addText(s.Stamp, files[i])
		}
		s.Stamp = st.addTo(s.Stamp)
		if changed := st.lastChange(); changed.After(s.Changed) {
			s.Changed = changed
		}
	}
}

// Parallel calls do with 0 to n-1, on as many processors as there are.
func Parallel(n int, do func(int)) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

// lastChange returns when a file was last changed in any way.
func (s FileStat) lastChange() time.Time {
	if changed := time.Unix(0, s.changed); changed.After(s.Modified) {
		return changed
	}
	return s.Modified
}

// addTo adds what changes with a file to a stamp: its size, its identity, and the times
// of its last modification and of its last change of any kind.
func (s FileStat) addTo(stamp uint64) uint64 {
	for _, n := range []int64{s.Size, s.Modified.UnixNano(), int64(s.inode), s.changed} {
		stamp = addNumber(stamp, uint64(n))
	}
	return stamp
}

// A stamp is a hash: FNV-1a, 64 bits.
const (
	noStamp    uint64 = 14695981039346656037
	stampPrime uint64 = 1099511628211
)

func addNumber(stamp, n uint64) uint64 {
	for range 8 {
		stamp, n = (stamp^n&0xff)*stampPrime, n>>8
	}
	return stamp
}

func addText(stamp uint64, text string) uint64 {
	for i := range len(text) {
		stamp = (stamp ^ uint64(text[i])) * stampPrime
	}
	return addNumber(stamp, uint64(len(text)))
}
