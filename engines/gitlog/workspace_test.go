package gitlog

import (
	"crypto/rand"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/workspace"
)

// workspaceAt opens a workspace of its own over a log, with another clock.
func workspaceAt(t *testing.T, url string, clock *time.Duration, o workspace.Options) *workspace.Workspace {
	t.Helper()
	dir := t.TempDir()
	env := map[string]string{"HANDOFF_WORKSPACE": dir, "HANDOFF_LOG": "git:" + url + "?poll=0s",
		"XDG_CACHE_HOME": t.TempDir()}
	o.Getenv = func(name string) string { return env[name] }
	o.Backends = Backends
	o.Now = func() time.Time { return time.Now().Add(*clock) }
	w, err := workspace.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func publish(t *testing.T, w *workspace.Workspace, title, text string,
	more func(*handoff.Draft)) handoff.Published {
	t.Helper()
	p := handoff.Draft{Body: strings.NewReader(text), Filename: "a.md", Channel: "design", Title: title,
		Keep: handoff.KeepAlways}
	if more != nil {
		more(&p)
	}
	done, err := w.Publish(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// TestClocks has machines whose clocks are hours apart, one of which is set back. The log
// orders what they publish, and a key that is used again hours later names the first
// artifact.
func TestClocks(t *testing.T) {
	url := server(t)
	behind, ahead := -5*time.Hour, 7*time.Hour
	early, late := workspaceAt(t, url, &behind, workspace.Options{}), workspaceAt(t, url, &ahead, workspace.Options{})
	first := publish(t, late, "first", "one", func(p *handoff.Draft) { p.Key = "k" })
	second := publish(t, early, "second", "two", func(p *handoff.Draft) { p.Replaces = []string{first.ID} })
	behind, ahead = -29*time.Hour, -2*time.Hour
	third := publish(t, late, "third", "three", nil)
	fourth := publish(t, early, "fourth", "four", nil)
	for name, w := range map[string]*workspace.Workspace{"early": early, "late": late} {
		page, err := w.List(t.Context(), workspace.ListOptions{Filter: workspace.Filter{IncludeInactive: true}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range page.Artifacts {
			got = append(got, a.Title)
		}
		if strings.Join(got, " ") != "fourth third second first" {
			t.Errorf("%s lists %q", name, got)
		}
		if id, err := w.Resolve(t.Context(), "design:latest"); err != nil || id != fourth.ID {
			t.Errorf("%s: design:latest is %s, %v, want %s", name, id, err, fourth.ID)
		}
		a, err := w.Hub().Artifact(t.Context(), first.ID)
		if err != nil || a.Status != handoff.Superseded || len(a.ReplacedBy) != 1 || a.ReplacedBy[0] != second.ID {
			t.Errorf("%s: the first artifact is %s, replaced by %q, %v", name, a.Status, a.ReplacedBy, err)
		}
	}
	again := publish(t, early, "first", "one", func(p *handoff.Draft) { p.Key = "k" })
	if !again.Existing || again.ID != first.ID {
		t.Errorf("the key names %s, existing %t, want %s", again.ID, again.Existing, first.ID)
	}
	if third.Seq != 3 || fourth.Seq != 4 {
		t.Errorf("the numbers are %d and %d, want 3 and 4", third.Seq, fourth.Seq)
	}
}

// TestFetching reads a body of another machine: the first time it is copied, which is
// reported.
func TestFetching(t *testing.T) {
	url := server(t)
	text := strings.Repeat("0123456789abcdef", 3<<16)
	done := publish(t, workspaceAt(t, url, new(time.Duration), workspace.Options{}), "large", text, nil)
	var last, total int64
	w := workspaceAt(t, url, new(time.Duration), workspace.Options{Fetching: func(n, of int64) { last, total = n, of }})
	for i := range 2 {
		last, total = 0, 0
		c, err := w.Hub().Open(t.Context(), done.ID)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(c)
		c.Close()
		if err != nil || string(got) != text {
			t.Errorf("read %d bytes, %v, want %d", len(got), err, len(text))
		}
		want := int64(len(text)) * int64(1-i) // the second time, nothing is copied
		if last != want || total != want {
			t.Errorf("read %d: %d of %d bytes are reported, want %d", i, last, total, want)
		}
	}
}

// TestLargeBody stores and fetches a body of 40 MiB, with HANDOFF_LONG of 64 MiB. What git itself takes is not
// counted.
func TestLargeBody(t *testing.T) {
	size := int64(40 << 20) // more than the heap may grow
	if os.Getenv("HANDOFF_LONG") != "" {
		size = 64 << 20
	}
	url := server(t)
	open := func() *Log {
		l := Open(Options{Fetch: url, Name: "default", Runtime: t.TempDir(), Rand: rand.Reader, MaxBody: size})
		t.Cleanup(func() { l.Close() })
		return l
	}
	a := open()
	logtest.CheckLargeBody(t, size, a.Bodies(), open().Bodies(), func(d handoff.Digest) {
		r := logtest.NewRecord("a.md")
		f := r.Fact.(*handoff.ArtifactPublished)
		f.Digest, f.Kept = d, true
		if _, err := a.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	})
}
