package codex

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A meta is the first record of a rollout. Later records of its kind describe
// other threads.
type meta struct {
	found                           bool // otherwise the rollout has no such record
	id, parent, forkedFrom          string
	subagent                        bool
	nickname, role, path            string
	cwd, branch, commit, repository string
	version, provider               string
	started                         time.Time
	itemized                        bool  // the calls of scripts have records
	historyStart                    int64 // records with a smaller ordinal were copied from the parent; 0: none
	base                            base
}

// A base is the end of the part of another thread's rollout that comes before this one:
// an ordinal or, if that is missing, a number of bytes.
type base struct {
	thread         string // "" if there is none
	ordinal, bytes int64
}

// copies reports whether the rollout has, or refers to, records of other threads.
func (m meta) copies() bool { return m.forkedFrom != "" || m.base.thread != "" || m.historyStart > 0 }

// file returns the file of a rollout.
func file(f *engine.Found) engine.File {
	file := engine.File{Path: f.Path, Loose: true}
	if f.Packed {
		file.Unpack = unpack
	}
	return file
}

// heads are readers for first records, which are long.
var heads = sync.Pool{New: func() any { return jsonl.NewReaderSize(nil, 32<<10) }}

// readMeta reads the meta of a rollout.
func readMeta(f *engine.Found) (meta, error) {
	src, err := openRollout(f)
	if err != nil {
		return meta{}, err
	}
	defer src.Close()
	rd := heads.Get().(*jsonl.Reader)
	defer heads.Put(rd)
	rd.Reset(src)
	const maxLines = 10
	for range maxLines {
		if !rd.Next() {
			break
		}
		line := rd.Line()
		switch kind := line.Get("type"); {
		case kind.Is("session_meta"):
			return parseMeta(line.Get("payload")), nil
		case kind.Kind() == jsonl.Absent && line.Get("id").Kind() == jsonl.String:
			return parseMeta(line), nil // before 0.32 records had no envelope
		}
	}
	return meta{}, nil
}

func parseMeta(v jsonl.Value) meta {
	var r jsonl.Members
	r.Parse(v)
	text := func(name string, path ...string) string { return r.Get(name, path...).Text() }
	spawn := r.Get("source", "subagent", "thread_spawn")
	spawned := func(name string) string { return cmp.Or(text(name), spawn.Get(name).Text()) }
	m := meta{
		found: true, id: text("id"), parent: spawned("parent_thread_id"), forkedFrom: text("forked_from_id"),
		nickname: spawned("agent_nickname"), path: spawned("agent_path"), role: spawned("agent_role"),
		cwd: text("cwd"), branch: text("git", "branch"), commit: text("git", "commit_hash"),
		repository: text("git", "repository_url"), version: text("cli_version"), provider: text("model_provider"),
		started:      r.Get("timestamp").Time(),
		itemized:     r.Get("history_mode").Is("paginated") && itemizes(text("cli_version")),
		historyStart: r.Get("subagent_history_start_ordinal").Int(),
		base: base{text("history_base", "thread_id"), r.Get("history_base", "end_ordinal_exclusive").Int(),
			r.Get("history_base", "end_byte_offset").Int()},
	}
	// source.subagent is a role, or what the parent's call contained.
	kind := r.Get("source", "subagent")
	m.role = cmp.Or(m.role, kind.Text())
	m.subagent = m.parent != "" || r.Get("thread_source").Is("subagent") || kind.Kind() == jsonl.String ||
		kind.Kind() == jsonl.Object
	return m
}

// openRollout opens a rollout for reading and decompresses it.
func openRollout(f *engine.Found) (io.ReadCloser, error) {
	src, err := thread.OpenFile(f.Path)
	if err != nil || !f.Packed {
		return src, err
	}
	content, err := unpack(src)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return both{content, src}, nil
}

// A both is the content of a file, and the file.
type both struct {
	io.ReadCloser
	file io.Closer
}

func (b both) Close() error { return errors.Join(b.ReadCloser.Close(), b.file.Close()) }

// unpack returns the content of a compressed file.
func unpack(src *thread.File) (io.ReadCloser, error) {
	dec, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(32<<20))
	if err != nil {
		return nil, err
	}
	return &unpacked{dec, max(minUnpacked, maxRatio*src.Size())}, nil
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
	return nil
}
