package printable_test

import (
	"encoding/json"
	"testing"

	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// hostile has a terminal escape, a C1 control, DEL, a change of direction, a line
// separator and an invisible character outside the first 65,536. The joiner stays.
const (
	hostile = "a\x1b]0;t\x07\u009b2J\x7f\u202e\u2028\U000e0001\u200db"
	escaped = `a\x1b]0;t\a\u009b2J\x7f\u202e\u2028\U000e0001` + "\u200db"
)

func TestLine(t *testing.T) {
	for in, want := range map[string]string{"plain ä": "plain ä", "one\ntwo\t" + hostile: `one\ntwo\t` + escaped,
		"bad \x9b": `bad \x9b`} {
		if got := printable.Line(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain ä\r\n\ttext\n": "plain ä\r\n\ttext\n",
		"over\rwritten":       `over\rwritten`,
		hostile:               escaped,
		"bad \x9b byte":       `bad \x9b byte`,
	} {
		if got := string(printable.Text([]byte(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestJSON checks that the value stays the same.
func TestJSON(t *testing.T) {
	b, err := json.MarshalIndent(map[string]string{"k" + hostile: hostile}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	got := printable.JSON(b)
	const text = `a\u001b]0;t\u0007\u009b2J\u007f\u202e\u2028\udb40\udc01` + "\u200db"
	const want = "{\n\t\"k" + text + `": "` + text + "\"\n}"
	var back map[string]string
	if err := json.Unmarshal(got, &back); err != nil || string(got) != want || back["k"+hostile] != hostile {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestWord(t *testing.T) {
	for s, want := range map[string]string{
		"docs/design.md": "docs/design.md", "größe-2": "größe-2", "agents://codex/01a1#M2": "agents://codex/01a1#M2",
		"": `""`, "two words": `"two words"`, "a\nb": `"a\nb"`, "a\u202eb": `"a\u202eb"`, "\xff": `"\xff"`, `a"b`: `"a\"b"`,
		"a\x1b[1m": `"a\x1b[1m"`,
	} {
		if got := printable.Word(s); got != want {
			t.Errorf("Word(%q) = %s, want %s", s, got, want)
		}
	}
}

// TestCode checks that nothing in a text ends its code span.
func TestCode(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"", 9, ""},
		{"a b", 9, "`a b`"},
		{"a\n\tb", 19, "`a\\n\\tb`"},
		{"`", 9, "`` ` ``"},
		{"a``b", 9, "```a``b```"},
		{"@octocat ![x](https://example.com)", 9, "`@octocat…`"},
		{"\x1b[31m", 19, "`\\x1b[31m`"},
	} {
		if got := printable.Code(tt.text, tt.most); got != tt.want {
			t.Errorf("Code(%q, %d) = %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}
