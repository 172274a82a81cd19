// Package nearest finds the words that a misspelt word may mean.
package nearest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/order"
)

// Of returns at most n of the given words, the most similar first: those that
// contain the word or that differ from it in at most a third of its characters.
// Case is ignored. Each is returned once.
func Of(word string, among []string, n int) []string {
	type similar struct {
		word string
		d    int
	}
	if len(word) > maxWord {
		return nil
	}
	lower := strings.ToLower(word)
	var list []similar
	for _, w := range among {
		d := Distance(lower, strings.ToLower(w))
		contained := len(word) > 2 && strings.Contains(strings.ToLower(w), lower)
		if (d > max(len(word)/3, 1) && !contained) || w == "" {
			continue
		}
		if !slices.ContainsFunc(list, func(s similar) bool { return s.word == w }) {
			list = append(list, similar{w, d})
		}
	}
	order.Sort(list, func(a, b similar) int { return cmp.Compare(a.d, b.d) })
	var words []string
	for _, s := range list[:min(n, len(list))] {
		words = append(words, s.word)
	}
	return words
}

// maxWord is the length, in bytes, above which nothing is similar to a word.
const maxWord = 300

// Distance returns the number of single bytes by which two words differ.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
