// Package safepath recognizes the directories of git and handoff in a path, as every
// common file system reads it.
//
// Who can write to .git can run programs: git status starts what .git/config names.
// A name that is not ".git" byte by byte may still be that directory: file systems
// ignore case, invisible characters, and dots or spaces at the end of a name. The rules
// are those of git's own verify_path with core.protectHFS and core.protectNTFS, for
// .handoff too, and in addition what a case-insensitive ext4 or APFS ignores. They
// apply on every system, because workspaces are cloned to others.
package safepath

import (
	"fmt"
	"strings"
	"unicode"
)

// Check returns an error if an element of a path is .git or .handoff in one of its
// forms. Elements end at a slash or, as on Windows, at a backslash.
func Check(path string) error {
	if !strings.ContainsAny(path, ".~") {
		return nil
	}
	rest := path
	for rest != "" {
		element := rest
		if i := strings.IndexAny(rest, `/\`); i >= 0 {
			element, rest = rest[:i], rest[i+1:]
		} else {
			rest = ""
		}
		if dir := Reserved(element); dir != "" {
			return &Error{Element: element, Dir: dir}
		}
	}
	return nil
}

// An Error is the error of Check.
type Error struct {
	Element string // of the path
	Dir     string // .git or .handoff, the directory that it is
}

func (e *Error) Error() string {
	if e.Element == e.Dir {
		return "is inside " + e.Dir
	}
	return fmt.Sprintf("has the element %q, which some file systems read as %s", e.Element, e.Dir)
}

// Reserved returns ".git" or ".handoff" if an element of a path is that directory on
// some file system, and "" otherwise.
func Reserved(element string) string {
	name := fold(element)
	name, _, _ = strings.Cut(name, ":") // NTFS: .git::$INDEX_ALLOCATION is the directory itself
	name = strings.TrimRight(name, ". ")
	switch {
	case name == ".git", name == "git~1":
		return ".git"
	case name == ".handoff", isShort(name):
		return ".handoff"
	}
	return ""
}

// isShort reports whether a name is the short one that NTFS gives to .handoff: the
// first letters and a number, or two letters and four digits of a checksum.
func isShort(name string) bool {
	base, number, ok := strings.Cut(name, "~")
	if !ok || len(number) != 1 || number < "1" || number > "9" {
		return false
	}
	return base == "handof" || (len(base) == 6 && base[:2] == "ha" && strings.Trim(base[2:], "0123456789abcdef") == "")
}

// fold returns a name in lower case, without the characters that HFS+, APFS and ext4
// ignore. No character decomposes to a letter of the reserved names alone, so a name in
// another normal form is another name.
func fold(name string) string {
	ascii := true
	for i := range len(name) {
		ascii = ascii && name[i] < 0x80
	}
	if ascii {
		return strings.ToLower(name)
	}
	var b strings.Builder
	for _, r := range name {
		switch {
		case isIgnorable(r):
		case r >= 0xFB00 && r <= 0xFB04: // ligatures, of which full case folding makes letters
			b.WriteString([]string{"ff", "fi", "fl", "ffi", "ffl"}[r-0xFB00])
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// isIgnorable reports whether a file system may ignore a character: those of
// HFS+ and the property Default_Ignorable_Code_Point of Unicode.
func isIgnorable(r rune) bool {
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, 0x2065:
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector) ||
		(r >= 0xFFF0 && r <= 0xFFF8) || (r >= 0xE0000 && r <= 0xE0FFF)
}
