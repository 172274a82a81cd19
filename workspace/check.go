package workspace

import (
	"context"
	"errors"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/content"
)

// Check verifies every record and kept body, and that the index agrees with the
// log. An index that does not is a note, because it is derived; but an index
// with records beyond the log's newest is a problem: the log has lost them.
// Kind: Unavailable.
func (w *Workspace) Check(ctx context.Context) (handoff.Report, error) {
	report, err := content.Check(ctx, w.rawLog, w.rawBodies, w.dirs.Runtime)
	if err != nil || !report.OK() {
		return report, err
	}
	found, err := w.index.Check(ctx, false)
	report.Findings = append(report.Findings, found...)
	return report, err
}

// Repair fixes what can be fixed without changing a record, and returns what
// Check would have returned before. The log and the body store repair
// themselves as far as they can. An index that disagrees with the log is
// emptied, so that it is rebuilt. A missing body is stored again if its file is
// as published. The file of a name that has an older revision is rendered again.
func (w *Workspace) Repair(ctx context.Context, now time.Time) (handoff.Report, error) {
	report, err := content.Check(ctx, w.rawLog, w.rawBodies, w.dirs.Runtime)
	if err != nil {
		return report, err
	}
	for _, store := range []any{w.rawLog, w.rawBodies} {
		if r, ok := store.(handoff.Repairer); ok {
			if err := r.Repair(ctx, now); err != nil {
				return report, err
			}
		}
	}
	found, err := w.index.Check(ctx, true)
	report.Findings = append(report.Findings, found...)
	err = errors.Join(err, w.index.Close()) // what it knew of the log was fixed
	if err != nil {
		return report, err
	}
	return report, w.restore(ctx, &report)
}

// restore renders the files of names and stages whose newest revision was not
// rendered. If the report has a problem, it also stores the missing bodies of
// artifacts whose files are as published.
func (w *Workspace) restore(ctx context.Context, report *handoff.Report) error {
	bodies := !report.OK()
	for q := (handoff.ArtifactQuery{IncludeInactive: true, Limit: pageSize}); ; {
		page, err := w.hub.Artifacts(ctx, q)
		if err != nil {
			return err
		}
		for _, a := range page.Artifacts {
			if a.Target != handoff.Available && a.Target != handoff.Missing {
				if stale, err := w.renderStale(ctx, a); stale && err == nil { // else its revisions can still be read
					report.Findings = append(report.Findings, handoff.Finding{Name: a.Path, Note: true, Text: "had the content of an older revision"})
				}
			}
			if !bodies || !a.Kept || a.Status == handoff.Withdrawn || a.Digest.Algorithm != handoff.SHA256 {
				continue
			}
			if there, err := w.rawBodies.Has(ctx, a.Digest); err != nil || there {
				continue // a check reports the error
			}
			b, err := w.hub.Open(ctx, a.ID)
			if err != nil {
				continue // nothing has its bytes
			}
			_, err = w.rawBodies.Put(ctx, b)
			if err = errors.Join(err, b.Close()); err != nil && !errors.Is(err, handoff.Conflict) {
				return err
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return nil
		}
	}
}

// pageSize is the number of artifacts that are read at a time.
const pageSize = 5000
