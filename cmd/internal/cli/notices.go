package cli

import (
	"strings"

	"github.com/agent-handoff/handoff"
)

// NoticeColumn is the column of a table that has the codes of notices, the worst first.
var NoticeColumn = Column{Name: "notices", Long: true, Sparse: true, Color: noticeColor}

// NoticeCell returns a cell of NoticeColumn.
func NoticeCell(list []handoff.Notice) string {
	var codes []string
	for _, code := range handoff.Codes(list) {
		codes = append(codes, string(code))
	}
	return strings.Join(codes, ",")
}

// noticeColor returns the color of the first, and worst, code of a cell.
func noticeColor(cell string) string {
	code, _, _ := strings.Cut(cell, ",")
	switch handoff.NewNotice(handoff.NoticeCode(code), "").Severity {
	case handoff.SeverityProblem:
		return red
	case handoff.SeverityWarning:
		return yellow
	case handoff.SeverityOK:
		return green
	}
	return ""
}
