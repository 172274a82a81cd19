package gitlog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/remote"
)

const ref = "refs/handoff/default"

func put(t *testing.T, l *Log, text string) handoff.Record {
	t.Helper()
	d, err := l.Bodies().Put(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r := logtest.NewRecord("a.md")
	size := int64(len(text))
	f := r.Fact.(*handoff.ArtifactPublished)
	f.Digest, f.SizeBytes, f.Kept = d, &size, true
	if r.Seq, err = l.Append(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBodyFromAnotherMachine reads bodies that another machine has published.
func TestBodyFromAnotherMachine(t *testing.T) {
	t.Parallel()
	url := server(t)
	a, b := machine(t, url), machine(t, url)
	var digests []handoff.Digest
	for i, text := range []string{"", "one", strings.Repeat("long\n", 200_000), "one"} {
		d := put(t, a, text).Fact.(*handoff.ArtifactPublished).Digest
		digests = append(digests, d)
		bodies := b.Bodies().(*remote.Bodies)
		if there, err := bodies.Has(t.Context(), d); err != nil || !there {
			t.Errorf("body %d: Has = %t, %v", i, there, err)
		}
		if here, err := bodies.Fetched(t.Context(), d); err != nil || here != (i == 3) {
			t.Errorf("body %d: Fetched = %t, %v before it is read", i, here, err)
		}
		err := bodies.Fetch(t.Context(), d, int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := bodies.Open(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		r.Close()
		if err != nil || string(got) != text {
			t.Errorf("body %d has %d bytes, %v, want %d", i, len(got), err, len(text))
		}
		if here, err := bodies.Fetched(t.Context(), d); err != nil || !here {
			t.Errorf("body %d: Fetched = %t, %v after it was read", i, here, err)
		}
	}
	c := machine(t, url).Bodies().(*remote.Bodies)
	if err := c.Fetch(t.Context(), digests[2], 999_999); !errors.Is(err, handoff.Corrupt) {
		t.Errorf("Fetch of more than the record states = %v, want kind Corrupt", err)
	}
	if here, _ := c.Fetched(t.Context(), digests[2]); here {
		t.Error("a body that is too large was stored")
	}
	if err := c.Fetch(t.Context(), logtest.DigestOf("never"), 10); !errors.Is(err, handoff.NotFound) {
		t.Errorf("Fetch of an unknown body = %v, want kind NotFound", err)
	}
	small := Open(Options{Fetch: url, Name: "default", Runtime: t.TempDir(), Rand: rand.Reader, MaxBody: 3})
	if _, err := small.Bodies().Put(t.Context(), strings.NewReader("four")); !errors.Is(err, handoff.Invalid) {
		t.Errorf("Put of more than MaxBody = %v, want kind Invalid", err)
	}
}

// forge adds a commit to the ref of a server: a tree in the format of git mktree,
// a message and parents.
func forge(t *testing.T, url, tree, message string, parents ...string) string {
	t.Helper()
	c := exec.Command("git", "mktree")
	c.Dir, c.Stdin = url, strings.NewReader(tree)
	id, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"commit-tree", strings.TrimSpace(string(id)), "-m", strings.TrimSuffix(message, "\n")}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	commit := git(t, url, args...)
	git(t, url, "update-ref", ref, commit)
	return commit
}

func blob(t *testing.T, url, content string) string {
	t.Helper()
	c := exec.Command("git", "hash-object", "-w", "--stdin")
	c.Dir, c.Stdin = url, strings.NewReader(content)
	id, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(id))
}

// TestHostileHistory reads histories that this package does not write.
func TestHostileHistory(t *testing.T) {
	t.Parallel()
	record := func(t *testing.T) string {
		b, err := logtest.NewRecord("b.md").JSON()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	entry := func(mode, id, name string) string { return mode + " blob " + id + "\t" + name + "\n" }
	for name, tt := range map[string]struct {
		build   func(t *testing.T, url, log, tip string)
		damaged bool // the record is damaged, and reading goes on
	}{
		"merge": {build: func(t *testing.T, url, log, tip string) {
			forge(t, url, entry("100644", blob(t, url, record(t)), recordName(2)), subject(log, 2, 2), tip,
				forge(t, url, "", "other"))
		}},
		"foreign commit": {build: func(t *testing.T, url, log, tip string) { forge(t, url, "", "hello", tip) }},
		"another log": {build: func(t *testing.T, url, log, tip string) {
			forge(t, url, entry("100644", blob(t, url, record(t)), recordName(2)), subject(strings.Repeat("0", 32), 2, 2), tip)
		}},
		"a number is skipped": {build: func(t *testing.T, url, log, tip string) {
			forge(t, url, entry("100644", blob(t, url, record(t)), recordName(3)), subject(log, 3, 3), tip)
		}},
		"a number is used again": {build: func(t *testing.T, url, log, tip string) {
			forge(t, url, entry("100644", blob(t, url, record(t)), recordName(1)), subject(log, 1, 1), tip)
		}},
		"a rewritten record": {build: func(t *testing.T, url, log, tip string) {
			forge(t, url, entry("100644", blob(t, url, record(t)), recordName(1)), subject(log, 1, 1))
		}},
		"too many records": {build: func(t *testing.T, url, log, tip string) {
			forge(t, url, "", subject(log, 2, 1<<40), tip)
		}},
		"deleted ref": {build: func(t *testing.T, url, log, tip string) { git(t, url, "update-ref", "-d", ref) }},
		"no record": {damaged: true, build: func(t *testing.T, url, log, tip string) {
			forge(t, url, "", subject(log, 2, 2), tip)
		}},
		"a symbolic link": {damaged: true, build: func(t *testing.T, url, log, tip string) {
			forge(t, url, entry("120000", blob(t, url, record(t)), recordName(2)), subject(log, 2, 2), tip)
		}},
		"an executable": {damaged: true, build: func(t *testing.T, url, log, tip string) {
			forge(t, url, entry("100755", blob(t, url, record(t)), recordName(2)), subject(log, 2, 2), tip)
		}},
		"too large": {damaged: true, build: func(t *testing.T, url, log, tip string) {
			big := strings.TrimSpace(record(t)) + strings.Repeat(" ", handoff.MaxRecord)
			forge(t, url, entry("100644", blob(t, url, big), recordName(2)), subject(log, 2, 2), tip)
		}},
		"not a record": {damaged: true, build: func(t *testing.T, url, log, tip string) {
			forge(t, url, entry("100644", blob(t, url, "{"), recordName(2)), subject(log, 2, 2), tip)
		}},
		"a directory": {damaged: true, build: func(t *testing.T, url, log, tip string) {
			c := exec.Command("git", "mktree")
			c.Dir = url
			empty, err := c.Output()
			if err != nil {
				t.Fatal(err)
			}
			forge(t, url, "040000 tree "+strings.TrimSpace(string(empty))+"\t"+recordName(2)+"\n", subject(log, 2, 2), tip)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			url := server(t)
			l := machine(t, url)
			logtest.Append(t, l, "a.md")
			log, err := l.ID(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tt.build(t, url, log, git(t, url, "rev-parse", ref))
			if tt.damaged {
				logtest.Append(t, l, "c.md")
				records := logtest.Collect(t, l, 0)
				if len(records) != 3 {
					t.Fatalf("%d records, want 3", len(records))
				}
				if f, ok := records[1].Fact.(*handoff.Damaged); !ok || !errors.Is(f.Err, handoff.Corrupt) {
					t.Errorf("record 2 is %v, want a damaged one", records[1].Fact)
				}
			} else {
				for _, err := range l.Read(t.Context(), 1) {
					if !errors.Is(err, handoff.Corrupt) {
						t.Errorf("Read = %v, want kind Corrupt", err)
					}
				}
				if _, err := l.Append(t.Context(), logtest.NewRecord("d.md")); !errors.Is(err, handoff.Corrupt) {
					t.Errorf("Append = %v, want kind Corrupt", err)
				}
			}
			if report, err := l.Check(t.Context(), nil); err != nil || report.OK() {
				t.Errorf("Check = %+v, %v, want a problem", report, err)
			}
		})
	}
}

// TestLostReply ends the server after it has updated the ref and before it
// replies: the record is stored once.
func TestLostReply(t *testing.T) {
	url := server(t)
	hook := "#!/bin/sh\n[ \"$1\" = committed ] && [ ! -e lost ] && touch lost && kill -9 $PPID\nexit 0\n"
	if err := os.MkdirAll(filepath.Join(url, "hooks"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(url, "hooks", "reference-transaction"), []byte(hook), 0o777); err != nil {
		t.Fatal(err)
	}
	l := machine(t, url)
	for i := range 3 {
		if r := logtest.Append(t, l, "a.md"); r.Seq != handoff.Seq(i+1) {
			t.Errorf("append %d has number %d", i, r.Seq)
		}
	}
	if _, err := os.Stat(filepath.Join(url, "lost")); err != nil {
		t.Fatal("no reply was lost")
	}
	if got := logtest.Collect(t, machine(t, url), 0); len(got) != 3 {
		t.Errorf("%d records, want 3", len(got))
	}
}

// TestRefused pushes to a server that refuses, and one that does not exist.
func TestRefused(t *testing.T) {
	url := server(t)
	if err := os.WriteFile(filepath.Join(url, "hooks", "pre-receive"), []byte("#!/bin/sh\necho rule violated\nexit 1\n"),
		0o777); err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string]handoff.Kind{
		url: handoff.Unavailable, "ext::touch " + t.TempDir() + "/ran": handoff.Unavailable, t.TempDir(): handoff.Invalid,
		filepath.Join(t.TempDir(), "none"): handoff.NotFound, "--upload-pack=x": handoff.Unavailable,
	} {
		l := machine(t, where)
		if _, err := l.Append(t.Context(), logtest.NewRecord("a.md")); !errors.Is(err, want) {
			t.Errorf("Append to %s = %v, want kind %s", where, err, want)
		} else {
			t.Log(err)
		}
	}
	if got := logtest.Collect(t, machine(t, url), 0); len(got) != 0 {
		t.Errorf("%d refused records were stored", len(got))
	}
}

// TestTimeout stops waiting for a server that does not answer.
func TestTimeout(t *testing.T) {
	url := server(t)
	if err := os.WriteFile(filepath.Join(url, "hooks", "pre-receive"), []byte("#!/bin/sh\nsleep 30\n"),
		0o777); err != nil {
		t.Fatal(err)
	}
	l := Open(Options{Fetch: url, Name: "default", Runtime: t.TempDir(), Rand: rand.Reader})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := l.Append(ctx, logtest.NewRecord("a.md")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Append = %v, want the error of the context", err)
	}
}

// TestBatch appends many records at once: they share few pushes.
func TestBatch(t *testing.T) {
	url := server(t)
	l := machine(t, url)
	errs := make(chan error)
	const n = 300
	for i := range n {
		go func() {
			_, err := l.Append(t.Context(), logtest.NewRecord(fmt.Sprintf("%d.md", i)))
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got := logtest.Collect(t, machine(t, url), 0); len(got) != n {
		t.Errorf("%d records, want %d", len(got), n)
	}
	if pushes := git(t, url, "rev-list", "--count", ref); len(pushes) > 2 {
		t.Errorf("%d records took %s pushes", n, pushes)
	}
}

// TestSecondName uses two logs in one repository.
func TestSecondName(t *testing.T) {
	url := server(t)
	logtest.Append(t, machine(t, url), "a.md")
	other := Open(Options{Fetch: url, Name: "other", Runtime: t.TempDir(), Rand: rand.Reader})
	if got := logtest.Collect(t, other, 0); len(got) != 0 {
		t.Errorf("another log has %d records", len(got))
	}
	logtest.Append(t, other, "b.md")
	if got := logtest.Collect(t, machine(t, url), 0); len(got) != 1 {
		t.Errorf("%d records, want 1", len(got))
	}
}

// TestTemporary reads without a runtime directory: nothing is left.
func TestTemporary(t *testing.T) {
	url, tmp := server(t), t.TempDir()
	logtest.Append(t, machine(t, url), "a.md")
	t.Setenv("TMPDIR", tmp)
	l := Open(Options{Fetch: url, Name: "default", Runtime: filepath.Join(tmp, "none"), Rand: rand.Reader})
	if got := logtest.Collect(t, l, 0); len(got) != 1 {
		t.Errorf("%d records, want 1", len(got))
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestUntrustedRepository brings a private repository that names programs, or
// other objects.
func TestUntrustedRepository(t *testing.T) {
	url, ran := server(t), filepath.Join(t.TempDir(), "ran")
	logtest.Append(t, machine(t, url), "a.md")
	for name, brought := range map[string]struct {
		file, content string
		refused       bool
	}{
		"configuration": {"config", "[core]\n\tfsmonitor = touch " + ran + "\n\tsshCommand = touch " + ran +
			"\n[remote \"origin\"]\n\turl = ext::touch " + ran + "\n", false},
		"alternates":        {"objects/info/alternates", "/etc\n", true},
		"common directory":  {"commondir", "..\n", true},
		"hooks":             {"hooks/reference-transaction", "#!/bin/sh\ntouch " + ran + "\n", true},
		"worktree settings": {"config.worktree", "[core]\n", true},
		"grafts":            {"info/grafts", "", true},
		"verified":          {"verified", "x", true},
	} {
		t.Run(name, func(t *testing.T) {
			runtime := t.TempDir()
			file := filepath.Join(runtime, "git", key(url, "default"), brought.file)
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(brought.content), 0o777); err != nil {
				t.Fatal(err)
			}
			n, err := openAt(t, url, runtime).Newest(t.Context())
			if refused := errors.Is(err, handoff.Corrupt); refused != brought.refused || !refused && n != 1 {
				t.Errorf("Newest = %d, %v, want refused %t", n, err, brought.refused)
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("a program ran")
			}
		})
	}
}

// TestLinkedRepository brings a link in place of the private repository: nothing is
// written where it leads.
func TestLinkedRepository(t *testing.T) {
	url, runtime, elsewhere := server(t), t.TempDir(), t.TempDir()
	logtest.Append(t, machine(t, url), "a.md")
	if err := os.Mkdir(filepath.Join(runtime, "git"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(runtime, "git", key(url, "default"))); err != nil {
		t.Fatal(err)
	}
	if _, err := openAt(t, url, runtime).Newest(t.Context()); !errors.Is(err, handoff.Corrupt) {
		t.Errorf("Newest = %v, want kind Corrupt", err)
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("wrote %v, %v", left, err)
	}
}

// TestLinksInRepository brings links into the private repository.
func TestLinksInRepository(t *testing.T) {
	url := server(t)
	for _, name := range []string{"objects", "objects/4a", "objects/pack", "refs", "refs/handoff", "refs/handoff/next",
		"info", "HEAD", "verified"} {
		runtime, elsewhere := t.TempDir(), t.TempDir()
		link := filepath.Join(runtime, "git", key(url, "default"), name)
		if err := os.MkdirAll(filepath.Dir(link), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, link); err != nil {
			t.Fatal(err)
		}
		if _, err := openAt(t, url, runtime).Append(t.Context(), logtest.NewRecord("a.md")); !errors.Is(err,
			handoff.Corrupt) {
			t.Errorf("%s: Append = %v, want kind Corrupt", name, err)
		}
		if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
			t.Errorf("%s: wrote %v, %v", name, left, err)
		}
	}
}

// TestHostileWorkspace uses a remote of a repository whose settings name programs,
// and has a token for it.
func TestHostileWorkspace(t *testing.T) {
	url, work, ran := server(t), t.TempDir(), filepath.Join(t.TempDir(), "ran")
	git(t, work, "init", "-q")
	program := "touch " + ran
	settings := "[remote \"origin\"]\n\turl = " + url + "\n\tuploadpack = " + program + "\n\treceivepack = " + program +
		"\n[remote \"evil\"]\n\turl = \"ext::" + program + "\"\n" +
		"[core]\n\tsshCommand = " + program + "\n\tfsmonitor = " + program + "\n\thooksPath = " + work +
		"\n[credential]\n\thelper = !" + program + "\n" +
		"[http \"https://example.com/\"]\n\textraheader = AUTHORIZATION: secret\n[url \"ext::" + program +
		" \"]\n\tinsteadOf = " + url + "\n"
	f, err := os.OpenFile(filepath.Join(work, ".git", "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(settings)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "reference-transaction"), []byte("#!/bin/sh\n"+program+"\n"),
		0o777); err != nil {
		t.Fatal(err)
	}
	own := func(remote string) *Log {
		l := Open(Options{Remote: remote, Work: work, Name: "default", Runtime: t.TempDir(), Rand: rand.Reader})
		t.Cleanup(func() { l.Close() })
		return l
	}
	l := own("origin")
	logtest.Append(t, l, "a.md")
	if got := logtest.Collect(t, machine(t, url), 0); len(got) != 1 {
		t.Errorf("%d records, want 1", len(got))
	}
	r, err := l.repository(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if header, err := r.git(t.Context(), nil, "config", "http.https://example.com/.extraheader"); err != nil ||
		header != "AUTHORIZATION: secret" {
		t.Errorf("the header is %q, %v", header, err)
	}
	if c := r.command(t.Context(), "version"); strings.Contains(strings.Join(c.Args, " "), "secret") {
		t.Error("the token is visible to other users")
	}
	for remote, want := range map[string]handoff.Kind{"evil": handoff.Unavailable, "none": handoff.NotFound} {
		if _, err := own(remote).Newest(t.Context()); !errors.Is(err, want) {
			t.Errorf("Newest of %s = %v, want kind %s", remote, err, want)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program ran")
	}
}

// TestCollectedRepository uses a private repository that git has packed.
func TestCollectedRepository(t *testing.T) {
	url, runtime := server(t), t.TempDir()
	logtest.Append(t, openAt(t, url, runtime), "a.md")
	git(t, filepath.Join(runtime, "git", key(url, "default")), "gc", "--quiet")
	logtest.Append(t, openAt(t, url, runtime), "b.md")
	if got := logtest.Collect(t, openAt(t, url, runtime), 0); len(got) != 2 {
		t.Errorf("%d records, want 2", len(got))
	}
}

// TestForeignRef holds that a ref with commits of another program is refused, and stays
// as it is.
func TestForeignRef(t *testing.T) {
	t.Parallel()
	url, work := server(t), t.TempDir()
	git(t, work, "init", "-q")
	git(t, work, "commit", "-q", "--allow-empty", "-m", "first")
	git(t, work, "commit", "-q", "--allow-empty", "-m", "handoff log 00112233445566778899aabbccddeeff records 1-1")
	git(t, work, "push", "-q", url, "HEAD:refs/handoff/default")
	before := git(t, url, "for-each-ref")
	l := machine(t, url)
	if _, err := l.Append(t.Context(), logtest.NewRecord("a.md")); !errors.Is(err, handoff.Invalid) {
		t.Errorf("Append = %v, want kind Invalid", err)
	}
	for _, err := range l.Read(t.Context(), 0) {
		if !errors.Is(err, handoff.Invalid) {
			t.Errorf("Read = %v, want kind Invalid", err)
		}
	}
	if after := git(t, url, "for-each-ref"); after != before {
		t.Errorf("refs are %q, were %q", after, before)
	}
}
