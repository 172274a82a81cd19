package preview

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/printable"
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
	list := strings.Split(parameters, ";")
	for i := 0; i < len(list); i++ {
		first, sub, _ := strings.Cut(list[i], ":")
		n, _ := strconv.Atoi(first) // 0 for none
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
			p.und = sub != "0" // 4:3 is curly
		case n == 22:
			p.bold, p.dim = false, false
		case n == 23:
			p.italic = false
		case n == 24:
			p.und = false
		case n >= 30 && n <= 37:
			p.fg = n - 29
		case n == 38 || n == 39: // one of 256 colors, or of all, is not drawn
			p.fg = 0
		case n >= 40 && n <= 47:
			p.bg = n - 39
		case n == 48 || n == 49:
			p.bg = 0
		case n >= 90 && n <= 97:
			p.fg = n - 81
		case n >= 100 && n <= 107:
			p.bg = n - 91
		}
		if (n == 38 || n == 48) && sub == "" && i+1 < len(list) {
			i += map[string]int{"5": 2, "2": 4}[list[i+1]]
		}
	}
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
