package opencode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

// contents are the tables with the content of messages, and of parts.
var contents = []string{"message", "session_message", "part"}

// isPart reports whether a row is a part of a message.
func (r *row) isPart() bool { return r.table == "part" }

// contentQuery returns the content of rows, which are given as a list of numbers: the row ID
// and the index of the table. The content of a row that is missing, or too long, is null.
func (d *snapshot) contentQuery(rows []*row) (query, list string) {
	tables := ""
	for i, table := range contents {
		if d.tables[table] != nil {
			tables += fmt.Sprintf(" WHEN %d THEN (SELECT coalesce(data, '') FROM %s WHERE rowid = j.value / %d)",
				i, table, len(contents))
		}
	}
	numbers := make([]string, len(rows))
	for i, r := range rows {
		if numbers[i] = "-1"; r.size > jsonl.MaxLine {
			continue
		}
		numbers[i] = strconv.FormatInt(r.rowID*int64(len(contents))+int64(slices.Index(contents, r.table)), 10)
	}
	return fmt.Sprintf("SELECT CASE j.value %% %d%s END FROM json_each(?) j", len(contents), tables),
		"[" + strings.Join(numbers, ",") + "]"
}

var errStop = errors.New("no further message is wanted")

// pass passes messages with their parts to a decoder. One query reads all of them in order,
// which is much faster than one for each row, and keeps none in memory.
func (d *snapshot) pass(ctx context.Context, to *decode, list []*row, use func(int, jsonl.Value) bool) error {
	var rows []*row
	for _, m := range list {
		rows = append(append(rows, m), m.parts...)
	}
	if len(rows) == 0 {
		return nil
	}
	var message jsonl.Value
	query, numbers := d.contentQuery(rows)
	next, n := 0, 0
	err := d.each(ctx, func(scan func(...any) error) error {
		r := rows[next]
		next++
		var data []byte
		if err := scan(&data); err != nil {
			return err
		}
		long := r.size > jsonl.MaxLine
		switch {
		case long:
			to.omitted++
		case data == nil:
			return errors.New("a row of the table's index is missing")
		}
		if r.isPart() {
			to.parts = append(to.parts, data)
		} else {
			message = data
			to.row, to.lost = *r, long
		}
		if next < len(rows) && rows[next].isPart() {
			return nil
		}
		if n++; !to.pass(n, message, use) {
			return errStop
		}
		return nil
	}, query, numbers)
	if err == errStop {
		return nil
	}
	return err
}
