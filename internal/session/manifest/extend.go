package manifest

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/agent-handoff/handoff"
)

// What stands in the text of a manifest before its parts. No string in JSON has a line feed,
// so no other text has these at the start of a line.
const (
	outputsBegin   = "\n  \"outputs\": ["
	outputsEnd     = "\n  ]"
	metadataBegin  = "\n  \"metadata\": {"
	extensionBegin = "\n    \"" + ExtensionKey + "\": {\n      \"logSeq\": "
	artifactsBegin = "\n      \"artifacts\": ["
	artifactsEnd   = "\n      ]"
)

// NewestIn returns the newest record of which the text of a manifest of handoff has the
// artifact, 0 if it is not known.
func NewestIn(text []byte) handoff.Seq {
	_, digits, _ := logSeq(text)
	n, _ := strconv.ParseInt(string(digits), 10, 64)
	return handoff.Seq(n)
}

// logSeq returns where the digits of a manifest's logSeq begin, and the digits.
func logSeq(text []byte) (at int, digits []byte, ok bool) {
	metadata := bytes.Index(text, []byte(metadataBegin))
	if metadata < 0 {
		return 0, nil, false
	}
	at = bytes.Index(text[metadata:], []byte(extensionBegin))
	if at < 0 {
		return 0, nil, false
	}
	at += metadata + len(extensionBegin)
	end := bytes.IndexAny(text[at:], ",\n")
	if end < 0 {
		return 0, nil, false
	}
	return at, text[at : at+end], true
}

// Extend returns the text that New and JSON give a manifest, from the text that they gave it
// before artifacts, which are newer than all in it, were published; nil if that can't be done
// without the others.
func Extend(text []byte, s handoff.Session, artifacts []handoff.Artifact) []byte {
	at, digits, ok := logSeq(text)
	begin := bytes.Index(text, []byte(outputsBegin))
	if !ok || begin < 0 || begin > at {
		return nil
	}
	listed := bytes.Index(text[at:], []byte(artifactsBegin))
	outputs := endOf(text, begin+len(outputsBegin), outputsEnd)
	all := endOf(text, at+listed+len(artifactsBegin), artifactsEnd)
	if listed < 0 || outputs < 0 || all < 0 {
		return nil
	}
	var newOutputs, newArtifacts []byte
	newest, added := NewestIn(text), map[string]bool{}
	for _, a := range bySeq(artifacts) {
		file, inside := FileOf(s, a)
		if name, err := handoff.EncodeJSON(file); a.Late || err != nil ||
			inside && (added[file] || bytes.Contains(text, fmt.Appendf(nil, "\"file\": %s,", name))) {
			return nil
		}
		added[file] = true
		newest = max(newest, a.Seq)
		newArtifacts = addElement(newArtifacts, "        ", Artifact{a.ID, a.Channel, a.Path, a.Status})
		for _, o := range Outputs(s, []handoff.Artifact{a}) {
			newOutputs = addElement(newOutputs, "    ", o)
		}
	}
	out := make([]byte, 0, len(text)+len(newOutputs)+len(newArtifacts)+8)
	out = append(append(out, text[:outputs]...), newOutputs...)
	out = append(out, text[outputs:at]...)
	out = strconv.AppendInt(out, int64(newest), 10)
	out = append(append(out, text[at+len(digits):all]...), newArtifacts...)
	return append(out, text[all:]...)
}

// endOf returns where the last element of the array that begins at a position ends, -1 if it
// has none.
func endOf(text []byte, at int, end string) int {
	n := bytes.Index(text[at:], []byte(end))
	if n <= 0 || text[at] != '\n' { // an empty array is on one line
		return -1
	}
	return at + n
}

// addElement adds an element of an array, after one before it.
func addElement(to []byte, indent string, v any) []byte {
	b, err := handoff.EncodeJSONIndent(v)
	if err != nil {
		panic(err) // texts and numbers can be encoded
	}
	to = append(append(to, ",\n"...), indent...)
	return append(to, bytes.ReplaceAll(b, []byte("\n"), []byte("\n"+indent))...)
}
