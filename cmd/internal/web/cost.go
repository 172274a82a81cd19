package web

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/report"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace/places"
	"github.com/agent-handoff/handoff/workspace/work"
)

// Limits of reading what was used for the page of costs.
const (
	costWait  = 2 * time.Second
	costRest  = 5 * time.Second
	costShown = 200 // rows
)

// costPage is what the page of costs shows.
type costPage struct {
	work.CostReport
	Query   work.CostOptions
	Sort    string
	Groups  []string
	Periods []string
	Reading bool     // the threads are being read
	Series  []series // that the bars are divided into, the largest first; none by day
	Days    dayChart
	Command string // prints the same
	Link    url.Values

	absent map[string]bool // the threads that can't be opened
}

// costGroups are what the page of costs offers to group by. An address may have any other.
var costGroups = []string{"day", "model", "agent", "program", "session", "channel"}

// costOrders are the orders of the rows of a cost, by the name of the column.
var costOrders = map[string]func(a, b trace.CostRow) int{
	"group": func(a, b trace.CostRow) int { return cmp.Compare(a.Key, b.Key) },
	"cost":  func(a, b trace.CostRow) int { return cmp.Compare(amount(b.Amount.Cost), amount(a.Amount.Cost)) },
	"tokens": func(a, b trace.CostRow) int {
		return cmp.Compare(amount(b.Amount.TotalTokens), amount(a.Amount.TotalTokens))
	},
	"input": func(a, b trace.CostRow) int { return cmp.Compare(amount(b.Amount.Input), amount(a.Amount.Input)) },
	"cache": func(a, b trace.CostRow) int {
		return cmp.Compare(amount(b.Amount.CacheRead), amount(a.Amount.CacheRead))
	},
	"output": func(a, b trace.CostRow) int { return cmp.Compare(amount(b.Amount.Output), amount(a.Amount.Output)) },
	"threads": func(a, b trace.CostRow) int {
		return cmp.Compare(b.Threads, a.Threads)
	},
	"artifacts": func(a, b trace.CostRow) int { return cmp.Compare(b.Artifacts, a.Artifacts) },
}

func amount[N int64 | float64](n *N) N {
	if n == nil {
		return 0
	}
	return *n
}

func costQuery(q url.Values) work.CostOptions {
	return work.CostOptions{Name: q.Get("name"), By: cmp.Or(q.Get("by"), byDay), Since: q.Get("since"),
		Until: q.Get("until"), Change: q.Get("since") != ""}
}

// cost shows what was used and what that cost.
func (s *Server) cost(r *http.Request) (page, error) {
	q := r.URL.Query()
	v := costPage{Query: costQuery(q), Sort: q.Get("sort"), Groups: costGroups, Link: q,
		Periods: []string{"", "24h", "7d", "30d"}}
	p := page{Name: "cost", Title: "Cost", Section: "/cost", Poll: costRest, Styles: []string{"cost.css"}}
	if v.Query.By != byDay {
		v.Query.Daily = mostSeries
	}
	found, known, err := s.costs(v.Query, costWait)
	if err != nil {
		return page{}, err
	}
	v.CostReport, v.Reading, v.Command = found, !known, costCommand(v.Query)
	p.Warnings = found.Warnings
	v.Rows = slices.Clone(v.Rows)
	column := cmp.Or(v.Sort, map[bool]string{true: "group", false: "cost"}[v.By == byDay])
	if compare := costOrders[column]; compare != nil {
		order.Sort(v.Rows, compare)
	}
	v.divide(q["hide"])
	v.Days = v.chart(s.o.Now())
	v.absent = s.absent(r.Context(), v.By, v.Shown())
	p.Data = v
	return p, nil
}

// absent returns which threads of the rows of a cost can't be opened.
func (s *Server) absent(ctx context.Context, by string, rows []trace.CostRow) map[string]bool {
	absent := map[string]bool{}
	for _, row := range rows {
		if by != "thread" || row.Amount.Completeness != thread.NoUsage {
			continue
		}
		uri, err := thread.ParseURI(row.Key)
		if err == nil {
			_, err = s.o.Source.Threads.Open(ctx, uri)
		}
		absent[row.Key] = err != nil
	}
	return absent
}

// costs returns what was used as it was last read.
func (s *Server) costs(o work.CostOptions, wait time.Duration) (work.CostReport, bool, error) {
	if s.o.Source.Threads == nil {
		return work.CostReport{}, false, errNoThreads
	}
	key := fmt.Sprintf("%q %d", []string{o.Name, o.By, o.Since, o.Until}, o.Daily)
	return s.spent.of(key).get(s, reading[work.CostReport]{wait: wait, least: costRest,
		read: func(ctx context.Context) (work.CostReport, error) { return s.o.Source.Costs.Cost(ctx, o) }})
}

// costCSV returns what the page of costs shows as a file.
func (s *Server) costCSV(r *http.Request) (download, error) {
	o := costQuery(r.URL.Query())
	o.Change = false
	if s.o.Source.Threads == nil {
		return download{}, errNoThreads
	}
	found, err := s.o.Source.Costs.Cost(r.Context(), o)
	if err != nil {
		return download{}, err
	}
	var b bytes.Buffer
	if err := report.CostCSV(&b, []places.Spending{{CostReport: found}}); err != nil {
		return download{}, err
	}
	return download{name: "cost-by-" + o.By + ".csv", content: memory{bytes.NewReader(b.Bytes())}}, nil
}

// memory is a file in memory.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// costCommand returns the command that prints what the page shows.
func costCommand(o work.CostOptions) string {
	words := []string{cli.Name(), "cost"}
	if o.Name != "" {
		words = append(words, o.Name)
	}
	for _, flag := range [][2]string{{"--by", o.By}, {"--since", o.Since}, {"--until", o.Until}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	if o.Change {
		words = append(words, "--change")
	}
	return textfmt.ShellLine(words)
}

// With returns the address of the page with another value of its query, "" for none. Another
// group has other series.
func (v costPage) With(name, value string) string {
	q := maps.Clone(v.Link)
	if q.Set(name, value); value == "" {
		q.Del(name)
	}
	if name == "by" {
		q.Del("hide")
	}
	return "?" + q.Encode()
}

// A costHead is the head of a column, and what its link sorts by.
type costHead struct{ Name, Order string }

// Heads returns the columns of the table.
func (v costPage) Heads() []costHead {
	return []costHead{{v.By, "group"}, {"cost", "cost"}, {"tokens", "tokens"}, {"input", "input"}, {"cache read", "cache"},
		{"output", "output"}, {"threads", "threads"}, {"artifacts", "artifacts"}}
}

// Shown returns the rows of the page, and More how many there are besides.
func (v costPage) Shown() []trace.CostRow { return v.Rows[:min(costShown, len(v.Rows))] }

// More is described at Shown.
func (v costPage) More() int { return len(v.Rows) - len(v.Shown()) }

// Share returns the part of a row in the total, in thousandths.
func (v costPage) Share(row trace.CostRow) int {
	if all := amount(v.Total.Amount.Cost); all > 0 {
		return int(1000 * amount(row.Amount.Cost) / all)
	}
	return 0
}

// RowURL returns the address of what a row is about, "" if there is none.
func (v costPage) RowURL(row trace.CostRow) string {
	switch v.By {
	case "session":
		return sessionURL(row.Key)
	case "thread":
		if !v.absent[row.Key] {
			return threadURL(row.Key)
		}
	case "channel":
		return channelURL(row.Key)
	case "artifact":
		return artifactURL(row.Key)
	case byDay:
		if day, err := time.Parse(time.DateOnly, row.Key); err == nil {
			return v.dayURL(day)
		}
	case "model":
		q := url.Values{"model": {row.Key}}
		if v.Query.Since != "" { // a thread that goes on after the time has requests in it
			q.Set("since", v.Query.Since)
		}
		return "/threads?" + q.Encode()
	case "agent", "program":
		return "?by=session&name=" + url.QueryEscape(row.Key)
	}
	return ""
}
