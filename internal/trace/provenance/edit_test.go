package provenance

import (
	"slices"
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

func TestEdit(t *testing.T) {
	const file = "/work/a.go"
	for _, tt := range []struct {
		name, tool, input string
		before, after     string // after is "" if the edit does not apply
		lines             []string
	}{
		{"Claude Write", "Write", `{"file_path":"a.go","content":"x\ny\n"}`, "old", "x\ny\n", []string{"x", "y"}},
		{"Claude Edit", "Edit", `{"file_path":"a.go","old_string":"b\n","new_string":"b\nc\n"}`, "a\nb\n", "a\nb\nc\n",
			[]string{"c"}},
		{"Claude Edit of all", "Edit", `{"old_string":"a","new_string":"b","replace_all":true}`, "aXa", "bXb", []string{"b"}},
		{"Claude Edit of the first", "Edit", `{"old_string":"a","new_string":"b"}`, "aXa", "bXa", []string{"b"}},
		{"another file", "Edit", `{"old_string":"z","new_string":"b"}`, "aXa", "", []string{"b"}},
		{
			"Claude MultiEdit", "MultiEdit",
			`{"edits":[{"old_string":"a","new_string":"b"},{"old_string":"b","new_string":"c"}]}`, "a", "c", []string{"b", "c"}},
		{"Gemini", "replace", `{"file_path":"a.go","old_string":"a","new_string":"b"}`, "a", "b", []string{"b"}},
		{"OpenCode", "edit", `{"filePath":"a.go","oldString":"a","newString":"b","replaceAll":true}`, "aa", "bb",
			[]string{"b"}},
		{"pi", "edit", `{"path":"a.go","oldText":"a","newText":"b"}`, "a", "b", []string{"b"}},
		{"str_replace_editor", "str_replace_editor", `{"command":"create","path":"a.go","file_text":"x"}`, "", "x",
			[]string{"x"}},
		{"Codex adds", "apply_patch", "*** Begin Patch\n*** Add File: a.go\n+x\n+\n+y\n*** Add File: b.go\n+z\n*** End Patch",
			"", "x\n\ny\n", []string{"x", "y"}},
		{"Codex updates", "apply_patch", "*** Begin Patch\n*** Update File: b.go\n-x\n+z\n*** Update File: /work/a.go\n@@ " +
			"func f\n a\n-b\n+c\n\n@@\n-e\n+f\n*** End of File\n*** End Patch", "a\nb\n\nd\ne\n", "a\nc\n\nd\nf\n",
			[]string{"c", "f"}},
		{
			"Codex in a shell", "shell",
			`{"command":["apply_patch","*** Begin Patch\n*** Update File: a.go\n-a\n+b\n*** End Patch"]}`, "a\n", "b\n",
			[]string{"b"}},
		{"Codex in a script", "exec", `{"input":"*** Begin Patch\n*** Update File: a.go\n-a\n+b\n*** End Patch"}`, "a\n",
			"b\n", []string{"b"}},
		{"Codex moves", "apply_patch",
			"*** Begin Patch\n*** Update File: b.go\n*** Move to: a.go\n@@\n-x\n+y\n*** End Patch",
			"x\n", "y\n", []string{"y"}},
		{"Codex moves it away", "apply_patch",
			"*** Begin Patch\n*** Update File: a.go\n*** Move to: b.go\n@@\n-x\n+y\n*** End Patch", "x\n", "", nil},
		{"the text of a file has a patch", "apply_patch", "*** Begin Patch\n*** Add File: a.go\n+*** Begin Patch\n" +
			"+*** End Patch\n+x\n*** End Patch", "", "*** Begin Patch\n*** End Patch\nx\n",
			[]string{"*** Begin Patch", "*** End Patch", "x"}},
		{"the context has a patch", "apply_patch", "*** Begin Patch\n*** Update File: a.go\n@@\n *** End Patch\n" +
			"-x\n+y\n*** End Patch", "*** End Patch\nx\n", "*** End Patch\ny\n", []string{"y"}},
		{"the patch does not apply", "apply_patch", "*** Begin Patch\n*** Update File: a.go\n-x\n+b\n*** End Patch", "a\n",
			"", []string{"b"}},
		{"no content", "Write", `{"file_path":"a.go"}`, "a", "", nil},
		{"clipped", "Write", `{"file_path":"a.go","content":"xxxx (3 more bytes)`, "a", "", nil},
		{"not an object", "Write", `7`, "a", "", nil},
	} {
		e := editOf(thread.Call{Name: tt.tool, Input: tt.input}, "/work", file)
		after, ok := e.apply(tt.before)
		if ok != (tt.after != "") || ok && after != tt.after {
			t.Errorf("%s: got %q %t, want %q", tt.name, after, ok, tt.after)
		}
		if got := e.lines(); !slices.Equal(got, tt.lines) {
			t.Errorf("%s: got lines %q, want %q", tt.name, got, tt.lines)
		}
	}
}

// TestReplay checks which calls are credited with bytes.
func TestReplay(t *testing.T) {
	by := func(n int, e edit) write {
		return write{uri: thread.URI{Provider: "codex", Thread: "t", From: n, To: n}, edit: e}
	}
	whole := func(text string) edit { return edit{complete: true, content: text} }
	replaced := func(old, new string) edit { return edit{changes: []change{{old: old, new: new}}} }
	for _, tt := range []struct {
		name         string
		before, want string
		writes       []edit
		credited     []int
	}{
		{"one write", "", "a", []edit{whole("a")}, []int{0}},
		{"the last of two", "", "b", []edit{whole("a"), whole("b")}, []int{1}},
		{"an edit of a write", "", "ab", []edit{whole("a"), replaced("a", "ab")}, []int{0, 1}},
		{"an edit of the parent", "x", "y", []edit{whole("a"), replaced("x", "y")}, []int{1}},
		{"two edits of the parent", "x", "z", []edit{replaced("x", "y"), replaced("y", "z")}, []int{0, 1}},
		{"a later write is not committed", "", "a", []edit{whole("a"), whole("b")}, []int{0}},
		{"somebody else changed it", "", "other", []edit{whole("a"), replaced("a", "b")}, nil},
		{"an unknown write", "", "a", []edit{{}}, nil},
	} {
		var writes []write
		for i, e := range tt.writes {
			writes = append(writes, by(i, e))
		}
		got := replay(writes, content{is: func(file string) bool { return file == tt.want }, before: func() (string, bool) {
			return tt.before, true
		}})
		var credited []int
		for _, w := range got {
			credited = append(credited, w.uri.From)
		}
		if !slices.Equal(credited, tt.credited) {
			t.Errorf("%s: got %v, want %v", tt.name, credited, tt.credited)
		}
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a.go\n@@\n a\n-b\n+c\n*** Move to: b\n*** End Patch", "a\nb\n")
	f.Add(`{"old_string":"a","new_string":"b","replace_all":true}`, "aa")
	f.Add(`{"edits":[{"oldText":"a"}],"command":["x",{"patch":1}]}`, "aa")
	f.Fuzz(func(t *testing.T, input, file string) {
		e := editOf(thread.Call{Name: "Edit", Input: input}, "/work", "/work/a.go")
		if _, ok := e.apply(file); ok && !e.known() {
			t.Error("an unknown edit applies")
		}
		e.lines()
	})
}
