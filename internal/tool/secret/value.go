package secret

import (
	"encoding/base64"
	"math"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// entropy is the Shannon entropy of a text in bits for each character.
func entropy(text string) float64 {
	counts := map[rune]int{}
	n := 0.0
	for _, c := range text {
		counts[c]++
		n++
	}
	sum := 0.0
	for _, count := range counts {
		p := float64(count) / n
		sum -= p * math.Log2(p)
	}
	return sum
}

// isSecret reports whether a value after the name of a secret is one, not code that
// computes it, a placeholder, or the text of an earlier redaction.
func isSecret(value string) bool {
	if strings.ContainsAny(value, "([{$<") || strings.HasPrefix(value, marker) || isPlaceholder(value) ||
		isPlace(value) {
		return false
	}
	if !strings.ContainsFunc(value, unicode.IsLetter) {
		return false
	}
	return strings.ContainsAny(value, "0123456789!@#%^&*") ||
		(len(value) >= 10 && !isWords(value) && entropy(value) > 3)
}

var placeholderWords = []string{"xxxxx", "your-", "your_", "yourp", "example", "placeholder", "changeme", "change_me",
	"change-me", "redacted",
	"dummy", "insert", "replace", "****", "....", "sample", "secrets.", "process.env", "os.environ", "getenv"}

var placeholders = sync.OnceValue(func() *matcher { return newMatcher(placeholderWords) })

// isPlaceholder reports whether a value stands for a secret in documentation. Words in
// mixed case are random.
func isPlaceholder(value string) bool {
	found := strings.Count(value, value[:1]) == len(value)
	placeholders().each(value, func(word, end int) {
		s := value[end-len(placeholderWords[word]) : end]
		found = found || s[1:] == strings.ToLower(s[1:]) || s == strings.ToUpper(s)
	})
	return found
}

var placeForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(?:https?://|~?/|\.\.?/|[A-Z]:\\|[a-z]{3,}/)[\w./:@ +-]*$|^[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+$|^[A-Z]+(?:_[A-Z]+)*_\d$`)
})

// isPlace reports whether a value is where a secret comes from: a path, the address of a
// page, a member of a variable, the name of a variable.
func isPlace(value string) bool { return placeForm().MatchString(value) }

var idForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}` +
		`|[0-9a-f]{12,128}|[0-7][0-9a-hjkmnp-tv-z]{25}|(?:sha\d+|md5|h1)[-:=].*|[a-z]+:[0-9a-f]{32,}|[\d.:TZ+-]+)$`)
})

// isID reports whether a value has the form of an identifier: a UUID, a digest, a ULID,
// a time.
func isID(value string) bool { return idForm().MatchString(value) }

// isWords reports whether a value is made of words and numbers.
func isWords(value string) bool {
	for part := range strings.FieldsFuncSeq(value, func(c rune) bool { return strings.ContainsRune("-_./+=:", c) }) {
		word := strings.TrimRight(strings.TrimLeft(part, "0123456789"), "0123456789")
		if strings.ContainsAny(word, "0123456789") || (len(part)-len(word) > 4 && word != "") || !isWord(word) {
			return false
		}
	}
	return true
}

// isWord reports whether letters are a word, or several in camel case, of three and a
// half letters and more on average.
func isWord(s string) bool {
	words := 0
	for i := range len(s) {
		upper := unicode.IsUpper(rune(s[i]))
		if i == 0 || (upper != unicode.IsUpper(rune(s[i-1])) && (upper || (i > 1 && unicode.IsUpper(rune(s[i-2]))))) {
			words++
		}
	}
	return words*7 <= max(2*len(s), 7)
}

// isCredentials reports whether a value is what HTTP's Basic scheme sends.
func isCredentials(value string) bool {
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	if err != nil {
		return false
	}
	user, password, ok := strings.Cut(string(text), ":")
	return ok && user+password != "" && !strings.ContainsFunc(string(text), func(c rune) bool {
		return c < ' ' || c > '~'
	})
}

var arguments = sync.OnceValue(func() *matcher {
	return newMatcher([]string{"authorization:", "key:", "token:", "-u", "--user"})
})

// hasCredentials reports whether a command can have credentials among its arguments.
func hasCredentials(rest string) bool { return arguments().in(rest[:min(len(rest), 512)]) }

// isRandom reports whether a token with a known beginning is not a word or placeholder.
func isRandom(value string) bool {
	return !isPlaceholder(value) && !isWords(value)
}

// strong is the name of what is a secret whatever form it has.
var strong = sync.OnceValue(func() *matcher {
	return newMatcher([]string{"token", "secret", "passw", "pwd", "api_key", "apikey", "api-key", "api key",
		"credential", "access_key", "accesskey"})
})

var digests = sync.OnceValue(func() *matcher {
	return newMatcher([]string{"integrity", "checksum", "digest", "sha1", "sha256", "sha384", "sha512", "md5", "hash",
		"fingerprint", " h1:",
		"etag", "commit", "revision", "token_count", "tokens", "author", "keyboard", "keyword", "public"})
})

// otherName is a name of what is not a secret, such as apiCallId or token_type.
var otherName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?:[a-z]I[Dd]s?|[_.-](?i:ids?|names?|type|version|ur[li]|path|file|count|length|size|time|at|index|format|mode|scope)` +
			`|[a-z](?:Name|Type|Version|U[Rr][LlIi]|Path|File|Count|Length|Size|Time|At|Index|Format|Mode|Scope))[^0-9A-Za-z_.-]*$`)
})

// isGeneric reports whether a match of a name and a value of any form is a secret.
func isGeneric(match, value string) bool {
	before, _, _ := strings.Cut(match, value)
	if otherName().MatchString(before) || isPlaceholder(value) || isPlace(value) || isWords(value) ||
		digests().in(before) {
		return false
	}
	return !isID(value) || strong().in(before)
}
