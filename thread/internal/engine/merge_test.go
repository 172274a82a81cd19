package engine

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

// TestMerged checks that a line which may still be written, and one that is too long, are read from
// the merged file as from their own, and that no line is lost in silence.
func TestMerged(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	line := func(second, text string) string {
		return `{"timestamp":"2026-01-01T00:00:0` + second + `Z","text":"` + text + `"}`
	}
	long := line("2", strings.Repeat("x", jsonl.MaxLine))
	one := write("a", line("1", "a")+"\n"+long+"\n"+line("5", "last")+"\n"+`{"timestamp":"2026-01-01T00:00:06Z","te`)
	two := write("b", line("1", "a")+"\n"+line("3", "b")+"\n"+line("4", "torn"))
	f, err := merged([]string{one, two})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rd, got := jsonl.NewReader(io.NewSectionReader(f, 0, 1<<62)), ""
	for rd.Next() {
		switch {
		case rd.Cut():
			got += "cut "
		case rd.Torn():
			got += "may still be written"
		default:
			got += rd.Line().Get("text").Text() + " "
		}
	}
	if want := "a cut b torn last may still be written"; got != want || rd.Err() != nil {
		t.Errorf("got %q, %v, want %q", got, rd.Err(), want)
	}
	if _, err := merged([]string{one, dir}); err == nil {
		t.Error("a copy that can't be read is left out in silence")
	}
}
