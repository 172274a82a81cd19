package mcp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// git runs git in a directory.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// worktrees returns a fixture whose directory is a repository with linked worktrees, and
// their directories.
func worktrees(t *testing.T, names ...string) (*fixture, []string) {
	t.Helper()
	f := newFixture(t)
	must(t, os.Remove(filepath.Join(f.dir, ".git")))
	git(t, f.dir, "init", "-q")
	git(t, f.dir, "commit", "-q", "--allow-empty", "-m", "start")
	above, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	var dirs []string
	for _, name := range names {
		dirs = append(dirs, filepath.Join(above, name))
		git(t, f.dir, "worktree", "add", "-q", dirs[len(dirs)-1], "-b", name)
	}
	return f, dirs
}

// publishedIn publishes a file of a directory as an agent.
func publishedIn(t *testing.T, dir, name, content, agent string, d handoff.Draft) handoff.Artifact {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	w, err := workspace.Open(dir, workspace.Options{})
	must(t, err)
	defer w.Close()
	d.Path, d.Channel = name, "analysis"
	done, err := w.As(workspace.Caller{Dir: dir, Producer: handoff.Producer{Agent: agent}}).Publish(t.Context(), d)
	must(t, err)
	return done.Artifact
}

// TestRowsOfWorktrees checks that lists and searches tell apart what several worktrees
// published under one path, and have the file to open where the path is another file in
// the caller's own.
func TestRowsOfWorktrees(t *testing.T) {
	f, dirs := worktrees(t, "a1", "a2", "own")
	var theirs []handoff.Artifact
	for i, dir := range dirs {
		theirs = append(theirs, publishedIn(t, dir, "report.md", fmt.Sprint("of ", i), filepath.Base(dir),
			handoff.Draft{Title: "Report"}))
	}
	s := f.connect("test", nil, dirs[2])
	list := mustCall(t, s, "artifact_list", `{}`)
	rows := map[any]map[string]any{}
	for _, row := range list.data["artifacts"].([]any) {
		rows[row.(map[string]any)["id"]] = row.(map[string]any)
	}
	for _, match := range mustCall(t, s, "artifact_search", `{"query":"Report"}`).data["matches"].([]any) {
		row := match.(map[string]any)["artifact"].(map[string]any)
		if fmt.Sprint(row) != fmt.Sprint(rows[row["id"]]) {
			t.Errorf("the row of a search is %v, of a list %v", row, rows[row["id"]])
		}
	}
	for i, a := range theirs {
		row, agent := rows[a.ID], filepath.Base(dirs[i])
		if by := row["producer"].(map[string]any); len(by) != 1 || by["agent"] != agent {
			t.Errorf("%s: producer %v, want %s", agent, by, agent)
		}
		file := filepath.Join(dirs[i], "report.md")
		if i == 2 {
			if row["file"] != nil || row["worktree"] != nil || strings.Contains(list.text, file) {
				t.Errorf("the caller's own file: %v\n%s", row, list.text)
			}
			continue
		}
		content, err := os.ReadFile(fmt.Sprint(row["file"]))
		must(t, err)
		if want := fmt.Sprint("of ", i); string(content) != want || row["worktree"] != agent ||
			!strings.Contains(list.text, a.ID+"  analysis  "+file+"  \"Report\"  by "+agent) {
			t.Errorf("%s: content %q, want %q; row %v\n%s", agent, content, want, row, list.text)
		}
	}

	git(t, f.dir, "worktree", "remove", "--force", dirs[0])
	row := mustCall(t, s, "artifact_list", `{"agent":"a1"}`)
	if !strings.Contains(row.text, "(not here) report.md") || !strings.Contains(fmt.Sprint(row.data), "file: ") {
		t.Errorf("a file that is gone: %s\n%v", row.text, row.data)
	}
}

// TestFilters selects by each filter of a list.
func TestFilters(t *testing.T) {
	f := newFixture(t)
	w, err := workspace.Open(f.dir, workspace.Options{})
	must(t, err)
	defer w.Close()
	publish := func(p handoff.Producer, d handoff.Draft) string {
		t.Helper()
		d.Channel, d.Body = "patch", strings.NewReader(fmt.Sprint(p, d.Replaces))
		done, err := w.As(workspace.Caller{Dir: f.dir, Producer: p}).Publish(t.Context(), d)
		must(t, err)
		return done.ID
	}
	first := publish(handoff.Producer{TaskID: "t1"}, handoff.Draft{})
	second := publish(handoff.Producer{WorkID: "w1", ParentWorkID: "w0"}, handoff.Draft{Replaces: []string{first}})
	third := publish(handoff.Producer{TaskID: "t2"}, handoff.Draft{})
	_, err = w.Label(t.Context(), third, "chosen")
	must(t, err)
	s := f.connect("test", nil)
	for arguments, want := range map[string]string{
		`{"task":"t2"}`: third, `{"task":"t1","all":true}`: first, `{"work":"w1"}`: second, `{"parentWork":"w0"}`: second,
		`{"status":"superseded"}`: first, `{"status":"superseded","all":true}`: first,
		`{"label":"chosen"}`: third,
	} {
		list := mustCall(t, s, "artifact_list", arguments)
		if got := list.data["artifacts"].([]any); len(got) != 1 || got[0].(map[string]any)["id"] != want {
			t.Errorf("%s: %v, want %s", arguments, got, want)
		}
	}
	for _, wrong := range []string{`{"status":"done"}`, `{"label":"two words"}`} {
		if r := call(t, s, "artifact_list", wrong); !r.isErr {
			t.Errorf("%s: %v", wrong, r.data)
		}
	}
	if got := mustCall(t, s, "artifact_wait", `{"label":"chosen","seconds":1}`); got.str("id") != third {
		t.Errorf("artifact_wait: %v", got.data)
	}
}

// TestReadNotices checks that read_artifact states the notices of what it read.
func TestReadNotices(t *testing.T) {
	f := newFixture(t)
	s := f.connect("test", nil)
	publish := func(arguments string) string { return mustCall(t, s, "artifact_publish", arguments).str("id") }
	base := publish(`{"content":"base","channel":"design"}`)
	one := publish(`{"content":"one","channel":"design","replaces":["` + base + `"]}`)
	competing := mustCall(t, s, "artifact_publish", `{"content":"two","channel":"design","replaces":["`+base+`"]}`)
	if want := `warning: "competes with ` + one + `"`; !strings.Contains(competing.text, want) {
		t.Errorf("publish: %s, want %s", competing.text, want)
	}
	f.write("plan.md", "plan")
	edited := publish(`{"path":"plan.md","channel":"plan"}`)
	f.write("plan.md", "changed")
	for ref, want := range map[string]string{
		base: "replaced by ", one: "competes with " + competing.str("id"), edited: "modified after it was published",
	} {
		got := mustCall(t, s, "read_artifact", `{"ref":"`+ref+`"}`)
		if !strings.Contains(got.text, `warning: "`) || !strings.Contains(got.text, want) ||
			!strings.Contains(fmt.Sprint(got.data["notices"]), want) {
			t.Errorf("%s: want %q in %s\n%v", ref, want, got.text, got.data)
		}
	}
	got := mustCall(t, s, "read_artifact", `{"ref":"`+base+`","revision":1}`)
	if strings.Contains(got.text, "replaced by") {
		t.Errorf("a revision that was named: %s", got.text)
	}
}

// TestCompared shows an artifact beside what competes with it, beside others, and two sessions.
func TestCompared(t *testing.T) {
	f := newFixture(t)
	s := f.connect("test", nil)
	publish := func(arguments string) string { return mustCall(t, s, "artifact_publish", arguments).str("id") }
	patch := `"content":"--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n one\n+two\n","channel":"patch"`
	base := publish(`{` + patch + `}`)
	one := publish(`{` + patch + `,"replaces":["` + base + `"]}`)
	two := publish(`{` + patch + `,"replaces":["` + base + `"],"title":"Second"}`)
	for _, compare := range []string{`"*"`, `"` + two + `"`} {
		got := mustCall(t, s, "artifact_get", `{"ref":"`+one+`","compare":[`+compare+`]}`)
		list, _ := got.data["candidates"].([]any)
		if len(list) != 2 {
			t.Fatalf("%s: got %v, want two candidates", compare, got.data)
		}
		d := list[1].(map[string]any)
		if a := d["artifact"].(map[string]any); a["id"] != two || a["title"] != "Second" || a["digest"] != nil {
			t.Errorf("%s: got %v, want the members of a row of %s", compare, a, two)
		}
		if d["files"] != 1.0 || d["added"] != 1.0 || d["removed"] != 0.0 || !strings.Contains(got.text, "lines: +1 −0") {
			t.Errorf("%s: got %v and %s, want what the patch changes", compare, d, got.text)
		}
	}
	if needs := mustCall(t, s, "status", `{}`); !strings.Contains(needs.text, `artifact_get with ref: `) ||
		!strings.Contains(needs.text, `, compare: ["*"]`) {
		t.Errorf("status: %s, want the call that compares", needs.text)
	}
	if r := call(t, s, "artifact_get", `{"ref":"`+one+`","compare":["nothing"]}`); !r.isErr {
		t.Errorf("an unknown ref: %v", r.data)
	}
}

// TestManyComments reads 60 comments in parts, none of which is long.
func TestManyComments(t *testing.T) {
	f := newFixture(t)
	s := f.connect("test", nil)
	id := mustCall(t, s, "artifact_publish", `{"content":"one","channel":"design"}`).str("id")
	for i := range 60 {
		mustCall(t, s, "artifact_review", fmt.Sprintf(`{"ref":%q,"text":"%d %s"}`, id, i, strings.Repeat("x", 600)))
	}
	seen, next, calls := map[string]bool{}, "", 0
	for ; calls == 0 || next != ""; calls++ {
		got := mustCall(t, s, "artifact_get", fmt.Sprintf(`{"ref":%q,"comment":%q}`, id, next))
		b, err := json.Marshal(got.data)
		must(t, err)
		if n := len(b) + len(got.text); n > 28<<10 || got.data["comments"] != nil {
			t.Errorf("call %d: %d bytes, comments %v; want at most 28 KiB and no comments beside the discussion", calls, n,
				got.data["comments"])
		}
		if !strings.Contains(fmt.Sprint(got.data["notices"]), "60 open comments") {
			t.Errorf("the notices are %v, want the number of comments", got.data["notices"])
		}
		for _, c := range got.data["discussion"].([]any) {
			seen[c.(map[string]any)["text"].(string)] = true
		}
		if next = got.str("nextComment"); (next != "") != strings.Contains(got.text, "artifact_get with comment: "+next) {
			t.Errorf("the text does not name the next call: %s", got.text)
		}
	}
	if len(seen) != 60 || calls < 4 {
		t.Errorf("%d calls return %d comments, want 60 in several", calls, len(seen))
	}
}
