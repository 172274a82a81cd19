package action

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

func TestNames(t *testing.T) {
	const id, commit = "art_01M7Y9N347VXYVC41JFRGRE3M6", "1f0e2d3c4b5a69788796a5b4c3d2e1f001234567"
	for text, want := range map[string][]string{
		"":                         nil,
		id:                         {id},
		"see (" + id + ").":        {id},
		id + " " + id:              {id, id},
		id + "X":                   nil,
		"x" + id + ", start_" + id: nil,
		id[:29] + " art_":          nil,
		commit:                     {commit},
		"commit " + commit + "\n":  {commit},
		commit + "0":               nil,
		"a" + commit:               nil,
		commit[:39] + " " + commit: {commit},
		strings.Repeat("z", 41) + " " + commit + "," + commit: {commit, commit},
		strings.ToUpper(commit):                               nil,
	} {
		if got := append(ArtifactIDs(text), CommitIDs(text)...); !slices.Equal(got, want) {
			t.Errorf("%q: got names %q, want %q", text, got, want)
		}
	}
}

func TestInspect(t *testing.T) {
	two := 2
	for _, tt := range []struct {
		call    thread.Call
		access  Access
		paths   []string
		command string
		exit    string
		names   []string
	}{
		{thread.Call{Name: "Read", Input: `{"file_path":"a.go"}`}, Read, []string{"a.go"}, "", "", nil},
		{thread.Call{Name: "read_file", Input: `{"path":"a.go"}`, Failed: true}, Named, []string{"a.go"}, "", "", nil},
		{thread.Call{Name: "Edit", Input: `{"file_path":"a"}`, Pending: true}, Named, []string{"a"}, "", "", nil},
		{thread.Call{Name: "Edit", Input: `{"file_path":"a"}`, Inferred: true}, Inferred, []string{"a"}, "", "", nil},
		{thread.Call{Name: "Read", Input: `{"file_path":"a"}`, Inferred: true}, Named, []string{"a"}, "", "", nil},
		{thread.Call{Name: "apply_patch", Input: "*** Begin Patch\n*** Add File: a\n", Failed: true}, Named,
			[]string{"a"}, "", "", nil},
		{thread.Call{Name: "apply_patch", Input: "*** Begin Patch\n*** Update File: a\n@@\n *** Delete File: b\n" +
			"+*** Add File: c\n-x\n*** Update File: d\n*** Move to: e\n*** End Patch\n*** Add File: f\n"}, Written,
			[]string{"a", "d", "e"}, "", "", nil},
		{thread.Call{Name: "NotebookRead", Input: `{"notebook_path":"a"}`}, Read, []string{"a"}, "", "", nil},
		{thread.Call{Name: "create_thread", Input: `{"path":"a"}`}, Written, []string{"a"}, "", "", nil},
		{thread.Call{Name: "list_threads", Input: `{"path":"a"}`}, Named, []string{"a"}, "", "", nil},
		{thread.Call{Name: "Grep", Input: `{"path":"a"}`}, Named, []string{"a"}, "", "", nil},
		{thread.Call{Name: "Edit", Input: `{"file_path":"a"}`, Failed: true}, Named, []string{"a"}, "", "", nil},
		{thread.Call{Name: "str_replace_editor", Input: `{"command":"view","path":"a"}`}, Read, []string{"a"}, "", "", nil},
		{thread.Call{Name: "Bash", Input: `{"command":"view"}`}, Named, nil, "view", "", nil},
		{thread.Call{Name: "Bash", Input: `{"command":"x"}`, Output: "Exit code 3\nno"}, Named, nil, "x", "3", nil},
		{thread.Call{Name: "Bash", Input: `{"command":"x"}`, Output: "Exit code 3", Exit: &two}, Named, nil, "x", "2", nil},
		{thread.Call{Name: "Bash", Input: `{"command":"git commit"}`, Output: "[main 1f0e2d3] a"}, Named, nil, "git commit",
			"", []string{"1f0e2d3"}},
		{thread.Call{Name: "shell", Input: `{"cmd":["apply_patch","*** Begin Patch\n*** Add File: b\n"]}`}, Written,
			[]string{"b"}, "apply_patch *** Begin Patch\n*** Add File: b\n", "", nil},
		{thread.Call{Name: "exec_command", Input: `{"cmd":["apply_patch","*** Begin Patch\n*** Add File: b\n"]}`, Dir: "/d"},
			Written, []string{"/d/b"}, "apply_patch *** Begin Patch\n*** Add File: b\n", "", nil},
		{thread.Call{Name: "exec", Input: "tools.apply_patch(`*** Begin Patch\n*** Add File: b\n`)"}, Named, nil, "",
			"", nil},
		{thread.Call{Name: "apply_patch", Input: "*** Begin Patch\n*** Add File: b\n"}, Written, []string{"b"}, "", "", nil},
	} {
		a := Inspect(tt.call)
		if a.Access != tt.access || !slices.Equal(a.Paths, tt.paths) || a.Command != tt.command || a.Exit != tt.exit ||
			!slices.Equal(a.Names, tt.names) {
			t.Errorf("%+v: got %s of %q, command %q, exit %s, names %q", tt.call, a.Access, a.Paths, a.Command, a.Exit, a.Names)
		}
	}
}

// TestCommitsMade compares the commits with the matches of an expression, in texts of
// random parts.
func TestCommitsMade(t *testing.T) {
	const commit = "1f0e2d3c4b5a69788796a5b4c3d2e1f001234567"
	line := regexp.MustCompile(`(?m)^\[[^\]\n]+ ([0-9a-f]{7,40})\] `)
	parts := []string{"[", "]", " ", "\n", "[main ", "main", "(root-commit)", commit, commit[:7], commit[:6], commit + "0",
		"ABCDEF0", "] subject\n", "é"}
	r := rand.New(rand.NewPCG(1, 1))
	found := 0
	for range 20000 {
		text := ""
		for range 1 + r.IntN(12) {
			text += parts[r.IntN(len(parts))]
		}
		var want []string
		for _, m := range line.FindAllStringSubmatch(text, -1) {
			want = append(want, m[1])
		}
		if got := CommitsMade(text); !slices.Equal(got, want) {
			t.Fatalf("%q: got commits %q, want %q", text, got, want)
		}
		found += len(want)
	}
	if found == 0 {
		t.Error("no text has a commit, so that nothing was compared")
	}
	if got := CommitsMade(strings.Repeat("[main "+commit+"] x\n", maxNames+1)); len(got) != maxNames {
		t.Errorf("got %d commits, want at most %d", len(got), maxNames)
	}
}
