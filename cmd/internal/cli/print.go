package cli

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
)

// JSON prints the answer of a command as one indented JSON object, or the fields
// of it that --fields selects.
func (a *App) JSON(v any) error {
	if a.selecting {
		if err := a.checkFields(v); err != nil {
			return err
		}
		b, err := a.selectFields(v)
		return a.line(b, err)
	}
	b, err := handoff.EncodeJSONIndent(v)
	return a.line(b, err)
}

// JSONLine prints one JSON object of a stream on a line of its own.
func (a *App) JSONLine(v any) error {
	a.streaming = true
	b, err := handoff.EncodeJSON(v)
	return a.line(b, err)
}

func (a *App) line(b []byte, err error) error {
	if err == nil {
		_, err = a.Out.Write(append(b, '\n'))
	}
	return err
}

// Flush writes out what was printed, for a reader of a stream.
func (a *App) Flush() error {
	if b, ok := a.Out.(*bufio.Writer); ok {
		return b.Flush()
	}
	return nil
}

// ArtifactColumns are the columns of a list of artifacts.
var ArtifactColumns = []Column{
	{Name: "id", ID: true}, {Name: "channel", Rank: 2}, {Name: "by", Rank: 3},
	{Name: "title", Rank: 1, Text: true, Else: "path"},
	{Name: "path", Rank: 4, Long: true}, {Name: "age", Rank: 5},
	{Name: "status", Rank: 6, More: true}, {Name: "kind", More: true}, {Name: "session", More: true},
	{Name: "tags", More: true}, {Name: "revision", More: true}, NoticeColumn,
	{Name: "labels", Rank: 3, Long: true, Sparse: true},
}

// Artifacts prints artifacts.
func (t *Table) Artifacts(list []handoff.Artifact) error {
	return t.artifacts(ArtifactColumns, list)
}

// Revisions is Artifacts with the status of each.
func (t *Table) Revisions(list []handoff.Artifact) error {
	columns := slices.Clone(ArtifactColumns)
	for i := range columns {
		columns[i].More = columns[i].More && columns[i].Name != "status"
	}
	return t.artifacts(columns, list)
}

func (t *Table) artifacts(columns []Column, list []handoff.Artifact) error {
	rows := make([][]string, len(list))
	for i, art := range list {
		rows[i] = t.app.row(art)
	}
	return t.Print(columns, rows)
}

func (a *App) row(art handoff.Artifact) []string {
	by, title, file := a.Describe(art)
	return []string{art.ID, art.Channel, by, title, file, a.Age(art.CreatedAt),
		string(art.Status), art.Kind, art.Producer.Session, strings.Join(art.Tags, ","), fmt.Sprint("v", art.Revision),
		NoticeCell(art.Notices()), strings.Join(art.Labels, ",")}
}

// Describe returns the cells of an artifact for who published it, the agent or else the
// program, what it is, and where. A path that handoff manages is for programs only.
func (a *App) Describe(art handoff.Artifact) (by, title, file string) {
	title, file = art.Title, a.Path(art)
	if art.IsManaged() {
		title = art.DisplayName()
		if a.Terminal {
			file = ""
		}
	}
	return art.PublishedBy().Name(), title, file
}

// Age returns the time since t in its largest unit.
func (a *App) Age(t time.Time) string {
	return textfmt.Age(a.Now().Sub(t))
}
