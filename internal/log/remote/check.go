package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/agent-handoff/handoff"
)

// Check reads a log and reports what is wrong with it, as a handoff.LogChecker.
func Check(ctx context.Context, log handoff.Log, each func(handoff.Record)) (handoff.Report, error) {
	report := handoff.Report{Findings: []handoff.Finding{}}
	for r, err := range log.Read(ctx, 0) {
		if errors.Is(err, handoff.Corrupt) {
			report.Findings = append(report.Findings, handoff.Finding{Name: "log", Text: err.Error()})
			return report, nil
		}
		if err != nil {
			return report, err
		}
		report.Records++
		if each != nil {
			each(r)
		}
		if f, ok := r.Fact.(*handoff.Damaged); ok {
			report.Findings = append(report.Findings,
				handoff.Finding{Name: fmt.Sprintf("record %d", r.Seq), Text: "not a valid record: " + f.Err.Error()})
		}
	}
	return report, nil
}
