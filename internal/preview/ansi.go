package preview

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/internal/printable"
)

// A pen is how text of a terminal is drawn. Colors are 1 to 16, 0 is the default.
type pen struct {
	fg, bg                 int
	bold, dim, italic, und bool
}

// colors returns text of a terminal as HTML. Escape sequences that select colors
// become classes; all others are shown as escapes.
func colors(text []byte) string {
	var b strings.Builder
	var now pen
	write := func(part []byte) {
		if len(part) == 0 {
			return
		}
		content := escape(printable.Text(part))
		if now == (pen{}) {
			b.WriteString(content)
			return
		}
		b.WriteString(`<span class="` + now.classes() + `">` + content + "</span>")
	}
	kept := 0
	for i := 0; ; {
		at := bytes.Index(text[i:], []byte("\x1b["))
		if at < 0 {
			break
		}
		at += i
		end := at + 2
		for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == ';' || text[end] == ':') {
			end++
		}
		if i = end; end == len(text) || text[end] != 'm' {
			continue
		}
		write(text[kept:at])
		now.set(string(text[at+2 : end]))
		i, kept = end+1, end+1
	}
	write(text[kept:])
	return b.String()
}

// set applies the parameters of a "select graphic rendition" sequence (ECMA-48).
func (p *pen) set(parameters string) {
	list := strings.FieldsFunc(parameters, func(r rune) bool { return r == ';' || r == ':' })
	if len(list) == 0 {
		*p = pen{}
	}
	for i := 0; i < len(list); i++ {
		n, _ := strconv.Atoi(list[i])
		switch {
		case n == 0:
			*p = pen{}
		case n == 1:
			p.bold = true
		case n == 2:
			p.dim = true
		case n == 3:
			p.italic = true
		case n == 4:
			p.und = true
		case n == 22:
			p.bold, p.dim = false, false
		case n == 23:
			p.italic = false
		case n == 24:
			p.und = false
		case n >= 30 && n <= 37:
			p.fg = n - 29
		case n == 39:
			p.fg = 0
		case n >= 40 && n <= 47:
			p.bg = n - 39
		case n == 49:
			p.bg = 0
		case n >= 90 && n <= 97:
			p.fg = n - 81
		case n >= 100 && n <= 107:
			p.bg = n - 91
		case n == 38 || n == 48:
			color, used := extended(list[i+1:])
			if i += used; n == 38 {
				p.fg = color
			} else {
				p.bg = color
			}
		}
	}
}

// extended returns the nearest of the 16 colors to one of 256, or of all, and how
// many parameters it has.
func extended(list []string) (color, used int) {
	var n [4]int
	for i := range min(len(n), len(list)) {
		n[i], _ = strconv.Atoi(list[i])
	}
	switch {
	case n[0] == 2:
		return nearest(n[1], n[2], n[3]), min(4, len(list))
	case n[0] != 5:
		return 0, min(1, len(list))
	case n[1] < 16:
		return max(0, n[1]) + 1, min(2, len(list))
	case n[1] < 232: // a cube of 6 steps for each of red, green and blue
		c := n[1] - 16
		return nearest(c/36*51, c/6%6*51, c%6*51), min(2, len(list))
	}
	gray := (n[1] - 232) * 11
	return nearest(gray, gray, gray), min(2, len(list))
}

// nearest returns the color of 16 for an amount of red, green and blue.
func nearest(red, green, blue int) int {
	most := max(red, green, blue)
	if most < 48 {
		return 1
	}
	if most-min(red, green, blue) < 40 && most < 192 {
		return 9 // gray
	}
	c := 1
	for i, part := range []int{red, green, blue} {
		if part > most/2 {
			c += 1 << i
		}
	}
	if most >= 192 {
		c += 8
	}
	return c
}

func (p pen) classes() string {
	var list []string
	if p.fg > 0 {
		list = append(list, fmt.Sprintf("fg%d", p.fg-1))
	}
	if p.bg > 0 {
		list = append(list, fmt.Sprintf("bg%d", p.bg-1))
	}
	for _, on := range []struct {
		is    bool
		class string
	}{{p.bold, "bold"}, {p.dim, "dim"}, {p.italic, "italic"}, {p.und, "underline"}} {
		if on.is {
			list = append(list, on.class)
		}
	}
	return strings.Join(list, " ")
}
