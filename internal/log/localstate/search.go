package localstate

import (
	"context"
	"errors"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
)

// Search searches the records and the text of bodies, which body returns: once
// for each artifact, when it was published since the last search. Where no index
// can be stored, one is made in memory.
//
// Kinds: Invalid (the query), Unavailable, and those of body.
func (x *Index) Search(ctx context.Context, q sqlindex.Query,
	body func(handoff.Artifact) (string, error)) ([]sqlindex.Match, error) {
	return search(ctx, x, q, func(file *sqlindex.Index) ([]sqlindex.Match, error) {
		if err := file.IndexText(ctx, body, func(done handoff.Seq) { x.reportProgress(ctx, done) }); err != nil {
			return nil, err
		}
		return file.Search(ctx, q)
	})
}

// SearchSessions searches the texts of sessions. Kinds: Invalid (the query),
// Unavailable.
func (x *Index) SearchSessions(ctx context.Context, q sqlindex.Query) ([]sqlindex.SessionMatch, error) {
	return search(ctx, x, q, func(file *sqlindex.Index) ([]sqlindex.SessionMatch, error) {
		return file.SearchSessions(ctx, q)
	})
}

func search[T any](ctx context.Context, x *Index, q sqlindex.Query, do func(*sqlindex.Index) ([]T, error)) ([]T,
	error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	return ask(ctx, x, func(at handoff.Index) ([]T, error) {
		if file, ok := at.(*sqlindex.Index); ok {
			return do(file)
		}
		return searchTemporary(ctx, x, do)
	})
}

// searchTemporary searches in an index in memory that is filled for this search.
func searchTemporary[T any](ctx context.Context, x *Index, do func(*sqlindex.Index) ([]T, error)) ([]T, error) {
	memory, err := sqlindex.OpenMemory(ctx)
	if err == nil {
		defer memory.Close()
		err = handoff.CatchUp(ctx, x.log, memory)
	}
	var found []T
	if err == nil {
		found, err = do(memory)
	}
	var fault *sqlindex.Error
	if errors.As(err, &fault) {
		return nil, handoff.E("search", "", handoff.Unavailable, fault.Err, handoff.Advice("free memory"))
	}
	return found, err
}
