package codex

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
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/agent-handoff/handoff/thread"
)

const (
	live     = "sessions"
	archived = "archived_sessions"
	plain    = ".jsonl"
	packed   = ".jsonl.zst"
	uuidLen  = 36

	stampLayout = "2006-01-02T15-04-05"
	maxDepth    = 8 // folders below sessions; the tool makes three
)

// A file is a rollout as its name tells it.
type file struct {
	dir, name string
	id        string // "" where the name ends in no UUID
	stamp     string // the local time in its name, as 2026-02-23T06-54-42; "" where there is none
	archived  bool
	packed    bool
}

// parseName reads the name of a file; ok says whether it may be a rollout.
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

func (f file) path() string { return filepath.Join(f.dir, f.name) }

// better orders copies of one thread: what is still written before what was put
// away, plain before compressed.
func better(a, b file) int {
	rank := func(f file) int {
		n := 0
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

// A tree reads folders, each at most once.
type tree struct {
	*thread.Walk
	read map[string]bool
}

func newTree(ctx context.Context) *tree { return &tree{thread.NewWalk(ctx), map[string]bool{}} }

// folder calls use for the rollouts in dir and for those in the folders below
// it, newest name first, down to depth, until use returns false.
func (t *tree) folder(dir string, depth int, isArchived bool, use func(file) bool) bool {
	if t.read[dir] {
		return true
	}
	entries := t.Folder(dir)
	t.read[dir] = depth == 0
	for _, e := range slices.Backward(entries) {
		if e.IsDir() {
			if depth > 0 && !t.folder(filepath.Join(dir, e.Name()), depth-1, isArchived, use) {
				return false
			}
			continue
		}
		f, ok := parseName(dir, e.Name(), isArchived)
		if ok && (e.Type().IsRegular() || thread.Regular(f.path(), e.Type())) && !use(f) {
			return false
		}
	}
	return !t.Done()
}

// locate finds all copies of the rollouts of these ids. Where an id tells its
// time, and for Codex it does, that is a matter of three folders; all folders
// are read, once, if one of the ids is not found there.
func (p *provider) locate(ctx context.Context, ids ...string) (map[string][]file, error) {
	found := map[string][]file{}
	for _, id := range ids {
		found[id] = nil
	}
	t := newTree(ctx)
	missing := len(found)
	var strangers []file
	use := func(f file) bool {
		copies, wanted := found[f.id]
		if f.id == "" {
			strangers = append(strangers, f)
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
		t.folder(filepath.Join(root, archived), 0, true, use)
		for _, id := range ids {
			for _, day := range days(id) {
				t.folder(filepath.Join(root, live, day), 0, false, use)
			}
		}
	}
	for _, root := range p.roots {
		if missing > 0 {
			t.folder(filepath.Join(root, live), maxDepth, false, func(f file) bool { return use(f) && missing > 0 })
		}
	}
	if missing > 0 {
		askInside(found, strangers)
	}
	return found, t.Err(p.name)
}

// askInside looks for ids in the files whose names tell none.
func askInside(found map[string][]file, strangers []file) {
	for _, f := range strangers {
		m, err := readMeta(f)
		if copies, wanted := found[m.id]; err == nil && wanted && m.id != "" {
			found[m.id] = append(copies, f)
		}
	}
}

// days names the folders in which the rollout of an id that tells its time
// (UUID version 7) lies: the folder is a day in local time.
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
		names = append(names, filepath.FromSlash(time.UnixMilli(ms).UTC().AddDate(0, 0, d).Format("2006/01/02")))
	}
	return names
}

// all finds every rollout, newest first.
func (p *provider) all(ctx context.Context) ([]file, error) {
	var files []file
	t := newTree(ctx)
	use := func(f file) bool { files = append(files, f); return true }
	for _, root := range p.roots {
		t.folder(filepath.Join(root, live), maxDepth, false, use)
		t.folder(filepath.Join(root, archived), 0, true, use)
	}
	slices.SortStableFunc(files, func(a, b file) int { return cmp.Compare(b.stamp, a.stamp) })
	return files, t.Err(p.name)
}

// between finds the rollouts whose names tell a local time from one to another.
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
		t.folder(filepath.Join(root, archived), 0, true, use)
		if to.Sub(from) > manyDays*24*time.Hour {
			t.folder(filepath.Join(root, live), maxDepth, false, use)
			continue
		}
		for d := from; ; d = d.AddDate(0, 0, 1) {
			t.folder(filepath.Join(root, live, filepath.FromSlash(d.Format("2006/01/02"))), 0, false, use)
			if d.Format(time.DateOnly) >= to.Format(time.DateOnly) {
				break
			}
		}
	}
	return files, t.Err(p.name)
}

// open opens a rollout for reading from its start, decompressed. The error has a
// kind.
func (f file) open() (io.ReadCloser, error) {
	src, err := thread.OpenFile(f.path())
	if err != nil || !f.packed {
		return src, err
	}
	dec, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(32<<20))
	if err != nil {
		return nil, errors.Join(thread.Unreadable(f.path(), err), src.Close())
	}
	return unpacked{dec, src}, nil
}

// An unpacked is a compressed file, read. Its errors say that they are of the
// compression, as far as they are.
type unpacked struct {
	dec *zstd.Decoder
	src *os.File
}

func (u unpacked) Read(b []byte) (int, error) {
	n, err := u.dec.Read(b)
	if err != nil && err != io.EOF && !errors.As(err, new(*fs.PathError)) {
		err = fmt.Errorf("its compression is damaged: %w", err)
	}
	return n, err
}

func (u unpacked) Close() error {
	u.dec.Close()
	return u.src.Close()
}
