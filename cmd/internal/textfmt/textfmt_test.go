package textfmt

import "testing"

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
