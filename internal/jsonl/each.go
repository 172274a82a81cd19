package jsonl

import (
	"context"
	"errors"
	"fmt"
)

// A Report says how reading a file of records went.
type Report struct {
	Lines    int // that were read, blank ones too
	Bad      int // of them, those that are no records
	Warnings []string
}

// ErrStop ends Each without an error, before the line that is at hand.
var ErrStop = errors.New("stop")

// Each hands the lines of rd to use, which reports whether a line is records
// and nothing else. The error is one of use or of ctx; what is wrong with the
// source is in the report. A line that is not whole is no bad one if it was cut
// or is the last: its writer may not be done.
func (rd *Reader) Each(ctx context.Context, use func(line Value) (whole bool, err error)) (Report, error) {
	var r Report
	warn := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	first, stopped := 0, false
	for rd.Next() {
		if rd.number%256 == 0 && ctx.Err() != nil {
			return r, ctx.Err()
		}
		whole, err := use(rd.Line())
		if stopped = errors.Is(err, ErrStop); stopped {
			break
		}
		if err != nil {
			return r, err
		}
		r.Lines = rd.number
		switch {
		case rd.cut:
			warn("line %d is longer than %d MiB: what follows is left out", rd.number, MaxLine>>20)
		case whole:
		case rd.torn:
			warn("line %d, the last, is not complete: it may still be written", rd.number)
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
		warn("%d lines are no records and were left out, the first is line %d", r.Bad, first)
	}
	if rd.err != nil {
		warn("reading stopped after line %d: %v", rd.number, rd.err)
	}
	return r, nil
}
