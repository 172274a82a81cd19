package thread

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
)

// This file is for providers: what finding and joining threads has in common.

// Home is the only root of a tool whose home is dir below the user's, unless the
// variable env names another.
func Home(env, dir string) func(getenv func(string) string, home string) []string {
	return func(getenv func(string) string, home string) []string {
		if moved := getenv(env); moved != "" {
			return []string{moved}
		}
		return []string{filepath.Join(home, filepath.FromSlash(dir))}
	}
}

// Missing is the error for a thread that is below none of the roots.
func Missing(provider, id string, roots []string) error {
	return &handoff.Error{Op: "thread", Name: provider + "/" + id, Kind: handoff.NotFound,
		Err: errors.New("no such thread below " + strings.Join(roots, ", ")), Hint: handoff.Advice("look below another home by setting its variable")}
}

// Unreadable is the error for a transcript that can't be opened: NotFound where
// it is gone, else Unavailable. What has a kind keeps it.
func Unreadable(name string, err error) error {
	if known := new(handoff.Error); errors.As(err, &known) {
		return err
	}
	kind := handoff.Unavailable
	if errors.Is(err, fs.ErrNotExist) {
		kind = handoff.NotFound
	}
	return &handoff.Error{Op: "read thread", Name: name, Kind: kind, Err: err,
		Hint: handoff.Advice("the tool that wrote it may have moved or locked it; handoff thread with the id alone looks everywhere")}
}

// Regular reports whether reading path can't block: it is a file, or a link to
// one. mode is what its folder says of it.
func Regular(path string, mode fs.FileMode) bool {
	if mode&fs.ModeSymlink != 0 {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	}
	return mode.IsRegular()
}

// OpenFile opens a file for reading, unless reading could block. The error has a
// kind, as that of Unreadable.
func OpenFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		return nil, Unreadable(path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, Unreadable(path, err)
	}
	return f, nil
}

// A Walk looks into folders that may be missing. What can't be read is kept for
// Err; nothing more is read once ctx is done.
type Walk struct {
	ctx  context.Context
	errs []error
	buf  []byte
}

// NewWalk returns a walk that ends with ctx.
func NewWalk(ctx context.Context) *Walk { return &Walk{ctx: ctx} }

// Folder returns what is in dir, by name: nothing where it is missing or no
// folder.
func (w *Walk) Folder(dir string) []fs.DirEntry {
	if w.Done() {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !isFile(dir) {
		w.Fail(err)
	}
	return entries
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// Done reports whether ctx is done.
func (w *Walk) Done() bool {
	if w.ctx.Err() != nil {
		w.Fail(w.ctx.Err())
	}
	return w.ctx.Err() != nil
}

// Fail notes an error, once if it comes again and again.
func (w *Walk) Fail(err error) {
	if len(w.errs) == 0 || !errors.Is(w.errs[len(w.errs)-1], err) {
		w.errs = append(w.errs, err)
	}
}

// Open opens a file, nil where that can't be done.
func (w *Walk) Open(path string) *os.File {
	if w.Done() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		w.Fail(err)
		return nil
	}
	return f
}

// Head returns the first n bytes of a file, in memory that the next call uses
// again; nothing of a file that can't be read.
func (w *Walk) Head(path string, n int64) []byte { return w.part(path, n, io.SeekStart) }

// Tail returns the last n bytes, as Head does the first.
func (w *Walk) Tail(path string, n int64) []byte { return w.part(path, n, io.SeekEnd) }

func (w *Walk) part(path string, n int64, from int) []byte {
	f := w.Open(path)
	if f == nil {
		return nil
	}
	defer f.Close()
	if from == io.SeekEnd {
		f.Seek(-n, from) // a shorter file stays at its start
	}
	w.buf = slices.Grow(w.buf[:0], int(n))
	got, _ := io.ReadFull(f, w.buf[:n])
	return w.buf[:got]
}

// Err returns all errors as one of name, nil if there was none.
func (w *Walk) Err(name string) error {
	if w.errs == nil {
		return nil
	}
	return Unreadable(name, errors.Join(w.errs...))
}

// Meanwhile tells what may have been begun by the thread in path, which was begun
// itself at begun, from what is older than it, or more than a day younger than
// what was written to it last: a call may be written only once it has run. Times
// are UTC as names say them in this layout; "" says nothing.
func Meanwhile(path, begun, layout string) func(begun string) bool {
	const patience = 24 * time.Hour
	info, err := os.Stat(path)
	if err != nil {
		return func(string) bool { return true }
	}
	last := info.ModTime().Add(patience).UTC().Format(layout)
	return func(other string) bool { return other == "" || begun <= other && other <= last }
}

// Copies puts what has the same id together, in the order of the first of each.
// What has none stays alone.
func Copies[F any](files []F, id func(F) string) (groups [][]F) {
	place := map[string]int{}
	for _, f := range files {
		word := id(f)
		i, known := place[word]
		if !known || word == "" {
			i = len(groups)
			place[word] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

// Elsewhere warns that there are more copies of t than the one it is read from.
func (t *Thread) Elsewhere(path string) { t.Warn("there is another copy: %s", path) }

// Warn adds a warning about t that is known before it is read.
func (t *Thread) Warn(format string, args ...any) {
	t.Warnings = append(t.Warnings, fmt.Sprintf(format, args...))
}

// ReadBy returns the reader of t once t has been read. The reader must be an R:
// a provider is asked for the agents of threads that it found.
func ReadBy[R Reader](ctx context.Context, t *Thread) (r R, err error) {
	r, ok := t.Reader.(R)
	if !ok {
		return r, errors.New("the thread is of another provider")
	}
	if !t.loaded {
		err = t.Load(ctx)
	}
	return r, err
}

// ByStart orders threads by when they were begun.
func ByStart(a, b *Thread) int {
	return cmp.Or(a.Started.Compare(b.Started), strings.Compare(a.ID, b.ID))
}

// Join makes agents of what a parent says of its subagents, in its order, and
// then of the transcripts it does not speak of. The one or the other is the zero
// value for agent where it is missing.
func Join[S any, C comparable](said []S, children []C, is func(S, C) bool, agent func(S, C) (Agent, error)) (agents []Agent, err error) {
	children = slices.Clone(children)
	var nobody C
	var nothing S
	add := func(s S, c C) bool {
		var a Agent
		if a, err = agent(s, c); err == nil {
			agents = append(agents, a)
		}
		return err == nil
	}
	for _, s := range said {
		child := nobody
		if i := slices.IndexFunc(children, func(c C) bool { return is(s, c) }); i >= 0 {
			child = children[i]
			children = slices.Delete(children, i, i+1)
		}
		if !add(s, child) {
			return nil, err
		}
	}
	for _, c := range children {
		if !add(nothing, c) {
			return nil, err
		}
	}
	return agents, nil
}

// Settle completes an agent of main of which is known what its parent says,
// its evidence, and its thread if it left one; own is what that says of itself.
func (a *Agent) Settle(main *Thread, own Facts) {
	if a.Thread != nil {
		a.ID = a.Thread.ID
		a.State = Newest(a.State, own.State)
		if a.Updated = own.Last; a.Updated.IsZero() {
			a.Updated = a.Thread.Updated
		}
	}
	if a.State.Status == "" {
		a.State = State{Status: NotFound, Source: Inferred, Evidence: "it is only spoken of, and left no transcript"}
	}
	a.Validated = len(a.Evidence) > 0
	a.URI = main.URI().Child(a.ID)
	if a.Name != "" {
		a.Aliases = append(a.Aliases, a.Name)
	}
}
