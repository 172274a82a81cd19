package keep

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/codex"
	"github.com/agent-handoff/handoff/transcript"
)

const id = "019c871c-b1f9-7f60-9c4f-87ed09f13592"

// body returns a copy with the given entries.
func body(t *testing.T, entries ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	enc, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	tw := tar.NewWriter(enc)
	for _, h := range entries {
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		tw.Write(bytes.Repeat([]byte("x"), int(min(h.Size, 1<<20))))
	}
	tw.Flush()
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// headers returns a copy with headers of 1 KiB that no entries follow. It is compressed
// to almost nothing, however many there are.
func headers(t *testing.T, n int) []byte {
	t.Helper()
	var b, packed bytes.Buffer
	tw := tar.NewWriter(&b)
	if err := tw.WriteHeader(&tar.Header{Name: strings.Repeat("x", 300), Typeflag: tar.TypeReg,
		Format: tar.FormatPAX}); err != nil {
		t.Fatal(err)
	}
	const block = 512
	enc, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	enc.Write(bytes.Repeat(b.Bytes()[:b.Len()-block], n))
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func TestExtractHostile(t *testing.T) {
	file := func(name string, size int64) *tar.Header {
		return &tar.Header{Name: name, Size: size, Typeflag: tar.TypeReg}
	}
	valid := body(t, file("a/b", 10))
	for _, tt := range []struct {
		name string
		body []byte
		want string
	}{
		{"parent", body(t, file("../b", 1)), "not a file in the directory"},
		{"absolute", body(t, file("/tmp/b", 1)), "not a file in the directory"},
		{"current", body(t, file(".", 1)), "not a file in the directory"},
		{"link", body(t, &tar.Header{Name: "a", Linkname: "/etc", Typeflag: tar.TypeSymlink}), "not a file in the directory"},
		{"hard link", body(t, &tar.Header{Name: "a", Linkname: "/etc/passwd", Typeflag: tar.TypeLink}),
			"not a file in the directory"},
		{"device", body(t, &tar.Header{Name: "a", Typeflag: tar.TypeChar}), "not a file in the directory"},
		{"directory", body(t, &tar.Header{Name: "a/", Typeflag: tar.TypeDir}), "not a file in the directory"},
		{"settings of git", body(t, file("a/.git/config", 1)), "is inside .git"},
		{"too large", body(t, file("a", 101)), "larger than its record"},
		{"bomb", body(t, file("a", 1<<30)), "larger than its record"},
		{"too many", body(t, file("a", 1), file("b", 1), file("c", 1)), "more files than its record"},
		{"twice", body(t, file("a", 1), file("a", 1)), "exists"},
		{"file as directory", body(t, file("a", 1), file("a/b", 1)), "exists"},
		{"many directories", body(t, file(strings.Repeat("a/", 1000)+"b", 1)), "more than 32 directories"},
		{"headers without files", headers(t, 100), "larger than its record"},
		{"truncated", valid[:len(valid)/2], ""},
		{"other bytes", []byte("no archive"), ""},
	} {
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		err = Extract(t.Context(), bytes.NewReader(tt.body),
			handoff.ThreadKept{Thread: "agents://codex/" + id, Files: 2, TranscriptBytes: 100}, root)
		root.Close()
		if !errors.Is(err, handoff.Corrupt) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want a corrupt copy: %s", tt.name, err, tt.want)
		}
		filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if e.Type()&fs.ModeSymlink != 0 {
				t.Errorf("%s: extracted a link", tt.name)
			}
			return err
		})
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := Extract(t.Context(), bytes.NewReader(valid), handoff.ThreadKept{Files: 1, TranscriptBytes: 10},
		root); err != nil {
		t.Errorf("a valid copy: %v", err)
	}
}

func home(t *testing.T, text string) (*thread.Set, string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, ".codex", "sessions", "2026", "02", "23", "rollout-2026-02-23T00-00-00-"+id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	lines := `{"type":"session_meta","payload":{"id":"` + id + `"}}` + "\n" +
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"` + text +
		`"}]}}` + "\n"
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return thread.NewSet([]thread.Driver{codex.Driver()}, func(string) string { return "" }, dir), path
}

func plan(t *testing.T, set *thread.Set, redact bool) *Plan {
	t.Helper()
	v, err := set.Open(t.Context(), thread.URI{Provider: "codex", Thread: id})
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(t.Context(), set, v, redact)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestChanges changes a transcript between the plan and the copy. What was appended is
// not in the copy; any other change is an error.
func TestChanges(t *testing.T) {
	set, path := home(t, "build it")
	p := plan(t, set, false)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := p.Write(t.Context(), &first); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(before, "{}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context(), &second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("after an append: %d bytes, %v, want the same %d", second.Len(), err, first.Len())
	}
	if err := os.WriteFile(path, before[:40], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context(), &second); !errors.Is(err, handoff.Conflict) {
		t.Errorf("after it was truncated: got %v, want a conflict", err)
	}
}

// TestSecretAfterPlan has a secret of the same length as what it replaces, so that only
// the number of secrets shows the change.
func TestSecretAfterPlan(t *testing.T) {
	token := "ghp_" + strings.Repeat("a1B2", 9)
	set, path := home(t, strings.Repeat("x", len(token)))
	p := plan(t, set, false)
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, bytes.Replace(b, []byte(strings.Repeat("x", len(token))), []byte(token), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context(), new(bytes.Buffer)); !errors.Is(err, handoff.Conflict) {
		t.Errorf("got %v, want a conflict", err)
	}
}

// TestFindings checks that a finding has the place of a secret and nothing of it.
func TestFindings(t *testing.T) {
	token := "ghp_" + strings.Repeat("a1B2", 9)
	set, _ := home(t, "use "+token+" and "+token)
	p := plan(t, set, true)
	want := transcript.Secret{Kind: "GitHub token", Thread: "agents://codex/" + id, Message: 1, Count: 2}
	if len(p.Findings) != 1 || p.Findings[0] != want || p.Secrets != 2 {
		t.Errorf("got %d secrets, %+v, want 2, %+v", p.Secrets, p.Findings, want)
	}
}

// A sink reads bodies and stores none.
type sink struct {
	handoff.Bodies
	stored int
}

func (s *sink) Put(_ context.Context, from io.Reader) (d handoff.Digest, err error) {
	if _, err = io.Copy(io.Discard, from); err == nil {
		s.stored++
	}
	return d, err
}

// TestKeepAllContinues has threads that can't be kept: one that is repeated so
// often that its copy could not be opened, and one that changes while it is read. The
// others are looked at, and no body is stored.
func TestKeepAllContinues(t *testing.T) {
	set, path := home(t, "build it")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(`{"type":"event_msg","payload":{"type":"progress","text":"` + strings.Repeat("abcdefghij ", 6<<10) +
		`"}}` + "\n")
	for size := 0; size <= minUnpacked; size += len(line) {
		if _, err := f.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	uris := []string{"agents://codex/" + id, "agents://codex/019c871c-b1f9-7f60-9c4f-000000000000"}
	for _, dry := range []bool{true, false} {
		to := new(sink)
		k := Keeper{Bodies: to, Set: set}
		done, err := k.KeepAll(t.Context(), uris, 0, Options{DryRun: dry})
		if err != nil || len(done) != 2 || done[0].Status != transcript.Unsupported || done[1].Status != transcript.Missing ||
			done[0].Reason == "" || to.stored > 0 {
			t.Errorf("dry run %v: got %+v, %v with %d bodies, want unsupported and missing", dry, done, err, to.stored)
		}
		if done, err := k.KeepAll(t.Context(), uris, 2, Options{DryRun: dry}); !errors.Is(err, handoff.Unsupported) ||
			len(done) > 0 {
			t.Errorf("dry run %v, named: got %+v, %v, want the reason as an error", dry, done, err)
		}
	}
	r, err := unread(transcript.Copy{URI: uris[0], Status: transcript.Kept, Files: 1}, handoff.E("", "",
		handoff.Conflict, nil))
	if err != nil || r.Status != transcript.Missing || r.Files != 0 {
		t.Errorf("a transcript that changes: got %+v, %v, want missing", r, err)
	}
}

// TestPackedBomb checks that a compressed transcript is read up to a limit.
func TestPackedBomb(t *testing.T) {
	var b bytes.Buffer
	enc, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(enc, repeated("line\n"), minUnpacked+1); err != nil {
		t.Fatal(err)
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.jsonl"+packed)
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	n, err := (&file{path: path}).copyTo(t.Context(), io.Discard, false, nil)
	if err != nil || n != minUnpacked {
		t.Errorf("%d bytes of %d were read, %v, want %d", n, minUnpacked+1, err, minUnpacked)
	}
}

// repeated is a text without an end.
type repeated string

func (r repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r[i%len(r)]
	}
	return len(p), nil
}
