package action

import "strings"

const (
	artifactPrefix = "art_"
	artifactSize   = len(artifactPrefix) + 26
	commitSize     = 40
)

// ShortCommit is the fewest digits that git prints of a commit.
const ShortCommit = 7

// reported returns the IDs of artifacts in the output of a command, and the commits
// that it made.
func reported(out string) []string {
	return append(ArtifactIDs(out), CommitsMade(out)...)
}

// maxNames is the number of names that are used of one text.
const maxNames = 64

// ArtifactIDs returns the IDs of artifacts in a text.
func ArtifactIDs(text string) (ids []string) {
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

// CommitsMade returns the commits that the output of git commit reports, in lines of
// the form "[BRANCH COMMIT] SUBJECT".
func CommitsMade(out string) (commits []string) {
	for line := range strings.Lines(out) {
		if line[0] != '[' {
			continue
		}
		head, subject, _ := strings.Cut(line[1:], "]")
		branch := strings.LastIndexByte(head, ' ')
		if branch < 1 || !strings.HasPrefix(subject, " ") || !IsCommit(head[branch+1:]) {
			continue
		}
		if commits = append(commits, head[branch+1:]); len(commits) == maxNames {
			break
		}
	}
	return commits
}

// CommitIDs returns the complete IDs of commits in a text.
func CommitIDs(text string) (ids []string) {
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

// IsCommit reports whether a name may be the ID of a commit, which may be shortened.
func IsCommit(name string) bool {
	return len(name) >= ShortCommit && len(name) <= commitSize &&
		!strings.ContainsFunc(name, func(r rune) bool { return r > 0x7f || !isHex(byte(r)) })
}
