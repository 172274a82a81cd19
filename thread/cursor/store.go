package cursor

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"iter"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A store reads one database: values by name, and blobs that refer to each other by
// the hash of their content. The blob that meta names is the last state of the
// thread. It consists of binary fields, some of which are hashes of messages, in
// order, or of further such blobs.
type store struct {
	get  func(query string, args ...any) ([]byte, error)
	seen map[string]bool
	use  func(n int, message jsonl.Value) bool
	n    int
	lost int  // blobs that are missing or too long
	stop bool // use returned false
}

// head returns the metadata in a store.
func (s *store) head() (jsonl.Value, error) {
	b, err := s.get("SELECT value FROM meta WHERE key = '0' AND octet_length(value) < 1048576")
	if err != nil {
		return nil, err
	}
	if decoded, err := hex.DecodeString(string(b)); err == nil {
		b = decoded
	}
	return jsonl.Value(b), nil
}

const (
	hashLen  = 32
	maxDepth = 8       // of blobs that refer to blobs
	maxBlobs = 1 << 20 // of a thread
)

// blob returns a blob, nil if it is missing or too long.
func (s *store) blob(id string) ([]byte, error) {
	b, err := s.get("SELECT data FROM blobs WHERE id = ? AND octet_length(data) <= ?", id, jsonl.MaxLine)
	if b == nil && err == nil {
		s.lost++
	}
	return b, err
}

// walk passes the messages that a blob refers to, in order.
func (s *store) walk(id string, depth int) error {
	if s.seen[id] || depth > maxDepth || len(s.seen) >= maxBlobs || s.stop {
		return nil
	}
	s.seen[id] = true
	b, err := s.blob(id)
	if err != nil || b == nil {
		return err
	}
	if v := jsonl.Value(b); v.Kind() == jsonl.Object {
		s.n++
		s.stop = !s.use(s.n, v)
		return nil
	}
	for ref := range fields(b) {
		if len(ref) == hashLen {
			if err := s.walk(hex.EncodeToString(ref), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// fields yields the fields with bytes of a message in the binary format of Protocol
// Buffers, up to the first one that is malformed.
func fields(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			tag, n := binary.Uvarint(b)
			if n <= 0 {
				return
			}
			b = b[n:]
			skip := 0
			switch tag & 7 {
			case 0:
				_, skip = binary.Uvarint(b)
			case 1:
				skip = 8
			case 5:
				skip = 4
			case 2:
				size, n := binary.Uvarint(b)
				if n <= 0 || size > uint64(len(b)-n) {
					return
				}
				skip = n + int(size)
				if !yield(b[n:skip]) {
					return
				}
			}
			if skip <= 0 || skip > len(b) {
				return
			}
			b = b[skip:]
		}
	}
}

// openStore sets the metadata of a thread from its database.
func openStore(_ *thread.Walk, t *thread.Thread) {
	path, model := t.Source, ""
	err := engine.Database(path).View(context.Background(), func(get func(string, ...any) ([]byte, error)) error {
		s := &store{get: get}
		meta, err := s.head()
		if err != nil {
			return err
		}
		t.Title, model = meta.Get("name").Text(), meta.Get("lastUsedModel").Text()
		if t.Started = meta.Get("createdAt").Timestamp(); model == "default" {
			model = "" // the tool chose it
		}
		root, err := s.blob(meta.Get("latestRootBlobId").Text())
		t.Cwd = directory(root)
		return err
	})
	if err != nil {
		t.Warn("the database can't be read: %v", err)
	}
	part := &engine.Part{Database: engine.Database(path),
		Rows: []engine.Rows{{Table: "meta", Key: "key"}, {Table: "blobs", Key: "id"}}}
	t.Reader = &engine.Reader{Unit: "message", Source: storeSource(path), Part: part,
		New: func(scan *engine.Scan) engine.Decoder {
			return &decode{Scan: scan, model: model}
		}}
}

// directory returns the working directory, which is a field of the last state.
func directory(root []byte) string {
	for f := range fields(root) {
		if path, ok := bytes.CutPrefix(f, []byte("file://")); ok {
			return strings.ToValidUTF8(string(path), "\uFFFD")
		}
	}
	return ""
}

// storeSource is the source of the messages in a database.
func storeSource(path string) engine.Source {
	return func(ctx context.Context, scan *engine.Scan, use func(int, jsonl.Value) bool) error {
		facts := &scan.Facts
		return engine.Database(path).View(ctx, func(get func(string, ...any) ([]byte, error)) error {
			s := &store{get: get, seen: map[string]bool{}, use: use}
			meta, err := s.head()
			if root := meta.Get("latestRootBlobId").Text(); err == nil && root != "" {
				err = s.walk(root, 0)
			}
			facts.Lines = s.n
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				facts.Partial = true
				facts.Warn("the database is damaged: %v", err)
			case s.lost > 0:
				facts.Warn("%d messages are missing or longer than %d MiB: left out", s.lost, jsonl.MaxLine>>20)
			}
			return nil
		})
	}
}
