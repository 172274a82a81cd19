// Package secret finds what looks like a secret in texts and files: keys, tokens
// and passwords that have a known form.
//
// It finds what people paste by mistake. It does not prove that a text has no secret:
// a password without a name beside it has no form.
package secret

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A Match is a part of a text that looks like a secret.
type Match struct {
	Kind       string
	Start, End int // in bytes
}

// A form is how secrets of one kind are written.
type form struct {
	kind  string
	marks []string // in lower case; a text without any of them has no such secret
	re    *regexp.Regexp
	named bool // the secret is group 1, after its name
}

// shortest is the length of the shortest secret.
const shortest = 8

// privateKey is the kind of the only secrets of several lines.
const privateKey = "private key"

// forms are all forms. Where two match, the first counts.
var forms = sync.OnceValue(func() []form {
	list := []form{
		{kind: privateKey, marks: []string{"private key"}, re: regexp.MustCompile(
			`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?(?:-----(?:[^-]|-[^-])*(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?)?`)},
		{kind: "AWS key", marks: []string{"akia", "asia"}, re: regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`)},
		{kind: "GitHub token", marks: []string{"ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_"}, re: regexp.MustCompile(`\bgh[opsur]_[0-9A-Za-z]{36,}|\bgithub_pat_[0-9A-Za-z_]{40,}`)},
		{kind: "GitLab token", marks: []string{"glpat-"}, re: regexp.MustCompile(`\bglpat-[0-9A-Za-z_-]{20,}`)},
		{kind: "Slack token", marks: []string{"xox"}, re: regexp.MustCompile(`\bxox[abprs]-[0-9A-Za-z-]{10,}`)},
		{kind: "API key", marks: []string{"sk-"}, re: regexp.MustCompile(`\bsk-[0-9A-Za-z_-]{20,}`)},
		{kind: "Google key", marks: []string{"aiza"}, re: regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`)},
		{kind: "JSON web token", marks: []string{"eyj"}, re: regexp.MustCompile(`\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}(?:\.[0-9A-Za-z_-]*)?`)},
		{kind: "bearer token", marks: []string{"bearer"}, named: true, re: regexp.MustCompile(`(?i)\bbearer\s+([0-9A-Za-z._~+/-]{20,}=*)`)},
		{kind: "password in a URL", marks: []string{"://"}, named: true, re: regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s/:@"'\\<>{}$]*:([^\s/:@"'\\<>{}$]{3,})@`)},
		{kind: "password", marks: []string{"password", "passwd", "secret", "apikey", "api_key", "api-key", "token"}, named: true, re: regexp.MustCompile(
			`(?i)\b(?:[a-z0-9]+[_-])*(?:password|passwd|secret|api[_-]?key|token)\\*["']?\s*[=:]\s*\\*["']?([^\s"'\\,;]{8,})`)},
	}
	return list
})

// keyForm is the name of a JSON member whose value is a secret.
var keyForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:[a-z0-9]+[_-])*(?:password|passwd|secret|api[_-]?key|(?:access|auth|refresh|bearer)[_-]?token)$`)
})

// In reports whether a text has what looks like a secret.
func In(text string) bool { return len(Find(text)) > 0 }

// Find returns what looks like a secret in a text, in order and without overlaps.
func Find(text string) []Match {
	if len(text) < shortest {
		return nil
	}
	var found []Match
	lower := strings.ToLower(text)
	for _, f := range forms() {
		if !slices.ContainsFunc(f.marks, func(mark string) bool { return strings.Contains(lower, mark) }) {
			continue
		}
		for _, at := range f.re.FindAllStringSubmatchIndex(text, -1) {
			m := Match{f.kind, at[0], at[1]}
			if f.named {
				m.Start, m.End = at[2], at[3]
			}
			overlaps := slices.ContainsFunc(found, func(o Match) bool { return m.Start < o.End && o.Start < m.End })
			if !overlaps && (!f.named || isSecret(text[m.Start:m.End])) {
				found = append(found, m)
			}
		}
	}
	slices.SortFunc(found, func(a, b Match) int { return a.Start - b.Start })
	return found
}

// isSecret reports whether a value after the name of a secret is one, not code that
// computes it, a placeholder, or the text of an earlier redaction.
func isSecret(value string) bool {
	if strings.ContainsAny(value, "([{$<") || strings.HasPrefix(value, marker) {
		return false
	}
	return strings.ContainsAny(value, "0123456789!@#%^&*") && strings.ContainsFunc(value, unicode.IsLetter)
}

const marker = "[redacted "

// Redacted is what replaces a secret. It is not found as a secret, and can be part of
// any JSON string.
func Redacted(kind string) string { return marker + kind + "]" }
