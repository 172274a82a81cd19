package web

import (
	"html/template"
	"io"

	"github.com/agent-handoff/handoff/internal/printable"
)

// previewLimit is how many bytes of a body a page shows.
const previewLimit = 64 << 10

// preview returns the first part of a body as safe HTML, by its content. more is
// set if there is more of it. name is that of the file, for the choice between
// formats that look alike.
func preview(name string, body io.ReadSeeker) (shown template.HTML, more bool, err error) {
	b, err := io.ReadAll(io.LimitReader(body, previewLimit+1))
	if err != nil {
		return "", false, err
	}
	more = len(b) > previewLimit
	text := printable.Text(b[:min(len(b), previewLimit)])
	return template.HTML(`<pre class="body">` + template.HTMLEscapeString(string(text)) + `</pre>`), more, nil
}
