package preview

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// maxColumns bounds a row.
const maxColumns = 200

// separator returns the most frequent separator of the first line.
func separator(text []byte) rune {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	best, most := ',', 0
	for _, c := range ",;\t|" {
		if n := strings.Count(string(first), string(c)); n > most {
			best, most = c, n
		}
	}
	return best
}

// table returns comma-separated values as a table, whose first row is its head.
func (p *Preview) table(text []byte) (template.HTML, error) {
	text = bytes.TrimPrefix(text, byteOrderMark)
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord = separator(text), true, -1, true
	var b strings.Builder
	b.WriteString(`<div class="scroll" tabindex="0"><table class="sortable">` + "\n")
	if p.Offset > 0 {
		b.WriteString("<tbody>\n") // the head is in the first range
	}
	rows := 0
	for ; rows <= maxRows; rows++ {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("not a valid table: %w", err)
		}
		if len(record) > maxColumns {
			record = record[:maxColumns]
		}
		if rows == 0 && p.Offset == 0 {
			b.WriteString("<thead><tr>")
			writeCells(&b, "th", ` scope="col"`, record)
			b.WriteString("</tr></thead>\n<tbody>\n")
			continue
		}
		b.WriteString("<tr>")
		writeCells(&b, "td", "", record)
		b.WriteString("</tr>\n")
	}
	if rows > maxRows {
		p.Notes = append(p.Notes, fmt.Sprintf("only the first %d rows are shown", maxRows))
	}
	if rows == 0 && p.Offset == 0 {
		b.WriteString("<tbody>\n")
	}
	b.WriteString("</tbody></table></div>\n")
	return template.HTML(b.String()), nil
}

func writeCells(b *strings.Builder, tag, attributes string, record []string) {
	for _, cell := range record {
		b.WriteString("<" + tag + attributes + ">" + escape(printable.Text([]byte(cell))) + "</" + tag + ">")
	}
}
