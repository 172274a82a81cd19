package codex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
)

const (
	live     = "sessions"
	archived = "archived_sessions"
	plain    = ".jsonl"
	packed   = ".jsonl.zst"
	uuidLen  = 36

	stampLayout = "2006-01-02T15-04-05"
	dayLayout   = "2006/01/02"
	maxDepth    = 8 // of directories in sessions; the tool creates three levels
)

// A file is a rollout, as its name describes it.
type file struct {
	dir, name string
	id        string // "" if the name does not end in a UUID
	stamp     string // local time in the name, as 2026-02-23T06-54-42; "" if there is none
	archived  bool
	packed    bool
}

// parseName parses a file name. ok reports whether the file may be a rollout.
func parseName(dir, name string, isArchived bool) (f file, ok bool) {
	stem, ok := strings.CutSuffix(name, plain)
	if !ok {
		if stem, ok = strings.CutSuffix(name, packed); !ok {
			return f, false
		}
		f.packed = true
	}
	f.dir, f.name, f.archived = dir, name, isArchived
	if len(stem) >= uuidLen && thread.IsUUID(stem[len(stem)-uuidLen:]) {
		f.id = strings.ToLower(stem[len(stem)-uuidLen:])
	}
	if rest, is := strings.CutPrefix(stem, "rollout-"); is && len(rest) >= len(stampLayout) {
		f.stamp = rest[:len(stampLayout)]
	}
	return f, true
}

// path returns the path of the file. Its directory is clean, and there are many files.
func (f file) path() string { return f.dir + string(filepath.Separator) + f.name }

func fileID(f file) string { return f.id }

// comparePreference orders copies of a thread: live before archived, plain before
// compressed.
func comparePreference(a, b file) int {
	rank := func(f file) (n int) {
		if f.archived {
			n += 2
		}
		if f.packed {
			n++
		}
		return n
	}
	return cmp.Compare(rank(a), rank(b))
}

// A tree finds rollouts. It reads each directory at most once.
type tree struct {
	*thread.Walk
	read map[string]bool
	ids  []string // of the rollouts that were visited
}

func newTree(ctx context.Context) *tree {
	return &tree{Walk: thread.NewWalk(ctx), read: map[string]bool{}}
}

// visit calls use for the rollouts in dir and, down to depth, in its
// subdirectories, the latest name first, until use returns false.
func (t *tree) visit(dir string, depth int, isArchived bool, use func(file) bool) bool {
	if t.read[dir] {
		return true
	}
	entries := t.ReadDir(dir)
	t.read[dir] = depth == 0
	for _, e := range slices.Backward(entries) {
		if e.IsDir() {
			if depth > 0 && !t.visit(filepath.Join(dir, e.Name()), depth-1, isArchived, use) {
				return false
			}
			continue
		}
		f, ok := parseName(dir, e.Name(), isArchived)
		t.ids = append(t.ids, f.id)
		if ok && thread.IsRegular(dir, e) && !use(f) {
			return false
		}
	}
	return !t.Done()
}

// locate finds all copies of the rollouts with these IDs. The IDs of Codex contain
// a time, so that three directories are read for each. All directories are read,
// once, if an ID is not found there.
func (p *provider) locate(t *tree, ids ...string) (map[string][]file, error) {
	found := map[string][]file{}
	for _, id := range ids {
		found[id] = nil
	}
	missing := len(found)
	var unnamed []file
	use := func(f file) bool {
		copies, wanted := found[f.id]
		if f.id == "" {
			unnamed = append(unnamed, f)
		}
		if wanted {
			if len(copies) == 0 {
				missing--
			}
			found[f.id] = append(copies, f)
		}
		return true
	}
	for _, root := range p.roots {
		t.visit(filepath.Join(root, archived), 0, true, use)
		for _, id := range ids {
			for _, day := range days(id) {
				t.visit(filepath.Join(root, live, day), 0, false, use)
			}
		}
	}
	for _, root := range p.roots {
		if missing > 0 {
			t.visit(filepath.Join(root, live), maxDepth, false, func(f file) bool { return use(f) && missing > 0 })
		}
	}
	for _, f := range unnamed {
		if missing == 0 {
			break
		}
		m, err := readMeta(f)
		if copies, wanted := found[m.id]; err == nil && wanted && m.id != "" {
			f.id = m.id
			found[m.id] = append(copies, f)
		}
	}
	return found, t.Err(name)
}

// days returns the directories that may contain the rollout of an ID with a time
// (UUID version 7). The directory is the day in an unknown local time.
func days(id string) []string {
	if len(id) != uuidLen || id[14] != '7' {
		return nil
	}
	ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	if err != nil {
		return nil
	}
	var names []string
	for _, d := range []int{0, 1, -1} {
		names = append(names, filepath.FromSlash(time.UnixMilli(ms).UTC().AddDate(0, 0, d).Format(dayLayout)))
	}
	return names
}

// all finds every rollout, newest first.
func (p *provider) all(ctx context.Context) ([]file, error) {
	var files []file
	t := newTree(ctx)
	use := func(f file) bool { files = append(files, f); return true }
	for _, root := range p.roots {
		t.visit(filepath.Join(root, live), maxDepth, false, use)
		t.visit(filepath.Join(root, archived), 0, true, use)
	}
	order.Sort(files, func(a, b file) int { return cmp.Compare(b.stamp, a.stamp) })
	return files, t.Err(name)
}

// between finds the rollouts whose names have a local time in this range.
func (p *provider) between(ctx context.Context, from, to time.Time) ([]file, error) {
	first, last := from.Format(stampLayout), to.Format(stampLayout)
	var files []file
	t := newTree(ctx)
	use := func(f file) bool {
		if f.stamp >= first && f.stamp <= last {
			files = append(files, f)
		}
		return true
	}
	const manyDays = 62
	for _, root := range p.roots {
		t.visit(filepath.Join(root, archived), 0, true, use)
		if to.Sub(from) > manyDays*24*time.Hour {
			t.visit(filepath.Join(root, live), maxDepth, false, use)
			continue
		}
		for d := from; ; d = d.AddDate(0, 0, 1) {
			t.visit(filepath.Join(root, live, filepath.FromSlash(d.Format(dayLayout))), 0, false, use)
			if d.Format(time.DateOnly) >= to.Format(time.DateOnly) {
				break
			}
		}
	}
	return files, t.Err(name)
}

// open opens a rollout for reading and decompresses it.
func (f file) open() (io.ReadCloser, error) {
	src, err := thread.OpenFile(f.path())
	if err != nil || !f.packed {
		return src, err
	}
	dec, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(32<<20))
	if err != nil {
		return nil, errors.Join(thread.UnreadableError(f.path(), err), src.Close())
	}
	return &unpacked{dec, src, max(minUnpacked, maxRatio*src.Size())}, nil
}

// The decompressed size of a rollout is at most maxRatio times its compressed size,
// which is far more than text needs, or minUnpacked.
const (
	maxRatio    = 1000
	minUnpacked = 64 << 20
)

var errTooLarge = fmt.Errorf("the decompressed size is more than %d times that of the file", maxRatio)

// An unpacked reads a compressed file. Its errors distinguish damaged compression
// from a failure to read.
type unpacked struct {
	dec  *zstd.Decoder
	src  *thread.File
	left int64 // bytes that may be read
}

func (u *unpacked) Read(b []byte) (int, error) {
	if u.left <= 0 {
		return 0, errTooLarge
	}
	n, err := u.dec.Read(b)
	u.left -= int64(n)
	if err != nil && err != io.EOF && !errors.As(err, new(*fs.PathError)) {
		err = fmt.Errorf("damaged compression: %w", err)
	}
	return n, err
}

func (u *unpacked) Close() error {
	u.dec.Close()
	return u.src.Close()
}
