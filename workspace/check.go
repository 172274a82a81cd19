package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/filelog"
	"github.com/agent-handoff/handoff/internal/sqlindex"
)

// Check looks at every record and kept body, as filelog.Log.Check does, and
// whether the index answers as the log says. An index that doesn't is a note,
// for it is derived; but one that knows of records beyond the log's newest is
// a problem: the log has lost them. Its only kind is Unavailable.
func (w *Workspace) Check(ctx context.Context) (filelog.Report, error) {
	report, err := w.Log.Check(ctx)
	if err != nil || !report.Sound() {
		return report, err
	}
	found, err := w.index.examine(ctx, false)
	report.Findings = append(report.Findings, found...)
	return report, err
}

// Repair mends what can be mended without changing any record, as
// filelog.Log.Repair does. An index that does not answer as the log says is
// emptied, so that it is made again, or put aside where its file is damaged. A
// kept body that is missing is kept anew where its file is as published.
func (w *Workspace) Repair(ctx context.Context, now time.Time) (filelog.Report, error) {
	report, err := w.Log.Repair(ctx, now)
	if err != nil {
		return report, err
	}
	found, err := w.index.examine(ctx, true)
	report.Findings = append(report.Findings, found...)
	err = errors.Join(err, w.index.Close()) // what it knew of the log was mended
	if err != nil || report.Sound() {
		return report, err
	}
	return report, w.keepAnew(ctx)
}

// keepAnew keeps what is missing of the bodies that artifacts need, as far as
// their files are as published.
func (w *Workspace) keepAnew(ctx context.Context) error {
	for q := (handoff.ArtifactQuery{IncludeInactive: true, Limit: pageSize}); ; {
		page, err := w.Artifacts(ctx, q)
		if err != nil {
			return err
		}
		for _, a := range page.Artifacts {
			if !a.Kept || a.Status == handoff.Withdrawn || a.Digest.Algorithm != handoff.SHA256 {
				continue
			}
			if there, err := w.Bodies.Has(ctx, a.Digest); err != nil || there {
				continue // a check tells of what can't be looked at
			}
			b, err := w.Open(ctx, a.ID)
			if err != nil {
				continue // nothing has its bytes
			}
			_, err = w.Bodies.Put(ctx, b)
			if err = errors.Join(err, b.Close()); err != nil && !errors.Is(err, handoff.Conflict) {
				return err
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return nil
		}
	}
}

// examine looks at every index of the log that this user has.
func (x *index) examine(ctx context.Context, mend bool) ([]filelog.Finding, error) {
	id, err := x.log.ID()
	if err != nil || id == "" {
		return nil, err
	}
	var found []filelog.Finding
	for _, dir := range x.dirs(id) {
		file := filepath.Join(dir, indexName)
		if _, err := os.Lstat(file); err != nil {
			continue // it is made when it is needed
		}
		f, err := x.examineOne(ctx, file, id, mend)
		if err != nil {
			return found, err
		}
		if f.Text != "" {
			f.Name = file
			if rel := below(x.runtime, file); rel != "" {
				f.Name = rel
			}
			found = append(found, f)
		}
	}
	return found, nil
}

// examineOne looks at one index.
func (x *index) examineOne(ctx context.Context, file, id string, mend bool) (filelog.Finding, error) {
	note := func(format string, args ...any) (filelog.Finding, error) {
		return filelog.Finding{Note: true, Text: fmt.Sprintf(format, args...)}, ctx.Err()
	}
	free, err := share(filepath.Dir(file))
	if err != nil {
		return filelog.Finding{}, nil // it can't be written here, so nobody uses it
	}
	at, err := sqlindex.Open(ctx, file, id)
	var f filelog.Finding
	if err == nil {
		f, err = x.compare(ctx, at, mend)
		err = errors.Join(err, at.Close())
	}
	free()
	var trouble *sqlindex.Error
	switch {
	case !errors.As(err, &trouble):
		return f, err
	case !trouble.Damaged:
		return note("can't be used now: %v", trouble.Err)
	case mend:
		_ = putAside(file) // whoever has it open puts it aside when it finds out
	}
	return note("is damaged, and will be made again: %v", trouble.Err)
}

// compare holds an index against the log. Its error is a *sqlindex.Error, or
// the log's.
func (x *index) compare(ctx context.Context, at *sqlindex.Index, mend bool) (f filelog.Finding, err error) {
	p, err := at.Position(ctx)
	if err != nil || p.Seq == 0 {
		return f, err
	}
	r, there, err := x.log.At(p.Seq)
	if err != nil {
		return f, err
	}
	switch {
	case !there:
		newest, err := x.log.Newest()
		if err != nil {
			return f, err
		}
		f.Text = fmt.Sprintf("knows of record %d, %s, and the log ends at record %d: what was beyond it is lost", p.Seq, p.ID, newest)
	case r.ID != p.ID:
		f = filelog.Finding{Note: true, Text: fmt.Sprintf("knows another record %d than the log's, and will be made again", p.Seq)}
	default:
		odd, err := x.differs(ctx, at)
		if err != nil || !odd {
			return f, err
		}
		f = filelog.Finding{Note: true, Text: "answers otherwise than the log, and is made again by handoff check --repair"}
	}
	if mend {
		if p, err = at.Position(ctx); err == nil {
			err = at.Reset(ctx, p)
		}
	}
	return f, err
}

// pageSize is how many views are compared at a time.
const pageSize = 5000

// differs reports whether an index answers otherwise than one in memory. It
// says nothing of one that others keep writing to meanwhile.
func (x *index) differs(ctx context.Context, at handoff.Index) (bool, error) {
	want := handoff.NewMemory()
	for range maxMoves {
		if err := errors.Join(handoff.CatchUp(ctx, x.log, at), handoff.CatchUp(ctx, x.log, want)); err != nil {
			return false, err
		}
		same, err := sameAnswers(ctx, at, want, allArtifacts)
		if err == nil && same {
			same, err = sameAnswers(ctx, at, want, allSessions)
		}
		if err != nil || same {
			return false, err
		}
		a, err := at.Seq(ctx)
		if err != nil {
			return false, err
		}
		if b, err := want.Seq(ctx); err != nil || a == b {
			return true, err
		}
	}
	return false, nil
}

// A question is asked page by page.
type question func(ctx context.Context, of handoff.Reader, cursor string) (page any, next string, err error)

func allArtifacts(ctx context.Context, of handoff.Reader, cursor string) (any, string, error) {
	page, err := of.Artifacts(ctx, handoff.ArtifactQuery{IncludeInactive: true, Limit: pageSize, Cursor: cursor})
	return page, page.Cursor, err
}

func allSessions(ctx context.Context, of handoff.Reader, cursor string) (any, string, error) {
	page, err := of.Sessions(ctx, handoff.SessionQuery{IncludeRuns: true, IncludeArchived: true, Limit: pageSize, Cursor: cursor})
	return page, page.Cursor, err
}

func sameAnswers(ctx context.Context, got, want handoff.Reader, ask question) (bool, error) {
	for cursor := ""; ; {
		g, _, err := ask(ctx, got, cursor)
		if err != nil {
			return false, err
		}
		w, next, err := ask(ctx, want, cursor)
		if err != nil {
			return false, err
		}
		a, err := json.Marshal(g)
		if err != nil {
			return false, err
		}
		b, err := json.Marshal(w)
		if err != nil || !bytes.Equal(a, b) || next == "" {
			return err == nil && bytes.Equal(a, b), err
		}
		cursor = next
	}
}
