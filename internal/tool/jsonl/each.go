package jsonl

import (
	"context"
	"errors"
	"fmt"
)

// A Report is the result of reading a file with Each.
type Report struct {
	Lines    int  // number of lines, including blank ones
	Bad      int  // number of malformed lines
	Partial  bool // reading failed before the end, or the last line is incomplete
	Warnings []string
}

// ErrStop makes Each return without an error. The current line is not counted.
var ErrStop = errors.New("stop")

// Each calls use with each line of rd. use reports whether the line consists of
// complete values. The error is one of use or of ctx; defects of the source are
// in the report. An incomplete line is not malformed if it was truncated or is
// the last one, which may not be finished.
func (rd *Reader) Each(ctx context.Context, use func(line Value) (complete bool, err error)) (Report, error) {
	var r Report
	warn := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	first, stopped := 0, false
	for rd.Next() {
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		complete, err := use(rd.Line())
		if stopped = errors.Is(err, ErrStop); stopped {
			break
		}
		if err != nil {
			return r, err
		}
		r.Lines = rd.number
		switch {
		case rd.cut:
			warn("line %d is longer than %d MiB: truncated", rd.number, MaxLine>>20)
		case complete:
		case rd.torn:
			r.Partial = true
			warn("line %d, the last, is incomplete: it may still be written", rd.number)
		default:
			if r.Bad++; r.Bad == 1 {
				first = rd.number
			}
		}
	}
	if !stopped {
		r.Lines = rd.number
	}
	if r.Bad > 0 {
		warn("skipped %d malformed lines (first: line %d)", r.Bad, first)
	}
	if rd.err != nil {
		r.Partial = true
		warn("reading stopped after line %d: %v", rd.number, rd.err)
	}
	return r, nil
}
