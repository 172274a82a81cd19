package filelog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
)

// restoreRecords gives the records that only have an ID link a number again, in
// the order in which they were created: the numbers that are missing or damaged
// first, then new ones. It renews the log's ID first: an index that is rebuilt
// meanwhile stops at a hole, and continues when it is filled.
func (l *Log) restoreRecords(c *logCheck, now time.Time) error {
	free, err := l.freeNumbers(c)
	if err != nil || (len(free) == 0 && len(c.orphanLinks) == 0 && !c.missingID) {
		return err
	}
	for _, n := range append(slices.Clone(free), slices.Max(append(c.numbers, 0))+1) {
		if err := l.checkShard(n); err != nil {
			return err
		}
	}
	if err := l.renewID(); err != nil {
		return err
	}
	lost := order.Sort(slices.Clone(c.orphanLinks), func(a, b handoff.Record) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	until := l.createdAfter(free)
	for i, n := range free {
		if slices.Contains(c.damaged, n) {
			aside := l.path(l.name(n) + quarantinedDamage + now.UTC().Format(timestamp))
			if err := os.Rename(l.path(l.name(n)), aside); err != nil {
				return err
			}
		}
		fits := len(lost) >= len(free)-i || (len(lost) > 0 && (until[i].IsZero() || !lost[0].CreatedAt.After(until[i])))
		if !fits {
			err = l.markLost(n, now)
		} else if err = l.relink(n, lost[0]); err == nil {
			lost = lost[1:]
		}
		if err != nil {
			return err
		}
	}
	if err := l.appendLost(c, lost); err != nil {
		return err
	}
	return l.disk.syncDir("log")
}

// freeNumbers returns the numbers that are missing or damaged, ascending.
func (l *Log) freeNumbers(c *logCheck) ([]handoff.Seq, error) {
	free := slices.Clone(c.damaged)
	for _, h := range c.holes {
		if h.last-h.first >= maxHole {
			return nil, handoff.E("repair", l.name(h.last+1), handoff.Corrupt,
				fmt.Errorf("records %d to %d before it are missing: the file seems to be misplaced", h.first, h.last),
				handoff.Suggest("list every problem, once you know which tool created the file", handoff.ActionCheck))
		}
		for n := h.first; n <= h.last; n++ {
			free = append(free, n)
		}
	}
	slices.Sort(free)
	return free, nil
}

// createdAfter returns for each of some numbers when the next other record was
// created, zero if there is none.
func (l *Log) createdAfter(numbers []handoff.Seq) []time.Time {
	times := make([]time.Time, len(numbers))
	for i := len(numbers) - 1; i >= 0; i-- {
		if i+1 < len(numbers) && numbers[i+1] == numbers[i]+1 {
			times[i] = times[i+1]
		} else if r, _, err := l.record(numbers[i]+1, nil); err == nil {
			times[i] = r.CreatedAt
		}
	}
	return times
}

// appendLost gives records that only have an ID link the numbers after the last.
func (l *Log) appendLost(c *logCheck, lost []handoff.Record) error {
	for n := slices.Max(append(c.numbers, 0)) + 1; len(lost) > 0; n++ {
		switch err := l.relink(n, lost[0]); {
		case err == nil:
			lost = lost[1:]
		case !errors.Is(err, fs.ErrExist): // else a writer has the number
			return err
		}
	}
	return nil
}

// relink gives a record that only has an ID link the number n.
func (l *Log) relink(n handoff.Seq, r handoff.Record) error {
	if err := l.checkShard(n); err != nil {
		return err
	}
	if err := l.disk.mkdir(l.shardName(n)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := l.disk.link(recordsDir+"/"+r.ID+".json", l.name(n)); err != nil {
		return err
	}
	return l.disk.syncDir(l.shardName(n))
}

// markLost gives the number n to a record that marks a loss.
func (l *Log) markLost(n handoff.Seq, now time.Time) error {
	if err := l.disk.mkdir(l.shardName(n)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	r, err := handoff.NewRecord(now, l.random, handoff.Producer{Source: handoff.FromNone},
		&handoff.Gap{Reason: "the record at this position was lost"})
	if err != nil {
		return err
	}
	b, err := r.JSON()
	if err != nil {
		return err
	}
	if err := l.createFile(l.name(n), string(sealed(b))); err != nil {
		return err
	}
	return l.disk.syncDir(l.shardName(n))
}
