package content

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/agent-handoff/handoff"
)

// Text returns the first most bytes of an artifact's body as published, "" if it
// is not text, has more than handoff.KeepLimit bytes or can't be read.
func Text(ctx context.Context, a handoff.Artifact, kept handoff.Bodies, files handoff.Files, most int64) string {
	if a.Digest.Algorithm != handoff.SHA256 || a.SizeBytes == nil || *a.SizeBytes > handoff.KeepLimit ||
		!isText(a.MediaType) {
		return ""
	}
	d, redacted := a.Digest, a.Redacted != nil && a.Redacted.Body != ""
	if redacted {
		d = a.Redacted.Digest
	}
	var f io.ReadCloser
	if a.Kept || redacted {
		if body, err := kept.Open(ctx, d); err == nil {
			f = body
		}
	} else if _, file := files.Open(ctx, a); file != nil {
		f = file
	}
	if f == nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil || bytes.IndexByte(b, 0) >= 0 {
		return ""
	}
	return string(b)
}

// isText reports whether a body of a media type is made of words.
func isText(mediaType string) bool {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	major, minor, _ := strings.Cut(strings.TrimSpace(mediaType), "/")
	switch minor {
	case "json", "x-ndjson", "yaml", "toml", "xml", "sql":
		return major == "application"
	}
	return major == "text" || strings.HasSuffix(minor, "+json") ||
		(strings.HasSuffix(minor, "+xml") && major != "image")
}
