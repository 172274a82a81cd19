package secret

import "strings"

// A matcher finds words in texts, in one pass however many words there are (Aho and
// Corasick, 1975). It compares ASCII letters in any case.
type matcher struct {
	class [256]uint8 // 0 for bytes that are in no word
	shift int        // log2 of the number of classes
	next  []uint16   // by state and class: the next state, with ends if a word ends there
	found [][]int    // by state: the words that end there
}

const ends = 1 << 15

// newMatcher returns a matcher of words, which are in lower case.
func newMatcher(words []string) *matcher {
	m := &matcher{}
	classes, most := 1, 1 // the most states that there can be
	for _, word := range words {
		most += len(word)
		for i := range len(word) {
			if c := word[i]; m.class[c] == 0 {
				m.class[c] = uint8(classes)
				classes++
			}
		}
	}
	for c := byte('a'); c <= 'z'; c++ {
		m.class[c-'a'+'A'] = m.class[c]
	}
	for 1<<m.shift < classes {
		m.shift++
	}
	m.next = make([]uint16, most<<m.shift)
	m.found = make([][]int, 0, most)
	m.add()
	for id, word := range words {
		state := uint16(0)
		for i := range len(word) {
			at := m.at(state, word[i])
			if m.next[at] == 0 {
				m.next[at] = m.add()
			}
			state = m.next[at]
		}
		m.found[state] = append(m.found[state], id)
	}
	m.next = m.next[:len(m.found)<<m.shift]
	m.link()
	return m
}

func (m *matcher) add() uint16 {
	m.found = append(m.found, nil)
	return uint16(len(m.found) - 1)
}

func (m *matcher) at(state uint16, c byte) int {
	return int(state)<<m.shift | int(m.class[c])
}

// link adds to each state the transitions and words of the longest suffix of its text
// that is a state too.
func (m *matcher) link() {
	width := 1 << m.shift
	suffix := make([]uint16, len(m.found))
	var queue []uint16
	for c := range width {
		if s := m.next[c]; s != 0 {
			queue = append(queue, s)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		state := int(queue[0])
		short := int(suffix[state])
		m.found[state] = append(m.found[state], m.found[short]...)
		for c := range width {
			to := &m.next[state*width+c]
			other := m.next[short*width+c]
			if *to == 0 {
				*to = other
				continue
			}
			suffix[*to] = other
			queue = append(queue, *to)
		}
	}
	for i, s := range m.next {
		if len(m.found[s]) > 0 {
			m.next[i] |= ends
		}
	}
}

// each calls f with each word in a text, and the position after it.
func (m *matcher) each(text string, f func(word, end int)) {
	state := 0
	shift, next := m.shift, m.next
	for i := range len(text) {
		to := next[state<<shift|int(m.class[text[i]])]
		if to&ends != 0 {
			to &^= ends
			for _, word := range m.found[to] {
				f(word, i+1)
			}
		}
		state = int(to)
	}
}

// in reports whether one of the words is in a text.
func (m *matcher) in(text string) bool {
	state := 0
	for i := range len(text) {
		to := m.next[state<<m.shift|int(m.class[text[i]])]
		if to&ends != 0 {
			return true
		}
		state = int(to)
	}
	return false
}

// lower is strings.ToLower for words of rules.
func lower(words []string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = strings.ToLower(word)
	}
	return out
}
