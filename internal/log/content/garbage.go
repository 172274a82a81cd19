package content

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/retention"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/storage"
)

// Check verifies a log, its bodies, and the files that are stored in the runtime
// directory. Kind: Unavailable.
func Check(ctx context.Context, log handoff.Log, bodies handoff.Bodies, runtime string) (handoff.Report, error) {
	// first: a file is stored before its record is appended
	stored, err := os.ReadDir(filepath.Join(runtime, filepath.FromSlash(StoredDir)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return handoff.Report{}, handoff.E("check", StoredDir, handoff.Unavailable, err,
			handoff.Advice("make the runtime directory readable"))
	}
	refs, unclaimed := new(References), map[string]bool{}
	for _, e := range stored {
		unclaimed[e.Name()] = true
	}
	report, err := CheckLog(ctx, log, func(r handoff.Record) {
		refs.Add(r)
		delete(unclaimed, r.ID)
	})
	if err != nil {
		return report, err
	}
	complete := report.OK() // otherwise what the records need is not known
	refs.lost = refs.lost || !complete
	for _, e := range stored {
		if unclaimed[e.Name()] && complete {
			report.Findings = append(report.Findings, handoff.Finding{Name: StoredDir + "/" + e.Name(), Note: true,
				Text: "belongs to no record: its publish is running or was killed"})
		}
	}
	// After the log: a body that a record refers to was stored before the record.
	found, err := CheckBodies(ctx, bodies, refs)
	report.Findings = append(report.Findings, found...)
	return report, err
}

// CheckLog verifies a log and calls each for every record. A log that can't
// verify itself is read.
func CheckLog(ctx context.Context, log handoff.Log, each func(handoff.Record)) (handoff.Report, error) {
	if c, ok := log.(handoff.LogChecker); ok {
		return c.Check(ctx, each)
	}
	report := handoff.Report{Findings: []handoff.Finding{}}
	for r, err := range log.Read(ctx, 0) {
		if errors.Is(err, handoff.Corrupt) {
			report.Findings = append(report.Findings, handoff.Finding{Name: "log", Text: err.Error()})
			break
		}
		if err != nil {
			return report, err
		}
		report.Records++
		each(r)
		if damaged, ok := r.Fact.(*handoff.Damaged); ok {
			report.Findings = append(report.Findings,
				handoff.Finding{Name: fmt.Sprintf("record %d", r.Seq),
					Text: "not a valid record: " + damaged.Err.Error()})
		}
	}
	return report, nil
}

// CheckBodies verifies the stored bodies, and that none is missing. Bodies that
// no record needs are notes.
func CheckBodies(ctx context.Context, bodies handoff.Bodies, refs *References) ([]handoff.Finding, error) {
	var found []handoff.Finding
	checker, verifiesAll := bodies.(handoff.BodyChecker)
	if verifiesAll {
		report, err := checker.Check(ctx)
		if err != nil {
			return nil, err
		}
		found = report.Findings
	}
	missing := refs.Needed()
	if lister, ok := bodies.(handoff.BodyLister); ok {
		for b, err := range lister.List(ctx) {
			if err != nil {
				return found, err
			}
			delete(missing, b.Digest)
			if !verifiesAll {
				found = append(found, verifyBody(ctx, bodies, b.Digest)...)
			}
			if refs.Of(b.Digest) == storage.Redacted {
				found = append(found, handoff.Finding{Name: bodyName(b.Digest), Note: true,
					Text: "had a secret and is still stored: the process that redacted it was killed, " +
						"or it was published again",
					Hint: handoff.Suggest("complete the redaction", handoff.ActionRepair)})
			}
			if refs.Of(b.Digest) == storage.Dropped {
				found = append(found, handoff.Finding{Name: bodyName(b.Digest), Note: true,
					Text: "was dropped by a policy and is still stored: the process that dropped it was killed",
					Hint: handoff.Suggest("list the bodies that can be collected", handoff.ActionGarbage)})
			}
			if refs.Of(b.Digest) == storage.Orphan {
				found = append(found, handoff.Finding{
					Name: bodyName(b.Digest), Note: true,
					Text: "is needed by no record: its publish is running or was killed",
					Hint: handoff.Suggest("list the bodies that can be collected", handoff.ActionGarbage)})
			}
		}
	}
	var lost []handoff.Finding
	for d, id := range missing {
		there, err := bodies.Has(ctx, d)
		if err != nil {
			return found, err
		}
		if !there {
			lost = append(lost, handoff.Finding{Name: bodyName(d), Text: "is missing; it is the body of " + id})
		}
	}
	order.Sort(lost, func(a, b handoff.Finding) int { return strings.Compare(a.Name, b.Name) })
	return append(found, lost...), ctx.Err()
}

// verifyBody reads one body.
func verifyBody(ctx context.Context, bodies handoff.Bodies, d handoff.Digest) []handoff.Finding {
	r, err := bodies.Open(ctx, d)
	if err == nil {
		r.Close()
	}
	if err == nil || errors.Is(err, handoff.NotFound) { // collected since
		return nil
	}
	return []handoff.Finding{{Name: bodyName(d), Text: err.Error()}}
}

func bodyName(d handoff.Digest) string { return d.Algorithm + ":" + d.Value }

// Survey returns the stored bodies that records need, and those that no artifact refers to,
// except withdrawn ones, the largest first, if they were stored before a time. It changes
// nothing.
//
// Kinds: Unavailable, Corrupt (there is a problem in the log, so a damaged
// record may need any body), Unsupported (the store can't list its bodies).
func Survey(ctx context.Context, log handoff.Log, bodies handoff.Bodies, before time.Time) (
	needed []retention.Body, unneeded []storage.UnneededBody, err error) {
	lister, ok := bodies.(handoff.BodyLister)
	if !ok {
		return nil, nil, unsupported("list")
	}
	refs := new(References)
	report, err := CheckLog(ctx, log, refs.Add)
	if err != nil {
		return nil, nil, err
	}
	if i := slices.IndexFunc(report.Findings, func(f handoff.Finding) bool { return !f.Note }); i >= 0 {
		first := report.Findings[i]
		return nil, nil, handoff.E("collect", first.Name, handoff.Corrupt,
			errors.New("there is a problem in the log: "+first.Text),
			handoff.Suggest("list every problem", handoff.ActionCheck))
	}
	stored := 0
	for b, err := range lister.List(ctx) {
		if err != nil {
			return nil, nil, err
		}
		stored++
		if need := refs.Of(b.Digest); need == storage.Referenced {
			needed = append(needed,
				retention.Body{StoredBody: b, Records: refs.Records(b.Digest), Unknown: refs.Unknown(b.Digest)})
		} else if b.StoredAt.Before(before) {
			unneeded = append(unneeded, storage.UnneededBody{StoredBody: b, Need: need})
		}
	}
	if stored > 0 && report.Records == 0 && !exists(ctx, log) {
		return nil, nil, handoff.E("collect", "", handoff.Corrupt, errors.New("there are stored bodies but no log"),
			handoff.Suggest("list what is missing", handoff.ActionCheck))
	}
	order.Sort(unneeded, func(x, y storage.UnneededBody) int { return cmp.Compare(y.SizeBytes, x.SizeBytes) })
	return needed, unneeded, nil
}

// exists reports whether a log without records is known to exist.
func exists(ctx context.Context, log handoff.Log) bool {
	i, ok := log.(handoff.Identifier)
	if !ok {
		return false
	}
	id, err := i.ID(ctx)
	return err == nil && id != ""
}

// Collect removes bodies that Survey returned for the same time, and returns
// those that it removed. A body that was stored again meanwhile remains. Kinds:
// Unavailable, Unsupported.
func Collect(ctx context.Context, bodies handoff.Bodies, list []storage.UnneededBody,
	before time.Time) (removed []storage.UnneededBody,
	err error) {
	remover, ok := bodies.(handoff.BodyRemover)
	if !ok {
		return nil, unsupported("collect")
	}
	for _, b := range list {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		gone, err := remover.Remove(ctx, b.Digest, before)
		if err != nil {
			return removed, err
		}
		if gone {
			removed = append(removed, b)
		}
	}
	return removed, nil
}

func unsupported(verb string) error {
	return handoff.E("collect", "", handoff.Unsupported, fmt.Errorf("the body store can't %s its bodies", verb),
		handoff.Advice("use the tools of the body store"))
}
