package sqlindex

import (
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// keptThreads selects the kept copies of transcripts, by URI. It has an index.
const keptThreads = `SELECT key, value FROM pointers WHERE space = '` + fold.KeptSpace + `'`

// KeptThreads implements handoff.KeptThreadLister.
func (x *Index) KeptThreads(ctx context.Context, uri string) (list []handoff.KeptThread, err error) {
	query, args := keptThreads+` ORDER BY key`, []any(nil)
	if uri != "" {
		query, args = keptThreads+` AND key = ?`, []any{uri}
	}
	err = x.read(ctx, func(c *sqlite.Conn) error {
		list = nil
		return newStore(ctx, c).load(query, func(r *sqlite.Row) error {
			key, value := r.Text(), r.Text()
			t, err := fold.DecodeKept(value)
			if err != nil {
				return damaged("the copy of %s is invalid", key)
			}
			list = append(list, t)
			return nil
		}, args...)
	})
	return list, err
}

// RedactedBodies implements handoff.RedactionLister.
func (x *Index) RedactedBodies(ctx context.Context) (list []handoff.Digest, err error) {
	_, err = x.view(ctx, func(c *sqlite.Conn) error {
		keys, err := newStore(ctx, c).Pointer(fold.RedactedSpace, "")
		list = fold.RedactedBodies(keys)
		return err
	})
	return list, err
}
