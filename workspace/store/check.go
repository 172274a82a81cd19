package store

import (
	"context"
	"errors"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/content"
)

// Check verifies every record and kept body, and that the index agrees with the
// log. An index that does not is a note, because it is derived; but an index
// with records beyond the log's newest is a problem: the log has lost them. The
// file of a name that does not have its newest revision is a note, too.
// Kind: Unavailable.
func (s Store) Check(ctx context.Context) (handoff.Report, error) {
	report, err := content.Check(ctx, s.c.Checked, s.c.RawBodies, s.c.Dirs.Runtime)
	if err != nil || !report.OK() {
		return report, err
	}
	found, err := s.c.Index.Check(ctx, false)
	report.Findings = append(report.Findings, found...)
	if err == nil && report.OK() {
		found, err = s.checkFiles(ctx, false)
		report.Findings = append(report.Findings, found...)
	}
	return report, err
}

// Repair fixes what can be fixed without changing a record, and returns what
// Check would have returned before. The log and the body store repair
// themselves as far as they can. An index that disagrees with the log is
// emptied, so that it is rebuilt. A missing body is stored again if its file is
// as published. The file of a name that was not rendered is rendered. Kinds: those
// of Check, Unsupported (a later version wrote the runtime directory).
func (s Store) Repair(ctx context.Context, now time.Time) (handoff.Report, error) {
	if err := s.c.RuntimeDir.Writable(); err != nil {
		return handoff.Report{}, err
	}
	report, err := content.Check(ctx, s.c.Checked, s.c.RawBodies, s.c.Dirs.Runtime)
	if err != nil {
		return report, err
	}
	for _, store := range []any{s.c.RawLog, s.c.RawBodies} {
		if r, ok := store.(handoff.Repairer); ok {
			if err := r.Repair(ctx, now); err != nil {
				return report, err
			}
		}
	}
	if err := s.c.Index.Close(); err != nil { // else it can't be deleted
		return report, err
	}
	found, err := s.c.Index.Check(ctx, true)
	report.Findings = append(report.Findings, found...)
	err = errors.Join(err, s.c.Index.Close()) // what it knew of the log was fixed
	if err == nil {
		err = errors.Join(s.c.Index.Accept(ctx), s.c.Eraser().EraseLeft(ctx, s.c.Index))
	}
	if err == nil && !report.OK() {
		err = content.StoreMissing(ctx, s.c.Anonymous, s.c.RawBodies)
	}
	if err == nil {
		found, err = s.checkFiles(ctx, true)
		report.Findings = append(report.Findings, found...)
	}
	return report, err
}

// checkFiles reports the files of names and stages whose newest revision was not
// rendered, and renders it on request.
func (s Store) checkFiles(ctx context.Context, render bool) (found []handoff.Finding, err error) {
	err = content.EachArtifact(ctx, s.c.Anonymous, handoff.ArtifactQuery{Named: true}, func(a handoff.Artifact) error {
		if stale, err := s.files.Stale(ctx, a, render); stale && err == nil { // else its revisions can still be read
			found = append(found, handoff.Finding{Name: a.Path, Note: true,
				Text: "does not have its newest revision: it was changed back, or the process that recorded it was killed",
				Hint: handoff.Suggest("write it", handoff.ActionRepair)})
		}
		return ctx.Err()
	})
	return found, err
}
