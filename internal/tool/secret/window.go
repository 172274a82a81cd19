package secret

import "strings"

// A window is a part of a text without the escapes of strings inside strings, in which a
// quote has any number of backslashes before it.
type window struct {
	text string
	from []int // the position in the part of each byte; nil if there are no escapes
}

// open returns the window of a part of a text.
func open(part string) window {
	i := strings.IndexByte(part, '\\')
	if i < 0 {
		return window{text: part}
	}
	text := make([]byte, 0, len(part))
	from := make([]int, 0, len(part)+1)
	for i := 0; i < len(part); {
		from = append(from, i)
		c := part[i]
		i++
		if c == '\\' {
			for i < len(part) && part[i] == '\\' {
				i++
			}
			c, i = escaped(part, i)
		}
		text = append(text, c)
	}
	return window{string(text), append(from, len(part))}
}

// escaped returns the character of an escape, and the position after it.
func escaped(part string, i int) (byte, int) {
	if i == len(part) {
		return '\\', i
	}
	switch part[i] {
	case 'n', 'r', 't':
		return '\n', i + 1
	case '"', '\'', '/':
		return part[i], i + 1
	case 'u':
		if unit, ok := hex([]byte(`\` + part[i:min(i+5, len(part))])); ok && unit < 0x80 {
			return byte(unit), i + 5
		}
	}
	return '\\', i
}

// at returns the position in the part of a position in the window.
func (w window) at(i int) int {
	if w.from == nil {
		return i
	}
	return w.from[i]
}
