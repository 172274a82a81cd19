package threadindex

import (
	"regexp"
	"strings"
	"sync"
)

const (
	artifactPrefix = "art_"
	artifactSize   = len(artifactPrefix) + 26
	commitSize     = 40
	shortCommit    = 7 // the fewest digits that git prints of a commit
)

// commitLine is a line that git commit prints.
var commitLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\[[^\]\n]+ ([0-9a-f]{7,40})\] `) })

// reported returns the IDs of artifacts in the output of a command, and the commits
// that it made.
func reported(out string) []string {
	return append(artifactIDs(out), commitsMade(out)...)
}

// maxNames is the number of names that are used of one text.
const maxNames = 64

// artifactIDs returns the IDs of artifacts in a text.
func artifactIDs(text string) (ids []string) {
	for at := 0; len(ids) < maxNames; {
		i := strings.Index(text[at:], artifactPrefix)
		if i < 0 {
			break
		}
		start := at + i
		at = start + len(artifactPrefix)
		end := at
		for end < len(text) && isAlphanumeric(text[end]) {
			end++
		}
		if end-start == artifactSize && isWord(text, start, end) {
			ids = append(ids, text[start:end])
		}
	}
	return ids
}

// commitsMade returns the commits that the output of git commit reports.
func commitsMade(out string) (commits []string) {
	if !strings.Contains(out, "] ") {
		return nil
	}
	for _, m := range commitLine().FindAllStringSubmatch(out, maxNames) {
		commits = append(commits, m[1])
	}
	return commits
}

// commitIDs returns the complete IDs of commits in a text.
func commitIDs(text string) (ids []string) {
	for end := commitSize; end <= len(text) && len(ids) < maxNames; {
		start := end - commitSize
		last := end - 1
		for last >= start && isHex(text[last]) {
			last--
		}
		if last >= start {
			end = last + 1 + commitSize // no ID has this byte
			continue
		}
		if isWord(text, start, end) {
			ids = append(ids, text[start:end])
		}
		end += commitSize
	}
	return ids
}

// isWord reports whether text[start:end] is not part of a longer word.
func isWord(text string, start, end int) bool {
	return (start == 0 || !isWordByte(text[start-1])) && (end == len(text) || !isWordByte(text[end]))
}

func isWordByte(c byte) bool { return c == '_' || isAlphanumeric(c) }

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }
