package engine

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/sqlsnap"
)

// A Part is what of a database belongs to one thread.
type Part struct {
	Database Database
	Rows     []Rows
}

// Rows are the rows of a table that belong to one thread.
type Rows struct {
	Table string
	Key   string // the column that the provider looks rows up by; "" if it reads all
	Where string // condition; "" for all rows
	Args  []any  // of the condition
}

// SessionReader returns the reader of a session in a database with a table of sessions and
// one of messages, which have the ID of their session in the column session_id.
func SessionReader(d Database, sessions, messages Table, id string, decode func(*Scan) Decoder) *Reader {
	return &Reader{Unit: "row", Source: d.Rows(messages, id), New: decode,
		Part: &Part{d, []Rows{{Table: sessions.Name, Where: "id = ?", Args: []any{id}},
			{Table: messages.Name, Where: messages.Where, Args: []any{id}}}}}
}

// Extract implements thread.Extractor. The new tables have the columns of the original
// ones, without types. Equal rows in the same order make equal files, whatever else the
// tool's database contains. A row that is too long to be read is left out.
func (p Part) Extract(ctx context.Context, path string, edit thread.Edit) error {
	location := url.URL{Scheme: "file", OmitHost: true, Path: path,
		RawQuery: "_pragma=journal_mode(memory)&_pragma=synchronous(off)"}
	to, err := sql.Open("sqlite", location.String())
	if err != nil {
		return err
	}
	if err := errors.Join(p.copy(ctx, to, edit), to.Close()); err != nil {
		return p.Database.unreadable(err)
	}
	return nil
}

func (p Part) copy(ctx context.Context, to *sql.DB, edit thread.Edit) error {
	from, err := sqlsnap.Open(ctx, string(p.Database))
	if err != nil {
		return err
	}
	defer from.Close()
	tx, err := to.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, r := range p.Rows {
		if err = r.copy(ctx, from, tx, edit); err != nil {
			break
		}
	}
	if ctx.Err() == nil && from.Changed() {
		return handoff.E("copy thread", string(p.Database), handoff.Conflict,
			errors.New("the database changes while it is read"), handoff.Advice("retry"))
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

func (r Rows) copy(ctx context.Context, from *sqlsnap.DB, to *sql.Tx, edit thread.Edit) error {
	columns, err := from.Columns(ctx, r.Table)
	if err != nil || len(columns) == 0 {
		return cmp.Or(err, fmt.Errorf("missing table %s", r.Table))
	}
	var values, sizes []string // + makes the driver return what is stored, whatever the type of the column
	for i, c := range columns {
		columns[i] = quote(c)
		values = append(values, "+"+columns[i])
		sizes = append(sizes, "coalesce(octet_length("+columns[i]+"), 0)")
	}
	if _, err := to.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+quote(r.Table)+" ("+strings.Join(columns, ", ")+
		")"); err != nil {
		return err
	}
	if r.Key != "" {
		index := quote(r.Table + "_" + r.Key)
		if _, err := to.ExecContext(ctx, "CREATE INDEX IF NOT EXISTS "+index+" ON "+quote(r.Table)+" ("+quote(r.Key)+
			")"); err != nil {
			return err
		}
	}
	insert, err := to.PrepareContext(ctx, "INSERT INTO "+quote(r.Table)+" VALUES (?"+
		strings.Repeat(", ?", len(columns)-1)+")")
	if err != nil {
		return err
	}
	defer insert.Close()
	rows, err := from.QueryContext(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE (%s) AND %s <= %d ORDER BY rowid",
		strings.Join(values, ", "), quote(r.Table), cmp.Or(r.Where, "1"), strings.Join(sizes, " + "), jsonl.MaxLine),
		r.Args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	row := make([]any, len(columns))
	into := make([]any, len(columns))
	for i := range row {
		into[i] = &row[i]
	}
	for n := 1; rows.Next(); n++ {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range row {
			row[i] = edit(n, v)
		}
		if _, err := insert.ExecContext(ctx, row...); err != nil {
			return err
		}
	}
	return rows.Err()
}

// quote returns a name in SQL.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
