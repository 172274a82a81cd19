package preview

import "testing"

func TestTitle(t *testing.T) {
	for title, want := range map[string]string{
		"Retry, but not after **timeouts**.":    "Retry, but not after timeouts.",
		"# Plan for *two* weeks":                "Plan for two weeks",
		"Look at `src/**/*.go` and src/**/*.js": "Look at src/**/*.go and src/**/*.js",
		"Move __tests__, and __init__.py":       "Move __tests__, and __init__.py",
		"Read [the spec](https://example.com/)": "Read the spec",
		"See <https://example.com/a>":           "See https://example.com/a",
		"Fix <Cart> & the ~~old~~ cart":         "Fix <Cart> & the old cart",
		`2 * 3 * 4, a_b_c, C:\temp`:             `2 * 3 * 4, a_b_c, C:\temp`,
		"<task>Fix it</task>":                   "<task>Fix it</task>",
		"[a]: b":                                "[a]: b",
		"**cut in the mid…":                     "**cut in the mid…",
		"one\n\ntwo":                            "one two",
		"":                                      "",
	} {
		if got := Title(title); got != want {
			t.Errorf("%q: got %q, want %q", title, got, want)
		}
	}
}
