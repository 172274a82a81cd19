package content_test

import (
	"github.com/agent-handoff/handoff/engines/memory"
	"github.com/agent-handoff/handoff/storage"

	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"pgregory.net/rapid"
)

func root(t *testing.T, dir string) *os.Root {
	t.Helper()
	r, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree creates a directory with the given entries, in the given order.
func tree(t *testing.T, names []string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		full := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		switch {
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(full, 0o755))
		case strings.HasSuffix(name, ".link"):
			must(t, os.Symlink("a/b.txt", full))
		case strings.HasSuffix(name, ".sh"):
			must(t, os.WriteFile(full, []byte("#!/bin/sh\n"), 0o755))
		default:
			must(t, os.WriteFile(full, []byte(strings.Repeat(name, 1000)), 0o600))
		}
	}
	return dir
}

func pack(t *testing.T, dir string) []byte {
	t.Helper()
	r := content.Pack(t.Context(), root(t, dir), nil)
	defer r.Close()
	b, err := io.ReadAll(r)
	must(t, err)
	return b
}

// described returns one line for each file in dir.
func described(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		content, _ := os.ReadFile(name)
		link, _ := os.Readlink(name)
		info, _ := d.Info()
		fmt.Fprintf(&b, "%s %v %v %s %x\n", rel, d.Type(), info.Mode()&0o100 != 0, link, sha256.Sum256(content))
		return err
	}))
	return b.String()
}

func TestPackIsDeterministic(t *testing.T) {
	names := []string{"a/b.txt", "a.txt", "empty/", "run.sh", "x.link",
		"ünïcode " + strings.Repeat("long", 50) + "/" + strings.Repeat("n", 120)}
	one := tree(t, names)
	slices.Reverse(names)
	two := tree(t, names)
	must(t, os.Chtimes(filepath.Join(two, "a.txt"), time.Unix(1, 0), time.Unix(1, 0)))
	a, b := pack(t, one), pack(t, two)
	if !bytes.Equal(a, b) {
		t.Error("the same content packs differently")
	}
	into := t.TempDir()
	must(t, content.Unpack(t.Context(), bytes.NewReader(a), root(t, into)))
	if got, want := described(t, into), described(t, one); got != want {
		t.Errorf("unpacked:\n%s\nwant:\n%s", got, want)
	}
	if !bytes.Equal(pack(t, into), a) {
		t.Error("what was unpacked packs differently")
	}
}

func TestPackRefuses(t *testing.T) {
	for name, link := range map[string]string{"absolute": "/etc/passwd", "above": "../x", "above, later": "a/../../x",
		"through a link": "here/../.."} {
		dir := tree(t, []string{"a/b.txt"})
		must(t, os.Symlink(".", filepath.Join(dir, "here")))
		must(t, os.Symlink(link, filepath.Join(dir, "l")))
		r := content.Pack(t.Context(), root(t, dir), nil)
		if _, err := io.ReadAll(r); !errors.Is(err, handoff.Invalid) {
			t.Errorf("a link %s: %v, want kind Invalid", name, err)
		}
	}
	for _, name := range []string{"a/.git/config", ".GIT", "a/b/.handoff/log/ID"} {
		r := content.Pack(t.Context(), root(t, tree(t, []string{"a/b.txt", name})), nil)
		if _, err := io.ReadAll(r); !errors.Is(err, handoff.Invalid) {
			t.Errorf("%s: %v, want kind Invalid", name, err)
		}
	}
}

// TestUnpackStaysInside unpacks tars that Pack never makes: each is refused, and
// nothing outside the directory is touched.
func TestUnpackStaysInside(t *testing.T) {
	for name, headers := range map[string][]tar.Header{
		"above":            {{Name: "../evil", Typeflag: tar.TypeReg}},
		"absolute":         {{Name: "/tmp/evil", Typeflag: tar.TypeReg}},
		"through a link":   {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: ".."}, {Name: "l/evil", Typeflag: tar.TypeReg}},
		"a link out":       {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "../outside"}},
		"an absolute link": {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc"}},
		"links of links": {{Name: "s", Typeflag: tar.TypeSymlink, Linkname: "."},
			{Name: "t", Typeflag: tar.TypeSymlink, Linkname: "s/../outside"}},
		"a hard link":     {{Name: "h", Typeflag: tar.TypeLink, Linkname: "../outside/kept"}},
		"a pipe":          {{Name: "p", Typeflag: tar.TypeFifo}},
		"settings of git": {{Name: ".git/", Typeflag: tar.TypeDir}, {Name: ".git/config", Typeflag: tar.TypeReg}},
		"in upper case":   {{Name: "a/", Typeflag: tar.TypeDir}, {Name: "a/.GIT", Typeflag: tar.TypeReg}},
		"invisible":       {{Name: ".g\u200cit", Typeflag: tar.TypeReg}},
		"a link to git":   {{Name: ".git", Typeflag: tar.TypeSymlink, Linkname: "a"}},
		"the log":         {{Name: ".handoff.", Typeflag: tar.TypeReg}},
		"twice":           {{Name: "a", Typeflag: tar.TypeReg}, {Name: "a", Typeflag: tar.TypeReg}},
	} {
		top := tree(t, []string{"into/", "outside/kept"})
		before := described(t, filepath.Join(top, "outside"))
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range headers {
			h.Mode = 0o644
			must(t, w.WriteHeader(&h))
		}
		must(t, w.Close())
		if err := content.Unpack(t.Context(), &b, root(t, filepath.Join(top, "into"))); err == nil {
			t.Errorf("%s: unpacked", name)
		}
		entries, _ := os.ReadDir(top)
		if after := described(t, filepath.Join(top, "outside")); after != before || len(entries) != 2 {
			t.Errorf("%s: something outside changed: %s", name, after)
		}
	}
}

// TestUnpackKinds unpacks a sound tar where that is not possible: the tar is not corrupt.
func TestUnpackKinds(t *testing.T) {
	late, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		file string
	}{"too late": {late, "a"}, "a name that is too long here": {t.Context(), strings.Repeat("n", 300)}} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		must(t, w.WriteHeader(&tar.Header{Name: tt.file, Mode: 0o644, Typeflag: tar.TypeReg}))
		must(t, w.Close())
		err := content.Unpack(tt.ctx, &b, root(t, t.TempDir()))
		if !errors.Is(err, handoff.Unavailable) || errors.Is(err, handoff.Corrupt) {
			t.Errorf("%s: %v, want kind Unavailable", name, err)
		}
	}
}

// TestSniff publishes files whose name has no extension: only text is text.
func TestSniff(t *testing.T) {
	long := strings.Repeat("a", 511)
	for body, want := range map[string]string{
		"":         "text/plain",
		"naïve\n":  "text/plain",
		"\xff\xfe": "application/octet-stream",
		"abc\xff":  "application/octet-stream",
		"ab\x00":   "application/octet-stream",
		"caf\xc3":  "application/octet-stream",
		long + "é": "text/plain", // the first 512 bytes end in a part of it
	} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "data"), []byte(body), 0o644))
		f := &content.Files{Root: root(t, dir)}
		p := &handoff.ArtifactPublished{Path: "data"}
		if _, err := f.Describe(t.Context(), handoff.Draft{Channel: "design", Path: "data"}, p, nil); err != nil ||
			p.MediaType != want {
			t.Errorf("%.20q of %d bytes is %s, %v, want %s", body, len(body), p.MediaType, err, want)
		}
	}
}

// TestUnpackSparse unpacks a tar of 3 KiB with a file of 1 MiB, most of which is a hole.
// Such a file could have any size.
func TestUnpackSparse(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	sizes := "1\n0\n1\n" // of the parts that are no hole
	data := sizes + strings.Repeat("\x00", 512-len(sizes)) + "x"
	must(t, w.WriteHeader(&tar.Header{Name: "a", Mode: 0o644, Size: int64(len(data)), Typeflag: tar.TypeReg,
		Format:     tar.FormatPAX,
		PAXRecords: map[string]string{"XXX.sparse.major": "1", "XXX.sparse.minor": "0", "XXX.sparse.realsize": "1048576"}}))
	_, err := w.Write([]byte(data))
	must(t, errors.Join(err, w.Close()))
	// package tar can read, but not write them
	sparse := bytes.ReplaceAll(b.Bytes(), []byte("XXX.sparse"), []byte("GNU.sparse"))
	dir := t.TempDir()
	if err := content.Unpack(t.Context(), bytes.NewReader(sparse), root(t, dir)); !errors.Is(err, handoff.Corrupt) {
		info, _ := os.Stat(filepath.Join(dir, "a"))
		t.Errorf("got %v, a file of %d bytes, want kind Corrupt", err, info.Size())
	}
}

// TestPages checks that the pages of a body make up its bytes, whatever the
// body, the size of the page and the unit.
func TestPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "\n", "line\n", "\r\n", "ü", "\x00"})).Draw(t,
			"text"), "")
		span := storage.Span{Limit: rapid.Int64Range(1, 9).Draw(t, "limit"), Bytes: rapid.Bool().Draw(t, "bytes"),
			Size: rapid.Int64Range(0, 9).Draw(t, "size")}
		total := int64(len(text))
		if !span.Bytes {
			total = int64(len(slices.Collect(strings.Lines(text))))
		}
		var got bytes.Buffer
		for {
			before := got.Len()
			page, err := content.CopyPage(&got, strings.NewReader(text), span)
			if rest := text[got.Len():]; errors.Is(err, handoff.Invalid) && !span.Bytes && span.Size > 0 &&
				int64(strings.IndexByte(rest+"\n", '\n')) >= span.Size {
				return // the line does not fit
			}
			if err != nil || page.Total != total {
				t.Fatalf("CopyPage(%+v) = %+v, %v, want a total of %d", span, page, err, total)
			}
			if page.Next == 0 {
				break
			}
			if page.Next != span.Offset+span.Limit &&
				(span.Size == 0 || page.Next <= span.Offset || page.Next > span.Offset+span.Limit) {
				t.Fatalf("CopyPage(%+v): next is %d", span, page.Next)
			}
			if page.Next > span.Offset+span.Limit || span.Size > 0 && !span.Bytes && int64(got.Len()-before) > span.Size {
				t.Fatalf("CopyPage(%+v): %d bytes, next is %d", span, got.Len()-before, page.Next)
			}
			span.Offset = page.Next
		}
		if got.String() != text {
			t.Fatalf("the pages make %q, want %q", got.String(), text)
		}
		var beyond bytes.Buffer
		if page, err := content.CopyPage(&beyond, strings.NewReader(text),
			storage.Span{Offset: total + 1, Bytes: span.Bytes}); err != nil || beyond.Len() > 0 || page.Next != 0 {
			t.Fatalf("beyond the end: %q, %+v, %v", beyond.String(), page, err)
		}
	})
}

// TestReferences compares the references of drawn records with an index: the body
// of an artifact that is not withdrawn is referenced, and of the other bodies only
// those that a record of a newer type may name.
func TestReferences(t *testing.T) {
	values := []string{logtest.DigestOf("a").Value, logtest.DigestOf("b").Value, logtest.DigestOf("c").Value}
	rapid.Check(t, func(t *rapid.T) {
		records := logtest.DrawRecords(t)
		named, live, strange := map[string]bool{}, map[string]bool{}, map[string]bool{}
		withdrawn := map[string]bool{}
		for i, r := range records {
			switch f := r.Fact.(type) {
			case *handoff.ArtifactPublished:
				if value := rapid.SampledFrom(append(values, "")).Draw(t, "body"); value != "" && f.Digest.Value == "" {
					f.Digest, f.Kept = handoff.Digest{Algorithm: handoff.SHA256, Value: value}, true
				}
				if rapid.Bool().Draw(t, "has a list of files") {
					f.Tree = &handoff.Tree{Digest: values[0], Changes: rapid.SampledFrom(values).Draw(t, "list")}
				}
			case *handoff.ArtifactWithdrawn:
				withdrawn[f.ArtifactID] = true
			case nil:
				if rapid.Bool().Draw(t, "names a body") {
					newer, err := handoff.ParseRecord(fmt.Appendf(nil,
						`{"version":2,"type":"moon.photographed","id":%q,"createdAt":"2026-11-21T03:00:00Z","photo":{"value":%q}}`, r.ID,
						values[0]))
					if err != nil {
						t.Fatal(err)
					}
					newer.Seq = r.Seq
					records[i] = newer
					strange[values[0]] = true
				}
			}
		}
		var needs content.References
		index := logtest.NewReference()
		for _, r := range records {
			needs.Add(r)
			if f, ok := r.Fact.(*handoff.ArtifactPublished); ok {
				for _, d := range handoff.BodiesOf(f) {
					named[d.Value] = true
					if !withdrawn[r.ID] {
						live[d.Value] = true
					}
				}
			}
		}
		if err := index.Apply(context.Background(), records...); err != nil {
			t.Fatal(err)
		}
		page, err := index.Artifacts(context.Background(), handoff.ArtifactQuery{IncludeInactive: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range page.Artifacts {
			if a.Kept && a.Status != handoff.Withdrawn && needs.Of(a.Digest) != storage.Referenced {
				t.Fatalf("the body of %s, which is %s, is %s", a.ID, a.Status, needs.Of(a.Digest))
			}
		}
		for _, value := range values {
			want := storage.Orphan
			switch {
			case live[value] || strange[value]:
				want = storage.Referenced
			case named[value]:
				want = storage.Withdrawn
			}
			d := handoff.Digest{Algorithm: handoff.SHA256, Value: value}
			if got := needs.Of(d); got != want {
				t.Fatalf("%s is %s, want %s", value[:4], got, want)
			}
			if id, ok := needs.Needed()[d]; ok != live[value] || ok && withdrawn[id] {
				t.Fatalf("Artifacts has %s: %q, want %v", value[:4], id, live[value])
			}
		}
	})
}

func TestReferencesWithLostRecord(t *testing.T) {
	var needs content.References
	needs.Add(handoff.Record{Version: 1, ID: "rec_1", Fact: &handoff.Gap{}})
	if got := needs.Of(logtest.DigestOf("a")); got != storage.Referenced {
		t.Errorf("where a record was lost, an unknown body is %s", got)
	}
}

// TestRewrittenWhilePublished publishes a file that a writer rewrites in a
// loop: the record's digest is always that of the kept bytes, and its size too.
func TestRewrittenWhilePublished(t *testing.T) {
	const tries = 1000
	dir := t.TempDir()
	file := filepath.Join(dir, "a.md")
	must(t, os.WriteFile(file, []byte("first"), 0o644))
	store := filelog.Open(filepath.Join(dir, ".handoff"), rand.Reader).Bodies()
	hub := handoff.New(memory.NewLog(), logtest.NewReference(), store,
		handoff.Options{Now: time.Now, Rand: rand.Reader, Files: &content.Files{Root: root(t, dir)}})
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			f.WriteAt(bytes.Repeat([]byte{byte('a' + i%26)}, 1+i*7919%200_000), 0) // inconsistent for a concurrent reader
			if i%3 == 0 {
				f.Truncate(int64(i * 31 % 50_000))
			}
			if i%2 == 0 {
				time.Sleep(100 * time.Microsecond)
			}
		}
	}()
	published := 0
	for range tries {
		p, err := hub.Publish(t.Context(), handoff.Draft{Channel: "design", Path: "a.md"})
		if errors.Is(err, handoff.Conflict) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		published++
		r, err := store.Open(t.Context(), p.Digest)
		if err != nil || !p.Kept {
			t.Fatalf("kept %v under %v: %v", p.Kept, p.Digest, err)
		}
		b, err := io.ReadAll(r)
		r.Close()
		if err != nil || logtest.DigestOf(string(b)) != p.Digest || int64(len(b)) != *p.SizeBytes {
			t.Fatalf("%d kept bytes, %v, of a record with %d and %v", len(b), err, *p.SizeBytes, p.Digest)
		}
	}
	close(stop)
	<-done
	t.Logf("%d of %d were published, the others refused", published, tries)
	if published == 0 {
		t.Error("nothing was published")
	}
}

// TestLinksStayInside publishes symbolic links that lead out of the workspace,
// which is refused, and links that lead to something inside.
func TestLinksStayInside(t *testing.T) {
	top := tree(t, []string{"w/a.txt", "w/d/b.txt", "outside/secret.txt", "outside/d/b.txt"})
	dir := filepath.Join(top, "w")
	hub := handoff.New(memory.NewLog(), logtest.NewReference(), nil,
		handoff.Options{Now: time.Now, Rand: rand.Reader, Files: &content.Files{Root: root(t, dir)}})
	for name, tt := range map[string]struct {
		link, path string
		kind       error
	}{
		"a file outside":           {"../outside/secret.txt", "l", handoff.Invalid},
		"a file outside, absolute": {filepath.Join(top, "outside/secret.txt"), "l", handoff.Invalid},
		"a directory outside":      {"../outside", "l", handoff.Invalid},
		"through a directory":      {"../outside", "l/secret.txt", handoff.Invalid},
		"back and out again":       {"d/../../outside/secret.txt", "l", handoff.Invalid},
		"the workspace's parent":   {"..", "l/outside/secret.txt", handoff.Invalid},
		"nothing":                  {"missing", "l", handoff.NotFound},
		"a file inside":            {"a.txt", "l", nil},
		"a file inside, absolute":  {filepath.Join(dir, "a.txt"), "l", nil},
		"a directory inside":       {"d", "l/b.txt", nil},
	} {
		must(t, os.Symlink(tt.link, filepath.Join(dir, "l")))
		p, err := hub.Publish(t.Context(), handoff.Draft{Channel: "design", Path: tt.path})
		if tt.kind == nil && err != nil || tt.kind != nil && !errors.Is(err, tt.kind) {
			t.Errorf("a link to %s: got %s, %v, want kind %v", name, p.ID, err, tt.kind)
		}
		must(t, os.Remove(filepath.Join(dir, "l")))
	}
}

// TestSizeMustMatch publishes a file whose size, as the system reports it, is not
// the number of its bytes: a record with that size would be wrong.
func TestSizeMustMatch(t *testing.T) {
	b, err := os.ReadFile("/proc/version")
	info, statErr := os.Stat("/proc/version")
	if err != nil || statErr != nil || info.Size() == int64(len(b)) {
		t.Skip("no file of a wrong size on this system")
	}
	log := memory.NewLog()
	hub := handoff.New(log, logtest.NewReference(), nil,
		handoff.Options{Now: time.Now, Rand: rand.Reader, Files: &content.Files{Root: root(t, "/proc")}})
	if p, err := hub.Publish(t.Context(), handoff.Draft{Channel: "design", Path: "version"}); !errors.Is(err,
		handoff.Conflict) {
		t.Errorf("published %d bytes as %d, %v, want kind Conflict", len(b), *p.SizeBytes, err)
	}
}

// A changingStore appends to a file before it reads a body, the first times.
type changingStore struct {
	handoff.Bodies
	file           string
	times, started int
}

func (s *changingStore) Put(ctx context.Context, r io.Reader) (handoff.Digest, error) {
	if s.started++; s.started <= s.times {
		f, err := os.OpenFile(s.file, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return handoff.Digest{}, err
		}
		f.WriteString("more")
		f.Close()
	}
	return s.Bodies.Put(ctx, r)
}

// TestSizeChangesWhileKept holds that a file which grows while it is kept is read
// once more, and refused if it grows again.
func TestSizeChangesWhileKept(t *testing.T) {
	for _, tt := range []struct {
		times, started int
		kind           error
	}{{0, 1, nil}, {1, 2, nil}, {2, 2, handoff.Conflict}} {
		dir := t.TempDir()
		file := filepath.Join(dir, "a.md")
		must(t, os.WriteFile(file, []byte("body"), 0o644))
		store := &changingStore{filelog.Open(filepath.Join(dir, ".handoff"), rand.Reader).Bodies(), file, tt.times, 0}
		hub := handoff.New(memory.NewLog(), logtest.NewReference(), store,
			handoff.Options{Now: time.Now, Rand: rand.Reader, Files: &content.Files{Root: root(t, dir)}})
		p, err := hub.Publish(t.Context(), handoff.Draft{Channel: "design", Path: "a.md"})
		if tt.kind == nil && err != nil || tt.kind != nil && !errors.Is(err, tt.kind) || store.started != tt.started {
			t.Errorf("%d changes: read %d times, %v, want %d, kind %v", tt.times, store.started, err, tt.started, tt.kind)
		}
		if want := int64(4 + 4*tt.times); err == nil && *p.SizeBytes != want {
			t.Errorf("%d changes: recorded %d bytes, want %d", tt.times, *p.SizeBytes, want)
		}
	}
}
