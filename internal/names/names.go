// Package names gives each agent a namespace of plain file names.
//
// A name such as context.md belongs to the namespace of the agent's run, or of
// its session if it has no run, so any number of agents can write context.md at
// once. The name's file is
//
//	<session directory>/artifacts/<run>/context.md
//
// It is rendered from the newest revision; every earlier revision can still be
// read. Other agents refer to the name as <run>/context.md.
package names

import (
	"encoding/hex"
	"errors"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/safepath"
)

// The maximum lengths, in bytes, of a segment of a name (the limit of most file
// systems) and of a name.
const (
	maxSegment = 255
	maxName    = 1000
)

// Clean checks a name and returns its canonical form. A name is a slash-separated
// relative path. It contains no empty, "." or ".." segment (except a leading
// "./"), no segment of more than 255 bytes, no backslash, no control character
// and no invalid UTF-8, and it is not in .git or .handoff, in any form of these names.
//
// Error kind: Invalid.
func Clean(name string) (string, error) {
	invalid := func(reason string) (string, error) {
		return "", handoff.E("check name", quoted(name), handoff.Invalid, errors.New(reason),
			handoff.Advice("use a plain name such as context.md or plans/step-1.md"))
	}
	clean := name
	for strings.HasPrefix(clean, "./") {
		clean = strings.TrimPrefix(clean, "./")
	}
	switch {
	case clean == "":
		return invalid("is empty")
	case len(clean) > maxName:
		return invalid("is longer than 1000 bytes")
	case !utf8.ValidString(clean) || strings.ContainsFunc(clean, unicode.IsControl):
		return invalid("contains control characters or invalid UTF-8")
	case strings.Contains(clean, `\`):
		return invalid("contains a backslash")
	case path.IsAbs(clean):
		return invalid("path is absolute")
	}
	for segment := range strings.SplitSeq(clean, "/") {
		switch {
		case segment == "" || segment == "." || segment == "..":
			return invalid("contains the segment " + quoted(segment))
		case len(segment) > maxSegment:
			return invalid("contains a segment longer than 255 bytes")
		case durable.IsTemporary(segment):
			return invalid("contains a segment reserved for temporary files")
		}
	}
	if err := safepath.Check(clean); err != nil {
		return invalid(err.Error())
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

// Folder returns the directory name of a namespace: its ID if that is a safe
// path segment on every system, otherwise a unique encoding of the ID.
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

// safeSegment reports whether s has at most 128 letters, digits, dashes, dots
// and underscores and starts with a letter or digit. Upper-case letters are safe
// because no two generated IDs differ only in case.
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
