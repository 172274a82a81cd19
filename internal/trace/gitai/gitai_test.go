package gitai

import (
	"flag"
	"os"
	"reflect"
	"testing"

	"github.com/agent-handoff/handoff/trace"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// example has two messages of a thread, one of a subagent, and a path with a space.
func example() Log {
	const uri = "agents://claude/2823d1df-720a-4c31-ac55-ae8ba7260001"
	return New("7734793b756b3921c88db5375a8c156e9532447b", []trace.WrittenLines{
		{Path: "a file.go", From: 1, To: 2, Message: uri + "#M2", Model: "claude-opus-4-8"},
		{Path: "a file.go", From: 3, To: 3, Message: uri + "#M3", Model: "claude-opus-4-8"},
		{Path: "a file.go", From: 4, To: 4, Message: uri + "#M2", Model: "claude-opus-4-8"},
		{Path: "a file.go", From: 5, To: 6, Message: uri + "#M2", Model: "claude-opus-4-8"},
		{Path: "b.go", From: 7, To: 7, Message: uri + "/a1b2c3#M2", Model: "claude-haiku-4-5"},
		{Path: `a"quote`, From: 1, To: 1, Message: uri + "#M2"},
	})
}

func TestGolden(t *testing.T) {
	const file = "testdata/note.txt"
	got := example().String()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("got\n%s\nwant\n%s%v", got, want, err)
	}
	if n := example().Lines(); n != 7 {
		t.Errorf("got %d lines, want 7", n)
	}
}

// TestWriters checks that a line has the writer of its key, and that what is not a log has
// none.
func TestWriters(t *testing.T) {
	l, err := Parse([]byte(example().String()))
	if err != nil || !reflect.DeepEqual(l.files, example().files) {
		t.Fatalf("got %+v, %v", l.files, err)
	}
	main := Writer{Tool: "claude", ID: "2823d1df-720a-4c31-ac55-ae8ba7260001", Model: "claude-opus-4-8"}
	sub := Writer{Tool: "claude", ID: main.ID + "/a1b2c3", Model: "claude-haiku-4-5"}
	for _, tt := range []struct {
		path string
		line int
		want []Writer
	}{{"a file.go", 3, []Writer{main}}, {"a file.go", 7, nil}, {"b.go", 7, []Writer{sub}}, {"c.go", 1, nil},
		{"", 0, []Writer{main, sub}}} {
		if got := l.Writers(tt.path, tt.line); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:%d: got %v, want %v", tt.path, tt.line, got, tt.want)
		}
	}
	for _, note := range []string{"", "a\n", "a\n  k 1\n---\n{}", "  k 1\n---\n{\"schema_version\":\"authorship/3.0.0\"}",
		"a\n  k 2-1\n---\n{\"schema_version\":\"authorship/3.0.0\"}", "a\n  k\n---\n{\"schema_version\":\"authorship/3.0.0\"}"} {
		if l, err := Parse([]byte(note)); err == nil {
			t.Errorf("%q: got %v, want an error", note, l)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(example().String()))
	f.Add([]byte("a\n  s_c9883b05a2487d::t_9f8e7d6c5b4a32 1-4294967295\n---\n{\"schema_version\":\"authorship/3.0.0\"}"))
	f.Fuzz(func(t *testing.T, note []byte) {
		l, err := Parse(note)
		if err != nil {
			return
		}
		l.Writers("a", 1)
		if merged, err := l.Merge(example()); err == nil && merged.Lines() < l.Lines() {
			t.Errorf("a merge has %d lines, want at least %d", merged.Lines(), l.Lines())
		}
	})
}
