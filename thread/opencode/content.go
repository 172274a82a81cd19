package opencode

import (
	"context"
	"database/sql"
	"errors"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

// A content reads the content of rows.
type content struct {
	all map[string]map[int64][]byte // by table and row; nil if it is too large or can't be read
	one map[string]*sql.Stmt        // reads a row of a table
}

// maxAtOnce is the size up to which all rows of a session are read at once, which is
// much faster than row by row.
const maxAtOnce = 8 << 20

// content prepares the content of the rows of a session.
func (d *snapshot) content(ctx context.Context, session string, list []*row) (c *content, err error) {
	c = &content{all: map[string]map[int64][]byte{}, one: map[string]*sql.Stmt{}}
	size := int64(0)
	for _, r := range list {
		size += r.size
		c.one[r.table] = nil
		for _, p := range r.parts {
			size += p.size
			c.one[p.table] = nil
		}
	}
	for table := range c.one {
		if c.one[table], err = d.PrepareContext(ctx, "SELECT data FROM "+table+" WHERE rowid = ?"); err != nil {
			return c, err
		}
		if size > maxAtOnce {
			continue
		}
		all := map[int64][]byte{}
		failed := d.each(ctx, func(scan func(...any) error) error {
			var id int64
			var data []byte
			err := scan(&id, &data)
			all[id] = data
			return err
		}, "SELECT rowid, data FROM "+table+" WHERE session_id = ?", session)
		if failed == nil { // otherwise as much as possible is read row by row
			c.all[table] = all
		}
	}
	return c, nil
}

// load returns the content of a row, nil if it is too long.
func (c *content) load(ctx context.Context, r *row, d *decode) (b []byte, err error) {
	if r.size > jsonl.MaxLine {
		d.omitted++
		return nil, nil
	}
	if b, ok := c.all[r.table][r.rowID]; ok {
		return b, nil
	}
	err = c.one[r.table].QueryRowContext(ctx, r.rowID).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		err = errors.New("a row of the table's index is missing")
	}
	return b, err
}

// pass passes messages with their parts to a decoder.
func (c *content) pass(ctx context.Context, d *decode, list []*row, use func(int, jsonl.Value) bool) error {
	for i, r := range list {
		omitted := d.omitted
		data, err := c.load(ctx, r, d)
		if err != nil {
			return err
		}
		d.row, d.lost = *r, d.omitted > omitted
		for _, p := range r.parts {
			part, err := c.load(ctx, p, d)
			if err != nil {
				return err
			}
			d.parts = append(d.parts, part)
		}
		if !d.pass(i+1, data, use) {
			break
		}
	}
	return nil
}
