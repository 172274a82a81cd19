package work

import (
	"context"
	"errors"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/trace/cost"
	"github.com/agent-handoff/handoff/trace"
)

// errNoStart is the error of a change of a cost of all time.
func errNoStart() error {
	return handoff.E("cost", "", handoff.Invalid, errors.New("no period is before all time"),
		handoff.Advice("name the time that the period starts at"))
}

// change compares what was used in the period of o with what was used in the one before.
func (u Units) change(ctx context.Context, o CostOptions, now trace.Usage) (*trace.CostChange, error) {
	end := u.c.Now()
	since, until, err := config.ParsePeriod(o.Since, o.Until, end)
	if err != nil {
		return nil, err
	}
	if until.IsZero() {
		until = end
	}
	c := trace.CostChange{Since: since.Add(-max(0, until.Sub(since))), Until: since}
	o.Since, o.Until = c.Since.Format(time.RFC3339Nano), c.Until.Format(time.RFC3339Nano)
	o.Change, o.Daily = false, 0
	before, err := u.Cost(ctx, o)
	if err != nil && !errors.Is(err, handoff.NotFound) { // a model that was not used then
		return nil, err
	}
	c.Before = before.Total.Amount
	if cost.Change(&c, now); until.After(end) {
		c.Rate, c.RecordedRate, c.Reason = nil, nil, "the period is not over"
	}
	return &c, nil
}
