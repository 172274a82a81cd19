package program

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// before is a commit before the first release, at which some answers were different.
const before = "798e8ca"

// TestOldWorkspace opens workspaces that handoff wrote at a commit before the first
// release and at each release, and compares every answer about them with that program's
// own. testdata/old/make.sh writes both.
func TestOldWorkspace(t *testing.T) {
	t.Parallel()
	for _, version := range []string{before, "v0.1.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			testOldWorkspace(t, version)
		})
	}
}

func testOldWorkspace(t *testing.T, version string) {
	c := newConsole(t)
	unpack(t, "testdata/old/"+version+".tar.gz", c.dir)
	old, err := txtar.ParseFile("testdata/old/" + version + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, when, _ := strings.Cut(string(old.Comment), " answered at ")
	when, _, _ = strings.Cut(when, " ")
	answered, err := time.Parse(time.RFC3339, when)
	if err != nil {
		t.Fatal(err)
	}
	c.now = answered.Add(time.Minute) // later than every file's time
	if len(old.Files) < 100 {
		t.Errorf("%d answers, want all", len(old.Files))
	}
	for _, f := range old.Files {
		args := strings.Fields(f.Name)
		if text, ok := corrected[f.Name]; ok && version == before {
			f.Data = []byte(text)
		}
		out, code := c.run("", args...)
		out = strings.ReplaceAll(out, c.dir, "$WORK")
		if code != 0 {
			out += fmt.Sprintf("exit %d\n", code)
		}
		if slices.Contains(args, "json") || slices.Contains(args, "--json") {
			want := parseJSON(t, f.Name, string(f.Data))
			if version == before {
				want = asNow(want)
			}
			sameJSON(t, args, out, want)
		} else if out != string(f.Data) && out+"\n" != string(f.Data) {
			t.Errorf("%s: got %.300q, want %.300q", f.Name, out, f.Data)
		}
	}
	appendToOld(t, c)
}

// appendToOld publishes in the old workspace: the record follows the others,
// and none of them changes.
func appendToOld(t *testing.T, c *console) {
	t.Helper()
	before := records(t, c.dir)
	c.write("new.md", "new\n")
	id := strings.TrimSpace(c.ok("publish", "new.md", "--channel", "design"))
	after := records(t, c.dir)
	if len(after) != len(before)+1 {
		t.Errorf("%d records after a publish, want %d", len(after), len(before)+1)
	}
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s changed", name)
		}
	}
	last := slices.Max(slices.Collect(maps.Keys(after)))
	if !strings.Contains(after[last], id) {
		t.Errorf("the newest record, %s, is not %s", last, id)
	}
	c.ok("check")
}

// records returns the files of the log by name.
func records(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, ".handoff/log/*/*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no records: %v", err)
	}
	found := map[string]string{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.Base(name)] = string(b)
	}
	return found
}

// members name the member that is now the list that an answer was at 798e8ca,
// by a word of the command line.
var members = map[string]string{"--channels": "channels", "--history": "artifacts", "find": "sessions",
	"lessons": "lessons", "history": "attempts"}

// corrected are answers that were wrong at 798e8ca: the newest session was the
// one that was recorded last, not the one that started last.
var corrected = map[string]string{
	"session latest-output alex intake document": "$WORK/docs/agent-outputs/11111111-2222-4333-8444-555555555555/requirements.md\n",
}

// renamed are members that had another name at 798e8ca.
var renamed = map[string]string{"stands": "current", "at": "createdAt", "opened": "openedSeq", "closed": "closedSeq",
	"newest":   "newestSeq",
	"openedAt": "startedAt", "closedAt": "completedAt"}

// prose are members that pipelines fill with sentences, which may be reworded.
var prose = []string{"reason", "stale", "summary"}

// sameJSON checks that every value of the old answer is in the new one.
func sameJSON(t *testing.T, args []string, gotText string, want any) {
	t.Helper()
	command := strings.Join(args, " ")
	got := parseJSON(t, command, gotText)
	if object, ok := got.(map[string]any); ok {
		if _, ok := want.([]any); ok {
			for _, word := range args {
				if list, ok := object[members[word]]; ok {
					got = list
				}
			}
		}
	}
	if args[0] == "session" && args[1] == "find" { // newest was the one that was recorded last
		got, want = byOpenedSeq(got.(map[string]any)["sessions"]), byOpenedSeq(want.(map[string]any)["sessions"])
	}
	var reworded []string
	switch {
	case args[0] == "pipeline" || args[1] == "42":
		reworded = prose
	case slices.Contains(args, "--lineage"): // had paths that handoff manages
		reworded = []string{"label"}
	}
	if where := difference(got, want, reworded); where != "" {
		t.Errorf("handoff %s differs: %s", command, where)
	}
}

// asNow gives an old answer the names that its members have now.
func asNow(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = asNow(v[i])
		}
	case map[string]any:
		if ref, ok := v["ref"].(string); ok {
			if name, rev, ok := strings.Cut(ref, " --rev "); ok {
				v["ref"], v["rev"] = name, json.Number(rev)
			}
		}
		if shown, ok := v["shown"]; ok { // a session: its status was as recorded
			v["status"] = shown
			delete(v, "shown")
			delete(v, "process") // which has ended
			delete(v, "child")
		}
		if v["agent"] == "jg-tester" && v["reads"] != nil { // the tester runs commands only
			v["reads"] = []any{}
		}
		for _, key := range slices.Collect(maps.Keys(v)) {
			value := asNow(v[key])
			delete(v, key)
			v[cmp.Or(renamed[key], key)] = value
		}
	}
	return v
}

// byOpenedSeq returns sessions in the order in which they were recorded.
func byOpenedSeq(sessions any) []any {
	seq := func(s any) int64 {
		n, _ := s.(map[string]any)["openedSeq"].(json.Number).Int64()
		return n
	}
	return slices.SortedFunc(slices.Values(sessions.([]any)), func(a, b any) int { return cmp.Compare(seq(a), seq(b)) })
}

func parseJSON(t *testing.T, command, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("handoff %s: %v in %.200q", command, err, text)
	}
	return v
}

// difference returns where a value lacks something of another, or "". Members
// that are reworded must only exist.
func difference(got, want any, reworded []string) string {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			value, exists := got[key]
			if exists && slices.Contains(reworded, key) {
				continue
			}
			if where := difference(value, want[key], reworded); where != "" {
				return "/" + key + where
			}
		}
		return ""
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			break
		}
		for i := range want {
			if where := difference(got[i], want[i], reworded); where != "" {
				return fmt.Sprintf("/%d%s", i, where)
			}
		}
		return ""
	default:
		if got == want {
			return ""
		}
	}
	return fmt.Sprintf(" is %.200q, want %.200q", fmt.Sprint(got), fmt.Sprint(want))
}

// unpack writes the files of an archive, with their links, modes and times.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	packed, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = unpackOne(r, h, dir)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unpackOne(r io.Reader, h *tar.Header, dir string) error {
	name := filepath.Join(dir, h.Name)
	switch h.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(name, 0o755)
	case tar.TypeLink:
		return os.Link(filepath.Join(dir, h.Linkname), name)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, b, h.FileInfo().Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(name, h.ModTime, h.ModTime)
}
