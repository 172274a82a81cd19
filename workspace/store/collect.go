package store

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/storage"
)

// minAge is the age below which a body is not collected: it may belong to a
// publish that is running.
const minAge = time.Hour

// Garbage are the kept bodies that no artifact needs, the largest first, and the
// sessions that are due to be archived.
type Garbage struct {
	Bodies    []storage.UnneededBody `json:"bodies"`
	SizeBytes int64                  `json:"sizeBytes"`
	Collected bool                   `json:"collected"` // the bodies have been removed

	Archive []session.Due     `json:"archive,omitempty"` // the sessions to archive, of Unneeded
	Trash   []session.Summary `json:"trash,omitempty"`   // the sessions in the trash, of Unneeded
}

// Unneeded returns the kept bodies that no artifact needs, except withdrawn
// ones, and what SessionsToArchive returns. Bodies that were stored in the last
// hour are left out. It changes nothing.
//
// Kinds: Unavailable, Corrupt (there is a problem in the log, so a damaged
// record may need any body), Unsupported (the store can't list its bodies).
func (s Store) Unneeded(ctx context.Context) (Garbage, error) {
	list, err := s.unneeded(ctx, s.o.Now().Add(-minAge))
	g := garbage(list, false)
	if err == nil {
		g.Archive, err = s.o.Due(ctx)
	}
	if err == nil {
		g.Trash, err = s.o.Trash(ctx)
	}
	return g, err
}

// Collect removes the bodies that Unneeded returns, and returns those that it
// removed. A body that is stored again meanwhile remains. Kinds: those of
// Unneeded.
func (s Store) Collect(ctx context.Context) (Garbage, error) {
	if err := s.o.RuntimeDir.Writable(); err != nil {
		return Garbage{}, err
	}
	before := s.o.Now().Add(-minAge)
	list, err := s.unneeded(ctx, before)
	if err == nil {
		list, err = content.Collect(ctx, s.o.Bodies, list, before)
	}
	return garbage(list, true), err
}

func (s Store) unneeded(ctx context.Context, before time.Time) ([]storage.UnneededBody, error) {
	if err := s.o.Hub.Closed(); err != nil {
		return nil, err
	}
	if err := s.o.Index.Verify(ctx); err != nil {
		return nil, err
	}
	return content.Unneeded(ctx, s.o.Checked, s.o.Bodies, before)
}

func garbage(list []storage.UnneededBody, collected bool) Garbage {
	g := Garbage{Bodies: append([]storage.UnneededBody{}, list...), Collected: collected}
	for _, b := range list {
		g.SizeBytes += b.SizeBytes
	}
	return g
}
