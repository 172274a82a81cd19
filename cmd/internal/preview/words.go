package preview

import (
	"html/template"
	"strings"
)

// HTML returns the text of a line with the words marked that a line in its place does not have.
func (l Line) HTML() template.HTML {
	if l.from == l.to {
		return template.HTML(escape(l.Text))
	}
	return template.HTML(escape(l.Text[:l.from]) + "<mark>" + escape(l.Text[l.from:l.to]) + "</mark>" +
		escape(l.Text[l.to:]))
}

// replaced returns how many removed lines a list begins with, and how many added ones follow them.
func replaced(list []Line) (removed, added int) {
	for removed < len(list) && list[removed].Class == "del" {
		removed++
	}
	for removed+added < len(list) && list[removed+added].Class == "add" {
		added++
	}
	return removed, added
}

// markWords marks what differs between removed lines and the added ones in their place.
func markWords(list []Line) {
	for i := 0; i < len(list); {
		removed, added := replaced(list[i:])
		for k := range min(removed, added) {
			markPair(&list[i+k], &list[i+removed+k])
		}
		i += max(1, removed+added)
	}
}

// markPair marks the words between the beginning and the end that two lines have in common,
// unless less than a third of the shorter one is in common. The first byte of a line is + or -.
func markPair(a, b *Line) {
	begin, shorter := 1, min(len(a.Text), len(b.Text))
	for begin < shorter && a.Text[begin] == b.Text[begin] {
		begin++
	}
	for begin > 1 && (inWord(a.Text, begin) || inWord(b.Text, begin)) {
		begin--
	}
	end := 0
	for end < shorter-begin && a.Text[len(a.Text)-1-end] == b.Text[len(b.Text)-1-end] {
		end++
	}
	for end > 0 && (inWord(a.Text, len(a.Text)-end) || inWord(b.Text, len(b.Text)-end)) {
		end--
	}
	common := len(strings.TrimSpace(a.Text[1:begin])) + len(strings.TrimSpace(a.Text[len(a.Text)-end:]))
	if 3*common < min(len(strings.TrimSpace(a.Text[1:])), len(strings.TrimSpace(b.Text[1:]))) {
		return
	}
	for _, l := range []*Line{a, b} {
		l.from, l.to = begin, len(l.Text)-end
	}
}

// inWord reports whether a word, or a character of several bytes, is on both sides of a place
// in a text.
func inWord(text string, at int) bool {
	return at > 0 && at < len(text) && isWord(text[at-1]) && isWord(text[at])
}

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
