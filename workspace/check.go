package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/content"
	"github.com/agent-handoff/handoff/internal/sqlindex"
)

// Check verifies every record and kept body, and that the index agrees with the
// log. An index that does not is a note, because it is derived; but an index
// with records beyond the log's newest is a problem: the log has lost them.
// Kind: Unavailable.
func (w *Workspace) Check(ctx context.Context) (handoff.Report, error) {
	report, _, err := w.checkStores(ctx)
	if err != nil || !report.OK() {
		return report, err
	}
	found, err := w.index.check(ctx, false)
	report.Findings = append(report.Findings, found...)
	return report, err
}

// Repair fixes what can be fixed without changing a record, and returns what
// Check would have returned before. The log and the body store repair
// themselves as far as they can. An index that disagrees with the log is
// emptied, so that it is rebuilt. A missing body is stored again if its file is
// as published.
func (w *Workspace) Repair(ctx context.Context, now time.Time) (handoff.Report, error) {
	report, _, err := w.checkStores(ctx)
	if err != nil {
		return report, err
	}
	for _, store := range []any{w.log, w.bodies} {
		if r, ok := store.(handoff.Repairer); ok {
			if err := r.Repair(ctx, now); err != nil {
				return report, err
			}
		}
	}
	found, err := w.index.check(ctx, true)
	report.Findings = append(report.Findings, found...)
	err = errors.Join(err, w.index.Close()) // what it knew of the log was fixed
	if err != nil || report.OK() {
		return report, err
	}
	return report, w.restoreBodies(ctx)
}

// checkStores verifies the log, the bodies, and the files of bodies without a
// file of their own. It also returns which bodies the records need.
func (w *Workspace) checkStores(ctx context.Context) (handoff.Report, *content.References, error) {
	stored, err := w.storedFiles() // first: a file is stored before its record is appended
	if err != nil {
		return handoff.Report{}, nil, err
	}
	refs, ids := new(content.References), map[string]bool{}
	report, err := content.CheckLog(ctx, w.log, func(r handoff.Record) {
		refs.Add(r)
		ids[r.ID] = true
	})
	if err != nil {
		return report, nil, err
	}
	for _, id := range stored {
		if !ids[id] {
			report.Findings = append(report.Findings, handoff.Finding{Name: content.StoredDir + "/" + id, Note: true,
				Text: "belongs to no record: its publish is running or was killed"})
		}
	}
	// After the log: a body that a record refers to was stored before the record.
	found, err := content.CheckBodies(ctx, w.bodies, refs)
	report.Findings = append(report.Findings, found...)
	return report, refs, err
}

// storedFiles returns the ids of the artifacts whose files are in the runtime
// directory.
func (w *Workspace) storedFiles() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(w.Runtime, filepath.FromSlash(content.StoredDir)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &handoff.Error{Op: "check", Name: content.StoredDir, Kind: handoff.Unavailable, Err: err,
			Hint: handoff.Advice("make the runtime directory readable")}
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	return ids, nil
}

// restoreBodies stores the missing bodies of artifacts whose files are as
// published.
func (w *Workspace) restoreBodies(ctx context.Context) error {
	for q := (handoff.ArtifactQuery{IncludeInactive: true, Limit: pageSize}); ; {
		page, err := w.Artifacts(ctx, q)
		if err != nil {
			return err
		}
		for _, a := range page.Artifacts {
			if !a.Kept || a.Status == handoff.Withdrawn || a.Digest.Algorithm != handoff.SHA256 {
				continue
			}
			if there, err := w.bodies.Has(ctx, a.Digest); err != nil || there {
				continue // a check reports the error
			}
			b, err := w.Open(ctx, a.ID)
			if err != nil {
				continue // nothing has its bytes
			}
			_, err = w.bodies.Put(ctx, b)
			if err = errors.Join(err, b.Close()); err != nil && !errors.Is(err, handoff.Conflict) {
				return err
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return nil
		}
	}
}

// check verifies every index of the log that this user has.
func (x *index) check(ctx context.Context, repair bool) ([]handoff.Finding, error) {
	id, _, err := logID(ctx, x.log)
	if err != nil || id == "" {
		return nil, err
	}
	var found []handoff.Finding
	for _, dir := range x.dirs(id) {
		file := filepath.Join(dir, indexName)
		if _, err := os.Lstat(file); err != nil {
			continue // it is created when it is needed
		}
		f, err := x.checkOne(ctx, file, id, repair)
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

// checkOne verifies one index.
func (x *index) checkOne(ctx context.Context, file, id string, repair bool) (handoff.Finding, error) {
	note := func(format string, args ...any) (handoff.Finding, error) {
		return handoff.Finding{Note: true, Text: fmt.Sprintf(format, args...)}, ctx.Err()
	}
	unlock, err := lockShared(filepath.Dir(file))
	if err != nil {
		return handoff.Finding{}, nil // not writable, so this user does not use it
	}
	at, err := sqlindex.Open(ctx, file, id)
	var f handoff.Finding
	if err == nil {
		f, err = x.compare(ctx, at, repair)
		err = errors.Join(err, at.Close())
	}
	unlock()
	var fault *sqlindex.Error
	switch {
	case !errors.As(err, &fault):
		return f, err
	case !fault.Damaged:
		return note("can't be used now: %v", fault.Err)
	case repair:
		_ = quarantineIndex(file) // if it is in use, its user quarantines it
	}
	return note("is damaged and will be rebuilt: %v", fault.Err)
}

// compare compares an index with the log. Its error is a *sqlindex.Error or the
// log's.
func (x *index) compare(ctx context.Context, at *sqlindex.Index, repair bool) (f handoff.Finding, err error) {
	p, err := at.Position(ctx)
	if err != nil || p.Seq == 0 {
		return f, err
	}
	r, found, err := recordAt(ctx, x.log, p.Seq)
	if err != nil {
		return f, err
	}
	switch {
	case !found:
		f.Text = fmt.Sprintf("contains record %d, %s, which is beyond the end of the log: the log has lost records", p.Seq, p.ID)
	case r.ID != p.ID:
		f = handoff.Finding{Note: true, Text: fmt.Sprintf("contains another record %d than the log and will be rebuilt", p.Seq)}
	default:
		differs, err := x.differs(ctx, at)
		if err != nil || !differs {
			return f, err
		}
		f = handoff.Finding{Note: true, Text: "disagrees with the log; a repair rebuilds it"}
	}
	if repair {
		if p, err = at.Position(ctx); err == nil {
			err = at.Reset(ctx, p)
		}
	}
	return f, err
}

// pageSize is the number of views that are compared at a time.
const pageSize = 5000

// differs reports whether an index answers differently than one in memory. It
// returns false for an index that others keep writing to meanwhile.
func (x *index) differs(ctx context.Context, at handoff.Index) (bool, error) {
	want := handoff.NewMemory()
	for range maxFailures {
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

// A pageQuery returns one page of an answer and the cursor of the next.
type pageQuery func(ctx context.Context, of handoff.Reader, cursor string) (page any, next string, err error)

func allArtifacts(ctx context.Context, of handoff.Reader, cursor string) (any, string, error) {
	page, err := of.Artifacts(ctx, handoff.ArtifactQuery{IncludeInactive: true, Limit: pageSize, Cursor: cursor})
	return page, page.Cursor, err
}

func allSessions(ctx context.Context, of handoff.Reader, cursor string) (any, string, error) {
	page, err := of.Sessions(ctx, handoff.SessionQuery{IncludeRuns: true, IncludeArchived: true, Limit: pageSize, Cursor: cursor})
	return page, page.Cursor, err
}

func sameAnswers(ctx context.Context, got, want handoff.Reader, query pageQuery) (bool, error) {
	for cursor := ""; ; {
		g, _, err := query(ctx, got, cursor)
		if err != nil {
			return false, err
		}
		w, next, err := query(ctx, want, cursor)
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
