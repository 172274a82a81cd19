package words

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppend(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		" -- ":                   "",
		"Fix session_id, PLEASE": " fix session id please",
		"Größe ÄRGER\nnaïve":     " größe ärger naïve",
		"会话abc是1x":               " 会 话 abc 是 1x",
		"\u212a \xff z":          " \u212a z",
		strings.Repeat("a", 100): " " + strings.Repeat("a", maxWord),
	} {
		if got := string(Append(nil, text)); got != want {
			t.Errorf("Append(%q) is %q, want %q", text, got, want)
		}
	}
}

func TestTerms(t *testing.T) {
	for _, tt := range []struct {
		query, text string
		want        bool
	}{
		{"retry", "Retry it", true},
		{"retry", "retrying", false},
		{"retr*", "retrying", true},
		{"retry policy", "the policy: retry", true},
		{`"retry policy"`, "the policy: retry", false},
		{`"retry policy"`, "a Retry\npolicy.", true},
		{`"retry pol*"`, "retry policy", true},
		{"session_id", "the session id", true},
		{"internal/cart.go", "/home/u/internal/cart.go:7", true},
		{"b", "ab b", true},
		{"a b", "ab b", false},
		{"会话", "新会话了", true},
		{"-- *", "x", true}, // no words
	} {
		words, found := Append(nil, tt.text), true
		terms := Parse(tt.query)
		for _, term := range terms {
			found = found && term.In(words)
		}
		if found != tt.want {
			t.Errorf("%q in %q: got %v, want %v", tt.query, tt.text, found, tt.want)
		}
		if got := len(matches(tt.text, terms)) > 0; len(terms) == 1 && got != tt.want {
			t.Errorf("%q in %q has matches: %v, want %v", tt.query, tt.text, got, tt.want)
		}
	}
}

func TestPieces(t *testing.T) {
	long := strings.Repeat("ü ", 100)
	for _, tt := range []struct {
		query, text string
		want        []string
	}{
		{"cart", "an empty Cart, a cart.", []string{"an empty ", "Cart", ", a ", "cart", "."}},
		{`"empty cart"`, "an empty-cart", []string{"an ", "empty-cart", ""}},
		{"none", "some text", []string{"some text"}},
		{"cart", long + "cart " + long, []string{
			"…" + strings.Repeat("ü ", 20), "cart", " " + strings.Repeat("ü ", 51) + "ü…"}},
	} {
		if got := Pieces(tt.text, Parse(tt.query)); !slices.Equal(got, tt.want) {
			t.Errorf("pieces of %q in %q: got %q, want %q", tt.query, tt.text, got, tt.want)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add("Größe ab会话\xff", "ab")
	f.Fuzz(func(t *testing.T, text, query string) {
		terms := Parse(query)
		words := Append(nil, text)
		if !utf8.Valid(words) {
			t.Errorf("the words of %q are not UTF-8: %q", text, words)
		}
		if again := Append(nil, string(words)); string(again) != string(words) {
			t.Errorf("the words of the words of %q are %q, want %q", text, again, words)
		}
		for i, term := range terms {
			if got := len(matches(text, terms[i:i+1])) > 0; got != term.In(words) {
				t.Errorf("%q in %q: matches finds it: %v", term.Words, text, got)
			}
		}
		Pieces(text, terms)
	})
}
