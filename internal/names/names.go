// Package names gives agents simple file names that are theirs alone.
//
// An agent writes context.md. Under which run or session that is, and hence
// where the file lies and what another agent must say to read it, follows from
// who it is: the name belongs to the namespace of its run, or of its session
// where there is no run. Fifty agents may write context.md at once.
//
//	<session directory>/artifacts/<run>/context.md
//
// The file is rendered from the newest revision; every earlier one can still
// be read.
package names

import (
	"encoding/hex"
	"errors"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
)

// maxSegment is the length of the longest segment of a name, in bytes: what
// file systems allow. maxName is that of a whole name.
const (
	maxSegment = 255
	maxName    = 1000
)

// temporaryPrefix begins the names of files that are on their way.
const temporaryPrefix = ".handoff-"

// Clean checks a name and returns it in its one form. A name is a slash-
// separated path that stays where it is: no segment is empty, "." (but for a
// leading "./"), or "..", none has more than 255 bytes, and there is no
// backslash, no control character and nothing that is not UTF-8.
//
// Its kind is Invalid.
func Clean(name string) (string, error) {
	refuse := func(reason string) (string, error) {
		return "", &handoff.Error{Op: "name", Name: quoted(name), Kind: handoff.Invalid, Err: errors.New(reason),
			Hint: handoff.Advice("write a plain name such as context.md or plans/step-1.md")}
	}
	clean := name
	for strings.HasPrefix(clean, "./") {
		clean = strings.TrimPrefix(clean, "./")
	}
	switch {
	case clean == "":
		return refuse("is empty")
	case len(clean) > maxName:
		return refuse("is longer than 1000 bytes")
	case !utf8.ValidString(clean) || strings.ContainsFunc(clean, unicode.IsControl):
		return refuse("has bytes that are no text")
	case strings.Contains(clean, `\`):
		return refuse("has a backslash")
	case path.IsAbs(clean):
		return refuse("is absolute")
	}
	for segment := range strings.SplitSeq(clean, "/") {
		switch {
		case segment == "" || segment == "." || segment == "..":
			return refuse("has a segment " + quoted(segment))
		case len(segment) > maxSegment:
			return refuse("has a segment of more than 255 bytes")
		case strings.HasPrefix(segment, temporaryPrefix):
			return refuse("has a segment that begins with " + temporaryPrefix)
		}
	}
	return clean, nil
}

func quoted(s string) string {
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:80], "") + "…"
	}
	return `"` + strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s) + `"`
}

// Folder returns the directory name of a namespace: the id itself where it is
// a safe segment of a path on every system, else one made from its bytes that
// no other id has.
func Folder(namespace string) string {
	if safeSegment(namespace) {
		return namespace
	}
	encoded := "~" + hex.EncodeToString([]byte(namespace))
	if len(encoded) > maxSegment {
		return "~" + digest(namespace)
	}
	return encoded
}

// safeSegment reports whether s is letters, digits, dashes, dots and
// underscores, begins with a letter or digit, and is not too long. Upper-case
// letters are safe only because ids that differ in case alone are not minted.
func safeSegment(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for i, r := range s {
		alphanumeric := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !alphanumeric && (i == 0 || r != '-' && r != '.' && r != '_') {
			return false
		}
	}
	return true
}
