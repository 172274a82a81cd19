package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names/lineage"
	"github.com/agent-handoff/handoff/internal/tool/printable"
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

// Event is the line that reports a publish. Unknown fields are omitted.
func (a *App) Event(art handoff.Artifact) string {
	line := "artifact:publish  " + word(a.Path(art)) + "  channel=" + word(art.Channel)
	for _, slot := range []string{"task", "run", "agent"} {
		if v := art.Producer.Slot(slot); v != "" {
			line += " " + slot + "=" + word(v)
		}
	}
	return line + " id=" + art.ID
}

// StaleInput returns what happened to something that an artifact was made from.
func StaleInput(in handoff.StaleInput) string {
	what := "replaced"
	if in.Status == handoff.Withdrawn {
		what = "withdrawn"
	}
	text := fmt.Sprintf("%s v%d (%s) was %s", in.Channel, in.Revision, in.ID, what)
	for i, r := range in.Active {
		text += []string{"; ", ", "}[min(i, 1)] + fmt.Sprintf("v%d (%s)", r.Revision, r.ID)
	}
	switch len(in.Active) {
	case 0:
		return text
	case 1:
		return text + " is active"
	}
	return text + " are active"
}

// WarnStale reports what an artifact was made from and that is out of date.
func (a *App) WarnStale(art handoff.Artifact) {
	for _, in := range art.StaleInputs {
		a.Warn("input %s", StaleInput(in))
	}
}

// ArtifactColumns are the columns of a list of artifacts.
var ArtifactColumns = []Column{
	{Name: "id", ID: true}, {Name: "channel", Rank: 2}, {Name: "by", Rank: 5}, {Name: "path", Rank: 1, Long: true},
	{Name: "title", Rank: 3, Text: true}, {Name: "age", Rank: 4},
	{Name: "status", More: true}, {Name: "kind", More: true}, {Name: "session", More: true}, {Name: "tags", More: true},
	{Name: "revision", More: true},
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
	title := art.Title
	if n := len(art.Competing); n > 0 {
		title = fmt.Sprintf("(%d competing) ", n) + title
	}
	if len(art.StaleInputs) > 0 {
		title = "(stale) " + title
	}
	if art.Queued {
		title = "(queued) " + title
	}
	if len(art.Labels) > 0 {
		title = "(" + strings.Join(art.Labels, ", ") + ") " + title
	}
	if art.Target == handoff.Missing || art.Target == handoff.Modified {
		title = "(" + string(art.Target) + ") " + title
	}
	return []string{art.ID, art.Channel, cmp.Or(art.Producer.Agent, art.Producer.Harness), a.Path(art),
		strings.TrimSpace(title), a.Age(art.CreatedAt),
		string(art.Status), art.Kind, art.Producer.Session, strings.Join(art.Tags, ","), fmt.Sprint("v", art.Revision)}
}

// Age returns the time since t in its largest unit.
func (a *App) Age(t time.Time) string {
	d := a.Now().Sub(t)
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}

// Stamp formats a time for people, in the local time zone.
func Stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }

// Count formats a number of things, whose plural ends in s.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// Size formats a number of bytes for people.
func Size(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n), 0
	for value >= 1024 && unit < len(units)-1 {
		value /= 1024
		unit++
	}
	if unit == 0 {
		return Count(int(n), "byte")
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// OneLine returns s with line breaks, control characters and invisible characters
// escaped as in Go, so that it is safe to print within a line.
func OneLine(s string) string { return printable.Line(s) }

// word returns a value of an event line, quoted if it could be taken for several.
func word(s string) string {
	if s == "" || strings.ContainsAny(s, "\"'\\=") || strings.ContainsFunc(s, unicode.IsSpace) || OneLine(s) != s {
		return strconv.Quote(s)
	}
	return s
}

// Revision reports a revision of a file that was recorded, and the edits that
// were saved before it.
func (a *App) Revision(p handoff.Published, file string, saved []handoff.Artifact) {
	for _, edit := range saved {
		a.Warn("%s was edited outside handoff; the edit was saved as %s", file, edit.ID)
	}
	a.Warnings(p.Warnings)
	a.WarnStale(p.Artifact)
	if p.Existing {
		fmt.Fprintln(a.Err, "unchanged; no new revision recorded")
	} else {
		a.PrintEvent(p.Artifact)
	}
}

// SortedKeys returns the keys of a map in ascending order.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Draw prints a graph. A tree starts at the node id.
func (a *App) Draw(g lineage.Graph, id, format string) error {
	switch format {
	case "tree":
		fmt.Fprint(a.Out, g.Tree(id))
	case "json":
		return a.JSON(g)
	case "dot":
		fmt.Fprint(a.Out, g.DOT())
	case "mermaid":
		fmt.Fprint(a.Out, g.Mermaid())
	default:
		return Invalid("", "--format", fmt.Sprintf("unknown format %q", format), "use tree, json, dot or mermaid")
	}
	return nil
}
