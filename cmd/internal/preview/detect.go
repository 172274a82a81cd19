package preview

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"strings"
	"unicode/utf8"
)

// ImageType returns the media type of an image that a page may show, by its first
// bytes, "" for all other content. SVG is not among them, because it can contain
// scripts.
func ImageType(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte("GIF87a")), bytes.HasPrefix(head, []byte("GIF89a")):
		return "image/gif"
	case len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// byteOrderMark may precede UTF-8.
var byteOrderMark = []byte("\ufeff")

// kindOf returns the kind of a source, and the media type of an image. It removes
// a byte order mark from the piece.
func kindOf(s Source, r piece) (Kind, string) {
	switch {
	case r.size == 0:
		return Empty, ""
	case ImageType(r.head) != "":
		return Image, ImageType(r.head)
	case isBinary(r.head) || isBinary(r.text):
		return Binary, ""
	}
	return textKind(s, r), ""
}

// isBinary reports whether bytes are not text: they have a NUL, or one in ten is
// not UTF-8.
func isBinary(b []byte) bool {
	if bytes.IndexByte(b, 0) >= 0 {
		return true
	}
	invalid := 0
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			invalid++
		}
		i += size
	}
	return invalid*10 > len(b)
}

func textKind(s Source, r piece) Kind {
	head := bytes.TrimSpace(bytes.TrimPrefix(r.head, byteOrderMark))
	ext := strings.ToLower(path.Ext(s.Name))
	media, _, _ := strings.Cut(s.MediaType, ";")
	switch {
	case isJSON(head, len(r.head) < headSize), hasMembers(head) && languages[ext] == "json":
		return JSON
	case isDiff(head, ext):
		return Diff
	case ext == ".md" || ext == ".markdown" || media == "text/markdown":
		return Markdown
	case ext == ".csv" || ext == ".tsv" || media == "text/csv" || media == "text/tab-separated-values":
		return Table
	case bytes.Contains(r.head, []byte("\x1b[")) || bytes.Contains(r.text, []byte("\x1b[")):
		return Log
	case language(s, r.head) != "":
		return Code
	case ext == "" && looksLikeMarkdown(head):
		return Markdown
	}
	return Text
}

// isJSON reports whether content starts with an object or array of JSON, as far as
// its head shows.
func isJSON(head []byte, all bool) bool {
	if !hasMembers(head) {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(head))
	for n := 0; ; n++ {
		_, err := dec.Token()
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			return false
		} else if err != nil {
			return n > 1 || !all
		}
	}
}

// hasMembers reports whether text starts like an object or array of JSON.
func hasMembers(head []byte) bool { return len(head) > 0 && (head[0] == '{' || head[0] == '[') }

// isDiff reports whether text starts with the head of a unified diff, or with that of a
// commit. In a file that is named as a diff, other text may precede it.
func isDiff(head []byte, ext string) bool {
	starts := ext == ".diff" || ext == ".patch"
	for _, start := range []string{"diff --git ", "--- ", "Index: ", "commit ", "From "} {
		starts = starts || bytes.HasPrefix(head, []byte(start))
	}
	text := append([]byte("\n"), head...)
	return bytes.HasPrefix(head, []byte("diff --git ")) || starts && bytes.Contains(text, []byte("\n--- ")) &&
		bytes.Contains(text, []byte("\n+++ ")) && bytes.Contains(text, []byte("\n@@ "))
}

// looksLikeMarkdown reports whether text without a file name has the marks of a
// document: a heading and another paragraph.
func looksLikeMarkdown(head []byte) bool {
	for _, mark := range []string{"# ", "## "} {
		if bytes.HasPrefix(head, []byte(mark)) {
			return bytes.Contains(head, []byte("\n\n"))
		}
	}
	return false
}

// languages are the names of highlight.js by extension.
var languages = map[string]string{
	".bash": "bash", ".c": "c", ".cc": "cpp", ".cpp": "cpp", ".cs": "csharp", ".css": "css", ".go": "go",
	".graphql": "graphql",
	".h":       "c", ".hpp": "cpp", ".htm": "xml", ".html": "xml", ".ini": "ini", ".java": "java", ".js": "javascript",
	".json":  "json",
	".jsonl": "json", ".jsx": "javascript", ".kt": "kotlin", ".less": "less", ".lua": "lua", ".mjs": "javascript",
	".mk":  "makefile",
	".php": "php", ".pl": "perl", ".py": "python", ".r": "r", ".rb": "ruby", ".rs": "rust", ".scss": "scss", ".sh": "bash",
	".sql": "sql", ".svg": "xml", ".swift": "swift", ".toml": "ini", ".ts": "typescript", ".tsx": "typescript",
	".vb":  "vbnet",
	".wat": "wasm", ".xml": "xml", ".yaml": "yaml", ".yml": "yaml",
}

// language returns the language of code, "" for other text.
func language(s Source, head []byte) string {
	head = bytes.TrimSpace(bytes.TrimPrefix(head, byteOrderMark))
	if known := languages[strings.ToLower(path.Ext(s.Name))]; known != "" {
		return known
	}
	if base := path.Base(s.Name); base == "Makefile" {
		return "makefile"
	}
	if first, _, _ := bytes.Cut(head, []byte("\n")); bytes.HasPrefix(first, []byte("#!")) {
		for _, name := range []string{"python", "ruby", "perl", "php", "node"} {
			if bytes.Contains(first, []byte(name)) {
				return strings.Replace(name, "node", "javascript", 1)
			}
		}
		return "bash"
	}
	for _, start := range []string{"<!doctype html", "<html", "<svg", "<?xml"} {
		if len(head) >= len(start) && strings.EqualFold(string(head[:len(start)]), start) {
			return "xml"
		}
	}
	return ""
}
