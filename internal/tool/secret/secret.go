// Package secret finds what looks like a secret in texts and files: keys, tokens and
// passwords that have a known form, or that follow the name of a secret.
//
// It has the rules of gitleaks (gitleaks.txt), except those for names of files, and
// rules of its own (own.go): private keys; tokens by their prefix; values after names
// such as password, secret, token and api_key; credentials in URLs, in the headers
// Authorization and Cookie, in arguments of curl, in .netrc, .npmrc and the
// configuration of Docker. A rule runs only beside its marks, which one pass over a
// text finds, and on what a string has without the escapes of strings in it.
//
// It finds what people paste by mistake. It does not prove that a text has no secret: a
// password without a name beside it has no form. It does not find the keys of
// applications that are public, what is encoded in base64 or compressed, the values of a
// Kubernetes secret, nor names and values in different cells of a table.
package secret

import (
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/order"
)

// A Match is a part of a text that looks like a secret.
type Match struct {
	Kind       string
	Start, End int // in bytes
}

// shortest is the length of the shortest secret.
const shortest = 8

// Find returns what looks like a secret in a text, in order and without overlaps.
func Find(text string) []Match { return find(text, 0) }

// find returns the matches that end after a position. Whether a part of a text is one
// depends only on the reach bytes before it, and on what follows. What is left when the
// matches are replaced has none.
func find(text string, from int) []Match {
	if len(text)-from < 1 || len(text) < shortest {
		return nil
	}
	d := rules()
	found := merge(d.scan(text))
	for range maxScans {
		left, origin := replaced(text, found)
		more := d.scan(left)
		if len(found) == 0 || len(more) == 0 {
			break
		}
		for _, m := range found {
			more = append(more, match{m, -1})
		}
		for i := range more[:len(more)-len(found)] {
			more[i].Start, more[i].End = origin(more[i].Start, false), origin(more[i].End, true)
		}
		found = merge(more)
	}
	for len(found) > 0 && found[0].End <= from {
		found = found[1:]
	}
	if len(found) > 0 {
		found[0].Start = max(found[0].Start, from)
	}
	return found
}

// maxScans is how often what is left of a text is searched again.
const maxScans = 4

// replaced returns a text with its matches replaced, and a function that returns where a
// position in it was, or where the match began or ended.
func replaced(text string, found []Match) (string, func(at int, end bool) int) {
	if len(found) == 0 {
		return "", nil
	}
	var b strings.Builder
	ends := make([]int, len(found)) // of the replacements
	done := 0
	for i, m := range found {
		b.WriteString(text[done:m.Start])
		b.WriteString(Redacted(m.Kind))
		done = m.End
		ends[i] = b.Len()
	}
	b.WriteString(text[done:])
	return b.String(), func(at int, end bool) int {
		i, exact := slices.BinarySearch(ends, at)
		if exact && !end {
			i++ // after the replacement
		}
		if i == len(found) || at <= ends[i]-len(Redacted(found[i].Kind)) {
			if i == 0 {
				return at
			}
			return found[i-1].End + at - ends[i-1]
		}
		if end {
			return found[i].End
		}
		return found[i].Start
	}
}

// scan returns the matches of all rules, in any order.
func (d *detector) scan(text string) []match {
	var found []match
	d.each(text, func(mark, end int) {
		start := end - len(d.marks[mark])
		for _, r := range d.byMark[mark] {
			if r.mayBe(text, start, end, d.marks[mark]) {
				found = d.search(r, text, start, found)
			}
		}
	})
	return found
}

// reach is how far before a secret the text counts.
const reach = 4 << 10

// A match is a Match with the order of its rule.
type match struct {
	Match
	order int
}

// merge joins matches that overlap: the first rule names them.
func merge(found []match) []Match {
	order.Sort(found, func(a, b match) int { return a.Start - b.Start })
	var list []Match
	order := 0 // of the last one
	for _, m := range found {
		last := len(list) - 1
		if last < 0 || m.Start >= list[last].End {
			list, order = append(list, m.Match), m.order
			continue
		}
		if m.order < order {
			list[last].Kind, order = m.Kind, m.order
		}
		list[last].End = max(list[last].End, m.End)
	}
	return list
}

// mayBe reports whether a rule can match at a mark. It rejects most marks.
func (r *rule) mayBe(text string, start, end int, mark string) bool {
	if r.follows != nil && !r.follows(text[end:]) {
		return false
	}
	switch {
	case r.place == near:
		return true
	case r.place == name && !valueFollows(text, end), r.place == exact && text[start:end] != mark:
		return false
	}
	if r.after != nil && !r.isAfter(text[max(0, start-512):start]) {
		return false
	}
	if start > 0 && r.bound && isWordByte(text[start-1]) {
		return false
	}
	if r.place == name {
		return true
	}
	return start < minEncoded || !isWordByte(text[start]) || !encoded(text[start-minEncoded:start])
}

func (r *rule) isAfter(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(r.after, func(word string) bool { return strings.Contains(text, word) })
}

// minEncoded is how many characters of base64 before a mark show that it is a part of
// encoded data.
const minEncoded = 64

func encoded(text string) bool {
	for i := range len(text) {
		if c := text[i]; (!isWordByte(c) && c != '+' && c != '/') || c == '_' {
			return false
		}
	}
	return true
}

func isWordByte(c byte) bool {
	return c == '_' || ('0' <= c && c <= '9') || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z')
}

// valueFollows reports whether a name that ends before a position can have a value: an
// operator follows, and what may be a secret.
func valueFollows(text string, at int) bool {
	skip := func(chars string, most int) {
		for most += at; at < min(most, len(text)) && strings.IndexByte(chars, text[at]) >= 0; at++ {
		}
	}
	for most := at + 48; at < min(most, len(text)) &&
		(isWordByte(text[at]) || strings.IndexByte(" \t.-", text[at]) >= 0); at++ {
	}
	skip("'\"\\` \t\r\n", 8)
	if at == len(text) || (strings.IndexByte("=>:|?,", text[at]) < 0 && strings.IndexByte(" \t\"'", text[at-1]) < 0) {
		return false
	}
	skip("=>:|?, \t\r\n'\"\\`", 12)
	begin := at
	likely := false
	lower := false
	upper := false
	for ; at < min(begin+200, len(text)) && (at < begin+shortest || !likely); at++ {
		switch c := text[at]; {
		case c <= ' ' || c == '"' || c == '\'' || c == '\\' || c == '`' || c >= 0x80:
			return likely && at-begin >= shortest
		case ('0' <= c && c <= '9') || strings.IndexByte("!@#%^&*+/=", c) >= 0:
			likely = true
		case 'a' <= c && c <= 'z':
			lower, likely = true, likely || upper
		case 'A' <= c && c <= 'Z':
			upper, likely = true, likely || lower
		}
	}
	return likely && at-begin >= shortest
}

// maxWindow is the most that is searched for one secret.
const maxWindow = 64 << 10

// search appends the matches of a rule at a mark.
func (d *detector) search(r *rule, text string, mark int, found []match) []match {
	r.prepare()
	begin := mark
	if r.place == near {
		begin = max(0, mark-128)
	}
	for size := r.window; ; size *= 4 {
		end := min(len(text), mark+size)
		w := open(text[begin:end])
		all := r.re.FindAllStringSubmatchIndex(w.text, -1)
		more := end < len(text) && size < maxWindow
		if more && ((len(all) == 0 && !strings.ContainsAny(w.text, " \n\t\"")) ||
			(len(all) > 0 && all[len(all)-1][1] == len(w.text))) {
			continue // the window ends within a secret
		}
		for _, at := range all {
			if from, to, ok := d.secret(r, lead(text[:begin]), w.text, at); ok {
				found = append(found, match{Match{r.kind, begin + w.at(from), begin + w.at(to)}, r.order})
			}
		}
		return found
	}
}

// lead returns the characters of a name at the end of a text, at most 50.
func lead(text string) string {
	i := len(text)
	for i > max(0, len(text)-50) && (isWordByte(text[i-1]) || text[i-1] == '-' || text[i-1] == '.') {
		i--
	}
	return text[i:]
}

// secret returns where the secret of a match is, and whether it is one.
func (d *detector) secret(r *rule, lead, text string, at []int) (from, to int, ok bool) {
	from, to = at[0], at[1]
	if r.group > 0 {
		from, to = at[2*r.group], at[2*r.group+1]
	} else {
		for i := 2; i < len(at); i += 2 {
			if at[i] < at[i+1] {
				from, to = at[i], at[i+1]
				break
			}
		}
	}
	if to == at[1] && r.place != name && to < len(text) && isWordByte(text[to-1]) {
		for to < len(text) && (isWordByte(text[to]) || text[to] == '-') {
			to++ // a token that is longer than the rule says
		}
	}
	value := text[from:to]
	if r.trim != nil {
		value = r.trim(value)
		to = from + len(value)
	}
	if len(value) == 0 || (r.ok != nil && !r.ok(value)) {
		return 0, 0, false
	}
	if r.ok == nil && ((r.entropy > 0 && entropy(value) <= r.entropy) || d.allowed(r, lead, text, at, value)) {
		return 0, 0, false
	}
	return from, to, true
}

const marker = "[redacted "

// Redacted is what replaces a secret. It is not found as a secret, and can be part of
// any JSON string.
func Redacted(kind string) string { return marker + kind + "]" }
