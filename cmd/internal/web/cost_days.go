package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace"
)

const (
	byDay      = "day"
	mostSeries = 5
)

// A series is what one or several rows used on the days, drawn in one color.
type series struct {
	trace.CostRow
	Title  string
	Letter string // in the legend and the table
	Class  string // of the color
	Hidden bool   // not in the bars
	URL    string // hides it, or shows it again
}

// divide sets the series of the page, the others last. hidden are the names of those that are not
// in the bars.
func (v *costPage) divide(hidden []string) {
	if v.Query.Daily == 0 {
		return
	}
	others := 0
	add := func(row *trace.CostRow) {
		if row.Days != nil {
			v.Series = append(v.Series, series{CostRow: *row, Title: cmp.Or(row.Name, row.Key, "unattributed")})
		} else if row.Key != "" || row.Amount.TotalTokens != nil {
			others++
		}
	}
	for i := range v.Rows {
		add(&v.Rows[i])
	}
	add(&v.Unattributed)
	order.Sort(v.Series, func(a, b series) int {
		return cmp.Or(costOrders["cost"](a.CostRow, b.CostRow), cmp.Compare(a.Key, b.Key))
	})
	for i := range v.Series {
		s := &v.Series[i]
		s.Letter, s.Class = string(rune('A'+i)), fmt.Sprint("c", i+1)
		s.toggle(v.Link, cmp.Or(s.Key, "unattributed"), hidden)
	}
	if amount(v.Others.Amount.Cost) > 0 {
		s := series{CostRow: v.Others, Title: textfmt.Count(others, "other"), Letter: "+", Class: "c0"}
		s.toggle(v.Link, "others", hidden)
		v.Series = append(v.Series, s)
	}
}

// toggle sets whether a series is hidden, and the address that changes that.
func (s *series) toggle(link url.Values, name string, hidden []string) {
	q := maps.Clone(link)
	q["hide"] = slices.DeleteFunc(slices.Clone(hidden), func(h string) bool { return h == name })
	if s.Hidden = len(q["hide"]) < len(hidden); !s.Hidden {
		q["hide"] = append(q["hide"], name)
	}
	s.URL = "?" + q.Encode()
}

// SeriesOf returns the series of a row, nil for none.
func (v costPage) SeriesOf(row trace.CostRow) *series {
	if row.Days == nil && row.Key == "" && row.Amount.TotalTokens == nil {
		return nil // nothing is unattributed
	}
	for i, s := range v.Series {
		if isOthers := s.Class == "c0"; isOthers == (row.Days == nil) && (isOthers || s.Key == row.Key) {
			return &v.Series[i]
		}
	}
	return nil
}

// Hidden returns the series that are not in the bars.
func (v costPage) Hidden() (list []series) {
	for _, s := range v.Series {
		if s.Hidden {
			list = append(list, s)
		}
	}
	return list
}

// A dayChart has a bar for each day of a time, also for those without usage. All that is drawn in
// one color is one path: a long time has thousands of parts.
type dayChart struct {
	Bars        []dayBar
	Areas       []dayArea
	First, Last string
	Top         string // the amount of the highest bar, and its day
	Width       int
}

// IsShort reports whether the days are so few that bars of all the width would be hard to read.
func (c dayChart) IsShort() bool { return 0 < len(c.Bars) && len(c.Bars) < 10 }

// A dayBar is one day of a dayChart.
type dayBar struct {
	X          int
	Title, URL string
	parts      []dayPart
}

// A dayPart is a series on one day.
type dayPart struct {
	class   string
	dollars float64
}

// A dayArea is the path around the parts of a series, in a chart that is 1000 high.
type dayArea struct{ Class, Path string }

const (
	maxDays  = 1000
	minDays  = 31 // of the axis of all time
	dayWidth = 10
	barWidth = 8
	dayLow   = 10 // the height of the lowest bar
)

// chart returns the chart of the page, empty if nothing is in the bars or the days are too many.
func (v costPage) chart(now time.Time) (c dayChart) {
	days := v.Total.Days
	if v.By == byDay {
		days = map[string]trace.Usage{}
		for _, row := range v.Rows {
			days[row.Key] = row.Amount
		}
	}
	bars := map[string]dayBar{}
	var first, last time.Time
	most, top := 0.0, ""
	for _, key := range slices.Sorted(maps.Keys(days)) {
		day, err := time.Parse(time.DateOnly, key)
		if err != nil {
			continue
		}
		if first.IsZero() {
			first = day
		}
		last = day
		b, sum := v.bar(key, days[key])
		if bars[key] = b; sum > most {
			most, top = sum, textfmt.Each(days[key], &sum)+" on "+key
		}
	}
	if first, last = v.axis(first, last, now); most == 0 || last.Sub(first) > maxDays*24*time.Hour {
		return c
	}
	paths := map[string]*strings.Builder{}
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		key := day.Format(time.DateOnly)
		b := bars[key]
		b.X, b.URL, b.Title = len(c.Bars)*dayWidth, v.dayURL(day), key+": "+cmp.Or(b.Title, "-")
		b.draw(most, paths)
		c.Bars = append(c.Bars, b)
	}
	for _, class := range slices.Sorted(maps.Keys(paths)) {
		c.Areas = append(c.Areas, dayArea{class, paths[class].String()})
	}
	c.First, c.Last, c.Width = first.Format(time.DateOnly), last.Format(time.DateOnly), len(c.Bars)*dayWidth
	c.Top = top
	return c
}

// bar returns what is in the bar of a day, from the bottom, and the sum. all is what was used on it.
func (v costPage) bar(day string, all trace.Usage) (b dayBar, sum float64) {
	if v.By == byDay {
		sum = amount(all.Cost)
		return dayBar{Title: textfmt.Cost(all), parts: []dayPart{{dollars: sum}}}, sum
	}
	text := ""
	for _, s := range v.Series {
		if dollars := amount(s.Days[day].Cost); dollars > 0 && !s.Hidden {
			sum += dollars
			text += "; " + s.Title + ": " + textfmt.Cost(s.Days[day])
			b.parts = append(b.parts, dayPart{s.Class, dollars})
		}
	}
	if b.Title = textfmt.Each(all, &sum); len(v.Hidden()) > 0 {
		b.Title += " of " + textfmt.Cost(all)
	}
	b.Title += text
	return b, sum
}

// draw adds the parts of a bar to the paths of their colors, without those that are too small to be
// seen.
func (b dayBar) draw(most float64, paths map[string]*strings.Builder) {
	sum, before := 0.0, 0
	for _, p := range b.parts {
		sum += p.dollars
		top := int(1000 * sum / most)
		if sum > 0 {
			top = max(top, dayLow)
		}
		if top > before {
			if paths[p.class] == nil {
				paths[p.class] = new(strings.Builder)
			}
			fmt.Fprintf(paths[p.class], "M%d %dh%dv%dh-%dz", b.X, 1000-top, barWidth, top-before, barWidth)
		}
		before = top
	}
}

// axis returns the first and the last day of the axis, from those with usage: all of the time
// that was asked for, or a month.
func (v costPage) axis(first, last, now time.Time) (time.Time, time.Time) {
	least := last.AddDate(0, 0, 1-minDays)
	if since, err := workspace.ParseTime("since", v.Query.Since, now); v.Query.Since != "" && err == nil {
		end := now
		if until, err := workspace.ParseTime("until", v.Query.Until, now); v.Query.Until != "" && err == nil {
			end = earlier(until.Add(-1), now)
		}
		since, last = since.UTC().Truncate(24*time.Hour), later(last, end.UTC().Truncate(24*time.Hour))
		if last.Sub(since) <= maxDays*24*time.Hour {
			least = since
		}
	}
	return earlier(first, least), last
}

// dayURL returns the address of what was used on a day, in UTC as the bars are.
func (v costPage) dayURL(day time.Time) string {
	q := maps.Clone(v.Link)
	if v.By == byDay {
		q.Set("by", "model")
	}
	q.Set("since", day.Format(time.RFC3339)) // a date alone is in the time zone of the viewer
	q.Set("until", day.AddDate(0, 0, 1).Format(time.RFC3339))
	return "?" + q.Encode()
}
