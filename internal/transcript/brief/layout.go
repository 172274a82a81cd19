package brief

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// Tokens estimates the tokens of a text: three small letters or spaces, two other ASCII characters
// or half of any other one are a token. It is meant to be too high: of English, tokenizers take
// about four characters as a token.
func Tokens(text string) int {
	sixths := 0
	for _, r := range text {
		switch {
		case ('a' <= r && r <= 'z') || r == ' ':
			sixths += 2
		case r < 0x80:
			sixths += 3
		default:
			sixths += 12
		}
	}
	return (sixths + 5) / 6
}

// margin is longer than secrets are that are known by their ends: a text that is cut is searched
// as far beyond the cut.
const margin = 4 << 10

// redacted returns the beginning or the end of a text, of at most so many bytes, without what looks
// like a secret, as in kept threads.
func redacted(text string, most int, end bool) string {
	most = min(most, maxText-margin)
	text, _ = handoff.RedactText(cut(text, most+margin, end))
	return cut(text, most, end)
}

// The limits of a line, in characters.
const (
	maxLine = 200
	minLine = 24
	minRow  = 12
	maxRow  = 1000 // of a text of several lines, in bytes
)

// A block is a line, and perhaps a text of several lines, which is quoted.
type block struct {
	before, code, after string // the line: code is a text of others, in a code span
	path                bool   // code is a path, whose end counts

	text string // of others
	tail bool   // the end of text counts, not its beginning

	rows []string // the lines of text, as they are shown
}

// line returns the first line, with at most so many characters of its code.
func (b block) line(most int) string {
	code := b.code
	if r := []rune(code); b.path && len(r) > most {
		code = "…" + string(r[len(r)-most+1:])
	}
	return "- " + b.before + printable.Code(code, most) + b.after + "\n"
}

// rowsOf returns the lines of a text as they are shown.
func rowsOf(text string) (rows []string) {
	for row := range strings.Lines(strings.Trim(text, "\n")) {
		row = strings.TrimRight(row, " \t\r\n")
		if len(row) > maxRow {
			row = cut(row, maxRow, false) + "…"
		}
		rows = append(rows, "  > "+printable.Line(strings.ReplaceAll(row, "\t", "    "))+"\n")
	}
	return rows
}

// want returns the tokens of the complete block.
func (b block) want() int {
	n := Tokens(b.line(maxLine))
	for _, row := range b.rows {
		n += Tokens(row)
	}
	return n
}

// fit returns the block with at most so many tokens, if its line fits at all.
func (b block) fit(tokens int) string {
	most := maxLine
	for most > minLine && Tokens(b.line(most)) > tokens {
		most = max(minLine, most*3/4)
	}
	text := b.line(most)
	left := tokens - Tokens(text)
	rows := b.rows
	if b.tail {
		rows = slices.Clone(rows)
		slices.Reverse(rows)
	}
	var shown []string
	for _, row := range rows {
		n := Tokens(row)
		if n > left {
			if row = cutRow(row, left); row != "" {
				shown = append(shown, row)
			}
			break
		}
		shown, left = append(shown, row), left-n
	}
	if b.tail {
		slices.Reverse(shown)
	}
	return text + strings.Join(shown, "")
}

// cutRow returns the beginning of a row with at most so many tokens, "" if too little is left.
func cutRow(row string, tokens int) string {
	runes := []rune(strings.TrimSuffix(row, "\n"))
	n := min(len(runes), 3*tokens)
	for n > minRow && Tokens(string(runes[:n])+"…\n") > tokens {
		n = n * 7 / 8
	}
	if n <= minRow {
		return ""
	}
	return string(runes[:n]) + "…\n"
}

// A part is a section of a brief.
type part struct {
	title  string
	weight int
	blocks []block
	last   bool // the last block is always shown
	hidden int  // blocks that the caller left out
	most   int  // bytes of a text
	least  bool // there may have been more than are known
}

// show adds a block, redacted.
func (p *part) show(b block) {
	b.code = redacted(b.code, 4*maxLine, false)
	b.rows = rowsOf(redacted(b.text, p.most, b.tail))
	p.blocks = append(p.blocks, b)
}

// head returns the first line, if so many blocks are left out.
func (p *part) head(left int) string {
	text := "\n## " + p.title
	switch left += p.hidden; {
	case p.least:
		text += " (at least " + strconv.Itoa(left) + " more)"
	case left > 0:
		text += " (" + strconv.Itoa(left) + " more)"
	}
	return text + "\n"
}

// longest is the longest head.
func (p *part) longest() string { return p.head(max(0, len(p.blocks)-1)) }

// want returns the tokens of the complete part.
func (p *part) want() int {
	n := Tokens(p.longest())
	for _, b := range p.blocks {
		n += b.want()
	}
	return n
}

// minBlock is the least number of tokens of a block before another one is shown.
const minBlock = 36

// fit returns the part with at most so many tokens, with one block at least, and the last one if
// that is always shown. The first block, which is the newest, takes half of the tokens if it wants them.
func (p *part) fit(tokens int) string {
	tokens -= Tokens(p.longest())
	blocks := p.blocks
	total, n := 0, 0
	for n < len(blocks) && total < tokens {
		least := minBlock
		if n == 0 {
			least = max(least, tokens/2)
		}
		total += min(least, blocks[n].want())
		n++
	}
	if total > tokens {
		n--
	}
	least := 1
	if p.last {
		least = 2
	}
	if n = max(n, least); n < len(blocks) {
		if p.last {
			blocks = append(slices.Clone(blocks[:n-1]), blocks[len(blocks)-1])
		} else {
			blocks = blocks[:n]
		}
	}
	wants, weights := make([]int, len(blocks)), make([]int, len(blocks))
	for i, b := range blocks {
		wants[i], weights[i] = b.want(), 1
	}
	weights[0] = max(1, len(blocks)-1)
	shares := share(wants, weights, tokens)
	text := p.head(len(p.blocks) - len(blocks))
	for i, b := range blocks {
		text += b.fit(shares[i])
	}
	return text
}

// share divides a total by weights. Whoever wants less than its share leaves the rest to others.
func share(wants, weights []int, total int) []int {
	shares, open := make([]int, len(wants)), 0
	for i := range wants {
		shares[i], open = -1, open+weights[i]
	}
	for settled := true; settled; {
		settled = false
		for i, want := range wants {
			if shares[i] < 0 && want*open <= total*weights[i] {
				shares[i], settled = want, true
				total, open = total-want, open-weights[i]
			}
		}
	}
	for i := range shares {
		if shares[i] < 0 {
			shares[i] = total * weights[i] / open
		}
	}
	return shares
}

// layOut returns parts with at most so many tokens.
func layOut(list []*part, tokens int) string {
	list = slices.DeleteFunc(list, func(p *part) bool { return len(p.blocks) == 0 })
	wants, weights := make([]int, len(list)), make([]int, len(list))
	for i, p := range list {
		wants[i], weights[i] = p.want(), p.weight
	}
	shares := share(wants, weights, tokens)
	var b strings.Builder
	for i, p := range list {
		for line := range strings.Lines(p.fit(shares[i])) { // in case that many parts have little room
			if tokens -= Tokens(line); tokens < 0 {
				return b.String()
			}
			b.WriteString(line)
		}
	}
	return b.String()
}
