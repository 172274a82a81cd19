package cli

import (
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
)

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain, 再試行 👩‍🚀":         "plain, 再試行 👩‍🚀",
		"tab\there\nand \x1b[1m": `tab\there\nand \x1b[1m`,
		"zero\u200bwidth":        `zero\u200bwidth`,
		"\u202egnp.exe":          `\u202egnp.exe`,
		"line\u2028separator":    `line\u2028separator`,
		"bad \xff byte":          `bad \xff byte`,
		"real \ufffd":            "real \ufffd",
		"C:\\path":               `C:\path`,
	} {
		if got := OneLine(in); got != want {
			t.Errorf("OneLine(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestEvent(t *testing.T) {
	art := handoff.Artifact{ArtifactPublished: handoff.ArtifactPublished{Path: "a b.md", Channel: "design"}}
	art.File = "/work/a b.md"
	art.ID, art.Producer.Agent, art.Producer.TaskID = "art_1", `say "hi"`, "t=1"
	if got, want := (&App{Dir: "/work"}).Event(art),
		`artifact:publish  "a b.md"  channel=design task="t=1" agent="say \"hi\"" id=art_1`; got != want {
		t.Errorf("Event = %s, want %s", got, want)
	}
}

// TestLongNames checks that an error does not repeat all of a long argument.
func TestLongNames(t *testing.T) {
	f := NewFailure(Invalid("publish", strings.Repeat("é", 100_000), "invalid channel", strings.Repeat("x", 100_000)))
	for _, text := range []string{f.Message, f.Name, f.Hint} {
		if len(text) > 2100 {
			t.Errorf("a text has %d bytes: %.40s", len(text), text)
		}
	}
	if !strings.HasPrefix(f.Message, "publish é") || !strings.HasSuffix(f.Message, "é: invalid channel") {
		t.Errorf("the message is %.30s … %s", f.Message, f.Message[len(f.Message)-30:])
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 notes", 1: "1 note", 2: "2 notes"} {
		if got := Count(n, "note"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
	if got := Size(1); got != "1 byte" {
		t.Errorf("Size(1) = %q", got)
	}
}
