package keep

import (
	"archive/tar"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/codex"
	"github.com/agent-handoff/handoff/thread/crush"
	"github.com/agent-handoff/handoff/thread/goose"
)

// A shelf has one body.
type shelf struct {
	handoff.Bodies
	body []byte
}

func (s shelf) Open(context.Context, handoff.Digest) (io.ReadSeekCloser, error) {
	return struct {
		io.ReadSeeker
		io.Closer
	}{bytes.NewReader(s.body), io.NopCloser(nil)}, nil
}

// writeCrush writes the database of a project with a session, and returns its path.
func writeCrush(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "crush.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("CREATE TABLE sessions (id TEXT, created_at INTEGER); CREATE TABLE messages (id TEXT, session_id " +
		"TEXT, role TEXT, parts TEXT); INSERT INTO sessions VALUES ('" + id + "', 1)")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// packFiles returns a copy with the given files.
func packFiles(t *testing.T, files map[string][]byte) (handoff.KeptThread, []byte) {
	t.Helper()
	var b bytes.Buffer
	enc, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	tw := tar.NewWriter(enc)
	k := handoff.KeptThread{ThreadKept: handoff.ThreadKept{Digest: handoff.Digest{Algorithm: handoff.SHA256, Value: "d"}}}
	for name, content := range files {
		if err := tw.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(content); err != nil {
			t.Fatal(err)
		}
		k.Files++
		k.TranscriptBytes += int64(len(content))
	}
	if err := errors.Join(tw.Close(), enc.Close()); err != nil {
		t.Fatal(err)
	}
	return k, b.Bytes()
}

// TestOpenHostile opens copies that another machine may have written.
func TestOpenHostile(t *testing.T) {
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	set := thread.NewSet([]thread.Driver{codex.Driver(), goose.Driver(), crush.Driver()}, func(string) string {
		return ""
	}, t.TempDir())
	database := writeCrush(t)
	rollout := "sessions/2026/02/23/rollout-2026-02-23T00-00-00-" + id + ".jsonl"
	other := strings.ReplaceAll(rollout, id, "019c871c-b1f9-7f60-9c4f-000000000000")
	valid := []byte(`{"type":"session_meta","payload":{"id":"` + id + `"}}` + "\n")
	for _, tt := range []struct {
		name, uri string
		files     map[string][]byte
		change    func(k *handoff.KeptThread, body []byte) []byte
		threads   int
		kind      error
	}{
		{"valid", "agents://codex/" + id, map[string][]byte{rollout: valid}, nil, 1, nil},
		{"another thread", "agents://codex/" + id, map[string][]byte{other: valid}, nil, 0, nil},
		{"damaged", "agents://codex/" + id, map[string][]byte{rollout: valid}, func(_ *handoff.KeptThread, b []byte) []byte {
			return b[:len(b)/2]
		}, 0, handoff.Corrupt},
		{"not a copy", "agents://codex/" + id, nil, func(*handoff.KeptThread, []byte) []byte {
			return []byte("text")
		}, 0, handoff.Corrupt},
		{"bomb", "agents://codex/" + id, map[string][]byte{rollout: make([]byte, minUnpacked+1)}, nil, 0, handoff.Corrupt},
		{"more than stated", "agents://codex/" + id, map[string][]byte{rollout: valid},
			func(k *handoff.KeptThread, b []byte) []byte { k.TranscriptBytes--; return b }, 0, handoff.Corrupt},
		{"damaged database", "agents://goose/20260101_1",
			map[string][]byte{"sessions/sessions.db": []byte("SQLite format 3\x00" + strings.Repeat("x", 5000))}, nil, 0,
			handoff.Corrupt},
		{"database outside", "agents://crush/" + id,
			map[string][]byte{"projects.json": []byte(`{"projects":[{"path":"/x","data_dir":"` + filepath.Dir(database) +
				`"}]}`)}, nil, 0, handoff.Corrupt},
	} {
		k, body := packFiles(t, tt.files)
		k.Thread = tt.uri
		if tt.change != nil {
			body = tt.change(&k, body)
		}
		c := new(Copies)
		list, err := c.threads(t.Context(), Store{Bodies: shelf{body: body}, Set: set}, k)
		if len(list) != tt.threads || !errors.Is(err, tt.kind) {
			t.Errorf("%s: got %d threads, %v, want %d, %v", tt.name, len(list), err, tt.threads, tt.kind)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if entries, err := os.ReadDir(scratch); err != nil || len(entries) > 0 {
			t.Errorf("%s: got %v, %v in the directory of temporary files, want none", tt.name, entries, err)
		}
	}
}

// TestManyExtracted checks that the extracted copies are bounded.
func TestManyExtracted(t *testing.T) {
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	k, body := packFiles(t, map[string][]byte{"a": []byte("x")})
	c := new(Copies)
	for i := range maxExtracted + 10 {
		k.Digest.Value = strings.Repeat("d", i+1)
		if _, err := c.extracted(t.Context(), shelf{body: body}, k.ThreadKept); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(scratch); err != nil || len(entries) != maxExtracted {
		t.Errorf("got %d directories, %v, want %d", len(entries), err, maxExtracted)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestIsOf has the keys of transcripts as the providers form them.
func TestIsOf(t *testing.T) {
	for key, want := range map[string]bool{
		"/p/x/" + id + ".jsonl": true,
		"/p/x/" + id + ".json":  true,
		"/s/2026/rollout-2026-02-23t00-00-00-" + id + ".jsonl.zst": true,
		"/g/chats/session-2026-02-23t00-00-019c871c.json":          true,
		"/c/" + id + "/events.jsonl#/" + id:                        true,
		"/o/opencode.db#" + id:                                     true,
		"/p/x/" + id + "/subagents/agent-a1.jsonl":                 false,
		"/o/goose.db#" + id + "/child":                             false,
		"/p/x/019c871c-0000-0000-0000-000000000000.jsonl":          false,
	} {
		if got := isOf(key, id); got != want {
			t.Errorf("%s: got %v, want %v", key, got, want)
		}
	}
}

// TestCleaned removes files that were extracted, as a cleaner of temporary files does.
// They are extracted again.
func TestCleaned(t *testing.T) {
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	k, body := packFiles(t, map[string][]byte{"a": []byte("x"), "d/b": []byte("y")})
	c := new(Copies)
	for _, remove := range []string{"", "a", "d/b", "d", "."} {
		dir, err := c.extracted(t.Context(), shelf{body: body}, k.ThreadKept)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := c.extracted(t.Context(), shelf{body: body}, k.ThreadKept); err != nil || again != dir {
			t.Errorf("without %q: got %s, %v, want %s", remove, again, err, dir)
		}
		for _, name := range []string{"a", "d/b"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("after a removal: %v", err)
			}
		}
		if remove != "" {
			if err := os.RemoveAll(filepath.Join(dir, remove)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(scratch); err != nil || len(entries) > 0 {
		t.Errorf("got %v, %v, want no temporary files", entries, err)
	}
}
