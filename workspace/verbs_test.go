package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/workspace/store"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// desk is a workspace with a caller in run r-1.
type desk struct {
	*workspace.Workspace
	t   *testing.T
	dir string
}

func newDesk(t *testing.T) desk {
	t.Helper()
	w := openWorkspace(t)
	return desk{w.As(workspace.Caller{Dir: w.Root(), Producer: handoff.Producer{RunID: "r-1"}}), t, w.Root()}
}

// file writes a file of the workspace.
func (d desk) file(name, text string) {
	d.t.Helper()
	writeFile(d.t, filepath.Join(d.dir, name), text)
}

func (d desk) publish(p handoff.Draft) handoff.Published {
	d.t.Helper()
	done, err := d.Publish(d.t.Context(), p)
	if err != nil {
		d.t.Fatal(err)
	}
	return done
}

// write stores text as the newest revision of context.md.
func (d desk) write(text string) workspace.Written {
	d.t.Helper()
	done, err := d.Write(d.t.Context(), handoff.Draft{Name: "context.md", Body: strings.NewReader(text)})
	if err != nil {
		d.t.Fatal(err)
	}
	return done
}

func (d desk) newest() handoff.Seq {
	d.t.Helper()
	newest, err := d.Hub().Newest(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	return newest
}

// TestPublishRefused checks what is not published, and that nothing is
// recorded of it.
func TestPublishRefused(t *testing.T) {
	d := newDesk(t)
	d.file("a.md", "a\n")
	d.publish(handoff.Draft{Channel: "design", Path: "a.md"})
	before := d.newest()
	outside := filepath.Join(t.TempDir(), "b.md")
	writeFile(t, outside, "b\n")
	for name, p := range map[string]handoff.Draft{
		"a path and a body":         {Path: "a.md", Body: strings.NewReader("body")},
		"neither":                   {},
		"a file name beside a path": {Path: "a.md", Filename: "b.md"},
		"a path outside":            {Path: outside},
		"a path above":              {Path: "../b.md"},
	} {
		p.Channel = "design"
		if _, err := d.Publish(t.Context(), p); !errors.Is(err, handoff.Invalid) {
			t.Errorf("publish with %s: got %v, want kind Invalid", name, err)
		}
	}
	for name, p := range map[string]handoff.Draft{
		"from":     {Path: "a.md", Parents: []string{"nothing.md"}},
		"replaces": {Path: "a.md", Replaces: []string{"nothing.md"}},
	} {
		p.Channel = "design"
		if _, err := d.Publish(t.Context(), p); !errors.Is(err, handoff.NotFound) {
			t.Errorf("publish with an unknown ref (%s): got %v, want kind NotFound", name, err)
		}
	}
	if after := d.newest(); after != before {
		t.Errorf("refused publications left records %d to %d", before+1, after)
	}
}

// TestPublishInSessionDir publishes a file of a session directory outside the
// workspace: its path is relative to that directory.
func TestPublishInSessionDir(t *testing.T) {
	d := newDesk(t)
	folder := t.TempDir()
	writeFile(t, filepath.Join(folder, "out.md"), "out\n")
	caller := d.Caller()
	caller.Producer.Session, caller.SessionDir = "s-1", folder
	inside := desk{d.As(caller), t, d.dir}
	p := inside.publish(handoff.Draft{Channel: "design", Path: filepath.Join(folder, "out.md")})
	if p.Path != "out.md" || p.Root != handoff.SessionRoot {
		t.Errorf("got path %q in root %q, want out.md in the session's", p.Path, p.Root)
	}
}

// TestPublishRefs checks that refs are recorded as IDs.
func TestPublishRefs(t *testing.T) {
	d := newDesk(t)
	d.file("a.md", "a\n")
	first, second := d.write("one"), d.publish(handoff.Draft{Channel: "design", Path: "a.md"})
	p := d.publish(handoff.Draft{Channel: "design", Path: "a.md", Parents: []string{"context.md"},
		Replaces: []string{second.ID}})
	if !slices.Equal(p.Parents, []string{first.ID}) || !slices.Equal(p.Replaces, []string{second.ID}) {
		t.Errorf("got parents %v and replaces %v, want %s and %s", p.Parents, p.Replaces, first.ID, second.ID)
	}
}

// TestResolvePrefix checks that a prefix selects inactive artifacts too, and
// that one of several artifacts is ambiguous.
func TestResolvePrefix(t *testing.T) {
	d := newDesk(t)
	d.file("a.md", "a\n")
	p := d.publish(handoff.Draft{Channel: "design", Path: "a.md"})
	if _, err := d.Withdraw(t.Context(), p.ID, ""); err != nil {
		t.Fatal(err)
	}
	prefix := p.ID[:len(p.ID)-2]
	if id, err := d.Resolve(t.Context(), prefix); id != p.ID || err != nil {
		t.Errorf("Resolve(%s) = %q, %v, want the withdrawn %s", prefix, id, err, p.ID)
	}
	d.publish(handoff.Draft{Channel: "design", Path: "a.md"})
	if _, err := d.Resolve(t.Context(), p.ID[:6]); !errors.Is(err, handoff.Conflict) {
		t.Errorf("Resolve of a prefix of two: got %v, want kind Conflict", err)
	}
}

// TestReadRevisions checks the bounds of revisions, and that each is another.
func TestReadRevisions(t *testing.T) {
	d := newDesk(t)
	d.write("one")
	d.write("two")
	for revision, want := range map[int]string{0: "two", 1: "one", 2: "two"} {
		b, err := d.Read(t.Context(), "context.md", workspace.ReadOptions{Revision: revision})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(b)
		b.Close()
		if string(got) != want || err != nil {
			t.Errorf("revision %d: got %q, %v, want %q", revision, got, err, want)
		}
	}
	for revision, kind := range map[int]error{-1: handoff.Invalid, 3: handoff.NotFound} {
		if _, err := d.Read(t.Context(), "context.md", workspace.ReadOptions{Revision: revision}); !errors.Is(err, kind) {
			t.Errorf("revision %d: got %v, want kind %v", revision, err, kind)
		}
	}
}

// TestUnrecordedFile checks that a file without a record can be read, but is
// no artifact and has no revisions.
func TestUnrecordedFile(t *testing.T) {
	d := newDesk(t)
	written := d.write("one")
	loose := filepath.Join(filepath.Dir(written.File), "loose.md")
	writeFile(t, loose, "loose")
	b, err := d.Read(t.Context(), "loose.md", workspace.ReadOptions{})
	if err != nil || b.Unrecorded == "" {
		t.Fatalf("Read = %q, %v, want the file without a record", b.Unrecorded, err)
	}
	defer b.Close()
	if got, err := io.ReadAll(b); string(got) != "loose" {
		t.Errorf("got %q, %v, want loose", got, err)
	}
	_, resolved := d.Resolve(t.Context(), "loose.md")
	_, revision := d.Read(t.Context(), "loose.md", workspace.ReadOptions{Revision: 1})
	_, page := b.Page(storage.Span{})
	for name, err := range map[string]error{"Resolve": resolved, "a revision": revision, "Page": page,
		"Save": b.Save(t.Context(), "saved.md")} {
		if !errors.Is(err, handoff.NotFound) {
			t.Errorf("%s of a file without a record: got %v, want kind NotFound", name, err)
		}
	}
}

// TestBodyPage checks that text is text, that other bytes are not, and that a
// directory has no pages.
func TestBodyPage(t *testing.T) {
	d := newDesk(t)
	d.file("text", "text\n")
	d.file("zero", "a\x00b")
	d.file("latin", "caf\xe9")
	d.file("site/index.md", "index")
	for name, text := range map[string]bool{"text": true, "zero": false, "latin": false} {
		p := d.publish(handoff.Draft{Channel: "design", Path: name})
		b, err := d.Read(t.Context(), p.ID, workspace.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		page, err := b.Page(storage.Span{Bytes: true})
		b.Close()
		if err != nil || page.Unit != "bytes" || (page.Content != nil) != text || (page.Base64 == nil) != text {
			t.Errorf("%s: got %+v, %v, want text: %t", name, page, err, text)
		}
	}
	p := d.publish(handoff.Draft{Channel: "design", Path: "site", Keep: handoff.KeepAlways})
	b, err := d.Read(t.Context(), p.ID, workspace.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var out bytes.Buffer
	if _, err := b.CopyPage(&out, storage.Span{}); !errors.Is(err, handoff.Invalid) || out.Len() > 0 {
		t.Errorf("CopyPage of a directory: got %v and %d bytes, want kind Invalid", err, out.Len())
	}
}

// TestFilterRefused checks what a filter may not be, in List and in Channels.
func TestFilterRefused(t *testing.T) {
	d := newDesk(t)
	for name, f := range map[string]workspace.Filter{
		"two producers":    {Producer: map[string]string{"run": "a", "runId": "b"}},
		"unknown status":   {Status: "lost"},
		"unknown since":    {Since: "someday"},
		"unknown until":    {Until: "-2h"},
		"too many days":    {Since: "100000d"},
		"a negative day":   {Since: "-1d"},
		"a number of what": {Since: "12"},
	} {
		_, list := d.List(t.Context(), workspace.ListOptions{Filter: f})
		_, channels := d.Channels(t.Context(), f)
		if !errors.Is(list, handoff.Invalid) || !errors.Is(channels, handoff.Invalid) {
			t.Errorf("%s: got %v and %v, want kind Invalid", name, list, channels)
		}
	}
	if _, err := d.List(t.Context(), workspace.ListOptions{Limit: -1}); !errors.Is(err, handoff.Invalid) {
		t.Errorf("a negative limit: got %v, want kind Invalid", err)
	}
}

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) // a Saturday
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }
	for text, want := range map[string]time.Time{
		"": {}, "2h": now.Add(-2 * time.Hour), "3d": now.AddDate(0, 0, -3), "0d": now,
		"99999d": now.AddDate(0, 0, -99999), "2026-11-20": day(20),
		"2026-11-20T10:30":          day(20).Add(10*time.Hour + 30*time.Minute),
		"2026-11-20T10:30:00+01:00": day(20).Add(9*time.Hour + 30*time.Minute),
		"today":                     day(21), "yesterday": day(20), "Friday": day(20), "sat": day(14), "sunday": day(15),
	} {
		if got, err := workspace.ParseTime("since", text, now); err != nil || !got.Equal(want) {
			t.Errorf("ParseTime(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

// TestChannels checks that every channel is listed once, with its count.
func TestChannels(t *testing.T) {
	d := newDesk(t)
	d.file("a.md", "a\n")
	for _, channel := range []string{"design", "zebra", "design", "aardvark"} {
		d.publish(handoff.Draft{Channel: channel, Path: "a.md"})
	}
	list, err := d.Channels(t.Context(), workspace.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	count, order := map[string]int{}, []string{}
	for _, c := range list.Channels {
		if _, twice := count[c.Name]; twice {
			t.Errorf("channel %s is listed twice", c.Name)
		}
		count[c.Name] = c.Count
		order = append(order, c.Name)
	}
	if count["design"] != 2 || count["zebra"] != 1 || !slices.Equal(order[len(order)-2:], []string{"aardvark", "zebra"}) {
		t.Errorf("got %v in order %v, want two in design, and the channels without a purpose last", count, order)
	}
}

// TestWaitExisting checks that Wait returns the newest artifact that exists,
// unless it starts after a position.
func TestWaitExisting(t *testing.T) {
	d := newDesk(t)
	d.file("a.md", "a\n")
	first := d.publish(handoff.Draft{Channel: "design", Path: "a.md"})
	second := d.publish(handoff.Draft{Channel: "design", Path: "a.md", Title: "again"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if a, err := d.Wait(ctx, workspace.WatchOptions{}); a.ID != second.ID || err != nil {
		t.Errorf("Wait = %s, %v, want the newest, %s", a.ID, err, second.ID)
	}
	if a, err := d.Wait(ctx, workspace.WatchOptions{After: "0"}); a.ID != first.ID || err != nil {
		t.Errorf("Wait after 0 = %s, %v, want the first, %s", a.ID, err, first.ID)
	}
	if a, err := d.Wait(ctx, workspace.WatchOptions{After: first.ID}); a.ID != second.ID || err != nil {
		t.Errorf("Wait after the first = %s, %v, want the second, %s", a.ID, err, second.ID)
	}
	for _, o := range []workspace.WatchOptions{{After: "-1"}, {Filter: workspace.Filter{Status: "superseded"}}} {
		if _, err := d.Wait(ctx, o); !errors.Is(err, handoff.Invalid) {
			t.Errorf("Wait(%+v) = %v, want kind Invalid", o, err)
		}
	}
	if _, err := d.Wait(ctx, workspace.WatchOptions{After: "nothing"}); !errors.Is(err, handoff.NotFound) {
		t.Errorf("Wait after an unknown ref = %v, want kind NotFound", err)
	}
}

// TestWatchReplaced checks that Watch yields artifacts that were replaced or
// withdrawn before it saw them, and that Wait does not return those.
func TestWatchReplaced(t *testing.T) {
	d := newDesk(t)
	d.file("a.md", "a\n")
	var ids []string
	for i := range 7 {
		p := handoff.Draft{Channel: "design", Path: "a.md", Title: strconv.Itoa(i)}
		if i > 0 {
			p.Replaces = ids[i-1:]
		}
		ids = append(ids, d.publish(p).ID)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	for a, err := range d.Watch(ctx, workspace.WatchOptions{Filter: workspace.Filter{Channel: "design"}, After: "0"}) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, a.ID); a.ID == ids[6] {
			break
		}
	}
	if !slices.Equal(got, ids) {
		t.Errorf("Watch yields %v, want all of %v", got, ids)
	}
	if a, err := d.Wait(ctx, workspace.WatchOptions{After: "0"}); a.ID != ids[6] || err != nil {
		t.Errorf("Wait after 0 = %s, %v, want the one that is active, %s", a.ID, err, ids[6])
	}
}

// TestWatchDamaged checks that a watch continues after a record that can't be
// read, here by an index that has not seen it before.
func TestWatchDamaged(t *testing.T) {
	d := newDesk(t)
	d.file("a.md", "a\n")
	var ids []string
	for _, title := range []string{"one", "two", "three"} {
		ids = append(ids, d.publish(handoff.Draft{Channel: "design", Path: "a.md", Title: title}).ID)
	}
	record := filepath.Join(d.dir, ".handoff/log/00000000/000000000002.json")
	if err := os.Remove(record); err != nil {
		t.Fatal(err)
	}
	writeFile(t, record, "not a record\n")
	if err := errors.Join(d.Close(), os.Remove(filepath.Join(d.dir, ".handoff/index.db"))); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(d.dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	for a, err := range w.Watch(ctx, workspace.WatchOptions{After: "0"}) {
		if err != nil {
			if !errors.Is(err, store.ErrDamagedRecord) || !errors.Is(err, handoff.Corrupt) {
				t.Fatalf("got %v, want the damaged record", err)
			}
			got = append(got, "damaged")
			continue
		}
		got = append(got, a.ID)
		if a.ID == ids[2] {
			break
		}
	}
	if want := []string{ids[0], "damaged", ids[2]}; !slices.Equal(got, want) {
		t.Errorf("watch yields %v, want %v", got, want)
	}
}

// TestWriteRefused checks what content of a name can't be.
func TestWriteRefused(t *testing.T) {
	d := newDesk(t)
	d.file("dir/a.md", "a\n")
	for path, kind := range map[string]error{"dir": handoff.Invalid, "missing.md": handoff.NotFound} {
		if _, err := d.Write(t.Context(), handoff.Draft{Name: "context.md", Path: path}); !errors.Is(err, kind) {
			t.Errorf("write of %s: got %v, want kind %v", path, err, kind)
		}
	}
	if w := d.write("one"); w.Channel != "handoff" || w.Ref != "r-1/context.md" {
		t.Errorf("got channel %q and ref %q, want handoff and r-1/context.md", w.Channel, w.Ref)
	}
	again := d.write("one")
	if newest := d.newest(); newest != again.Seq {
		t.Errorf("the same content again made record %d", newest)
	}
}

// TestShowFiles checks that only sessions have files.
func TestShowFiles(t *testing.T) {
	d := newDesk(t)
	d.file("a.md", "a\n")
	p := d.publish(handoff.Draft{Channel: "design", Path: "a.md"})
	if _, err := d.Show(t.Context(), p.ID, true); !errors.Is(err, handoff.Invalid) {
		t.Errorf("the files of an artifact: got %v, want kind Invalid", err)
	}
	s, err := d.Sessions().Open(t.Context(), session.OpenOptions{DefaultName: "builder"})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := d.Show(t.Context(), s.ID, true)
	if err != nil || shown.Session == nil || shown.Artifact != nil || shown.Issue != nil {
		t.Errorf("Show of a session = %+v, %v, want the session alone", shown, err)
	}
}

// TestSaveReplacesNothing checks that Save and Restore leave what exists as it
// is, and nothing else beside it.
func TestSaveReplacesNothing(t *testing.T) {
	d := newDesk(t)
	d.file("a.md", "a\n")
	d.file("site/index.md", "index\n")
	d.file("taken/file", "mine\n")
	d.file("taken.md", "mine\n")
	if err := os.Mkdir(filepath.Join(d.dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := list(t, d.dir)
	for path, targets := range map[string][]string{"a.md": {"taken.md", "taken", "a.md"},
		"site": {"taken.md", "taken", "empty", "site"}} {
		p := d.publish(handoff.Draft{Channel: "design", Path: path, Keep: handoff.KeepAlways})
		for _, target := range append(targets, "nowhere/x") {
			b, err := d.Read(t.Context(), p.ID, workspace.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			kind := error(handoff.Conflict)
			if target == "nowhere/x" {
				kind = handoff.NotFound
			}
			err = b.Save(t.Context(), target)
			b.Close()
			if !errors.Is(err, kind) {
				t.Errorf("%s to %q: got %v, want kind %v", path, target, err, kind)
			}
		}
	}
	if after := list(t, d.dir); !slices.Equal(after, before) {
		t.Errorf("got files %q, want %q", after, before)
	}
}

// TestSaveInterrupted checks that a save that fails leaves nothing behind.
func TestSaveInterrupted(t *testing.T) {
	d := newDesk(t)
	d.file("a.md", "a\n")
	d.file("site/index.md", "index\n")
	before := list(t, d.dir)
	for _, path := range []string{"a.md", "site"} {
		p := d.publish(handoff.Draft{Channel: "design", Path: path, Keep: handoff.KeepAlways})
		b, err := d.Read(t.Context(), p.ID, workspace.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Save(ctx, "saved"); err == nil {
			t.Errorf("Save of %s with a canceled context succeeds", path)
		}
		b.Close()
	}
	if after := list(t, d.dir); !slices.Equal(after, before) {
		t.Errorf("got files %q, want %q", after, before)
	}
}

// list returns the files of a workspace and what they contain, without handoff's
// own.
func list(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if e.Name() == ".handoff" {
			return filepath.SkipDir
		}
		text, _ := os.ReadFile(name)
		found = append(found, strings.TrimPrefix(name, dir)+" "+string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
