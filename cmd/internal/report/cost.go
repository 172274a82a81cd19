package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace/places"
	"github.com/agent-handoff/handoff/workspace/work"
)

// CostRows returns the rows, at the end unattributed usage and the total.
func CostRows(r work.CostReport) []trace.CostRow {
	unattributed, total := r.Unattributed, r.Total
	unattributed.Key, total.Key = "unattributed", "total"
	return append(r.Rows, unattributed, total)
}

// ByTranscript returns the usage by the transcripts where programs reported another,
// or nothing.
func ByTranscript(row trace.CostRow) (u trace.Usage) {
	if row.Transcript != nil {
		u = *row.Transcript
	}
	return u
}

// CostCSV writes costs as CSV, those of several places with a column for the place.
func CostCSV(out io.Writer, list []places.Spending) error {
	w := csv.NewWriter(out)
	head := []string{"group", "name", "cost_usd", "input", "output", "cache_read", "cache_write", "reasoning",
		"total_tokens", "completeness", "conversations", "artifacts", "cost_per_artifact_usd", "failed_work",
		"failed_work_with_artifacts", "unpriced_models", "revisions", "refs_passed", "bytes_read", "bytes_stayed",
		"transcript_tokens", "transcript_cost_usd", "cache_rate", "cost_per_active_artifact_usd",
		"estimated_models"}
	last := list[len(list)-1]
	isPlaced := last.Dir != ""
	if isPlaced {
		head = append([]string{"place"}, head...)
	}
	w.Write(head)
	for i, p := range list {
		rows := CostRows(p.CostReport)
		if isPlaced && i == len(list)-1 {
			rows = rows[1:]
		}
		for _, row := range rows {
			cells := csvCells(row)
			if isPlaced {
				cells = append([]string{plainCell(p.Dir)}, cells...)
			}
			w.Write(cells)
		}
	}
	w.Flush()
	return w.Error()
}

func csvCells(row trace.CostRow) []string {
	number := func(v *int64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatInt(*v, 10)
	}
	amount := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'f', -1, 64)
	}
	u := row.Amount
	return []string{plainCell(row.Key), plainCell(row.Name), amount(u.Cost), number(u.Input), number(u.Output),
		number(u.CacheRead), number(u.CacheWrite), number(u.Reasoning), number(u.TotalTokens),
		string(u.Completeness), strconv.Itoa(row.Threads), strconv.Itoa(row.Artifacts), amount(row.CostPerArtifact),
		strconv.Itoa(row.Failed), strconv.Itoa(row.FailedOut), plainCell(strings.Join(u.Unpriced, " ")),
		strconv.Itoa(row.Revisions), strconv.Itoa(row.RefsPassed), number(row.BytesRead), number(row.BytesStayed),
		number(ByTranscript(row).TotalTokens), amount(ByTranscript(row).Cost), amount(row.CacheRate),
		amount(row.CostPerActive), plainCell(strings.Join(u.Estimated, " "))}
}

// plainCell returns a cell that a spreadsheet does not take for a formula.
func plainCell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
