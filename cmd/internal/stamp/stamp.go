// Package stamp has the version that the linker writes into the programs of a release, in
// a form that is found in a file without running it. All other builds have no stamp.
package stamp

import (
	"bytes"
	"encoding/hex"
	"strings"
)

// stamp is set by the linker: the mark, the version, and a semicolon.
var stamp string

// mark is "agent-handoff release: " in hexadecimal, so that a program contains the text in
// its stamp only.
const mark = "6167656e742d68616e646f66662072656c656173653a20"

// maxVersion is the length of a version, in bytes.
const maxVersion = 100

// Version returns the version of the release that this program is from, such as v0.1.0, ""
// if it is from none.
func Version() string { return Find([]byte(stamp)) }

// Find returns the version of the release that a program is from, "" if it is from none.
func Find(program []byte) string {
	text, _ := hex.DecodeString(mark)
	_, rest, _ := bytes.Cut(program, text)
	version, _, found := strings.Cut(string(rest[:min(len(rest), maxVersion)]), ";")
	if !found {
		return ""
	}
	return version
}
