package cost

import (
	"slices"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/trace"
)

// Divide sets what the rows of r that cost most, as many as most, used on each day, and the
// other rows together, and all. r is what Summarize returned of the same leaves. The rows of a day
// add up to what a report by day has for it, and the days of a row to what it cost.
func (r *Report) Divide(by string, leaves []Leaf, most int, only ...string) {
	if most == 0 {
		return
	}
	own := r.largest(most)
	r.Total.Days = map[string]trace.Usage{}
	keys := keysOf(by, leaves)
	for _, l := range leaves {
		for day, of := range l.days() {
			for _, p := range merge(of.parts(by, keys)) {
				if only != nil && !slices.Contains(only, p.key) {
					continue
				}
				row := own[p.key]
				if row == nil {
					row = &r.Others
				}
				addTo(row.Days, day, p.amount)
				addTo(r.Total.Days, day, p.amount)
			}
		}
	}
}

func addTo(days map[string]trace.Usage, day string, u trace.Usage) {
	sum := days[day]
	Add(&sum, u)
	days[day] = sum
}

// largest returns the rows that cost most, by their keys, and sets what the others cost.
func (r *Report) largest(most int) map[string]*trace.CostRow {
	rows := []*trace.CostRow{&r.Unattributed}
	for i := range r.Rows {
		rows = append(rows, &r.Rows[i])
	}
	order.Sort(rows, func(a, b *trace.CostRow) int { return Compare(b.Amount, a.Amount) })
	own := map[string]*trace.CostRow{}
	r.Others.Days = map[string]trace.Usage{}
	for _, row := range rows {
		if len(own) < most && value(row.Amount.Cost) > 0 {
			row.Days = map[string]trace.Usage{}
			own[row.Key] = row
			continue
		}
		Add(&r.Others.Amount, row.Amount)
	}
	return own
}

// days returns what was used of a leaf on each day, "" for an unknown one: that of each request
// of a transcript, and for what a harness reported the last one.
func (l Leaf) days() map[string]Leaf {
	if l.reported().TotalTokens != nil || len(l.Portions) == 0 {
		return map[string]Leaf{date(l.Ended): l}
	}
	days := map[string]Leaf{}
	for _, p := range l.Portions {
		day, ok := days[p.Day]
		if !ok {
			day = l
			day.Portions = nil
		}
		day.Portions = append(day.Portions, p)
		days[p.Day] = day
	}
	return days
}

// byDay attributes usage to days as days does. Artifacts belong to the day when they were
// published.
func (l Leaf) byDay() (parts []part) {
	for day, of := range l.days() {
		parts = append(parts, part{day, of.Amount(), nil})
	}
	for _, m := range l.Artifacts {
		parts = append(parts, part{date(m.Newest), trace.Usage{}, []*Made{m}})
	}
	return parts
}

// date returns the day of a time in UTC, "" for none.
func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}
