package web_test

import (
	"encoding/csv"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/cmd/internal/web"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace/work"
)

// TestCost compares the page of costs and its CSV with what the command adds up, in each
// group: the total, and the sum of the rows.
func TestCost(t *testing.T) {
	home := t.TempDir()
	set := thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	s := newSite(t, func(o *web.Options) { o.Source.Threads = set })
	for i, model := range []string{"claude-opus-4-1-20250805", "no-such-model"} {
		x := &transcript{t: t, id: fmt.Sprintf("2823d1df-720a-4c31-ac55-ae8ba726%04d", i+1), dir: s.ws.Root(),
			at: time.Now().UTC().AddDate(0, 0, -5*i)}
		x.user("hello")
		x.add("assistant", map[string]any{"id": "m1", "role": "assistant", "model": model,
			"content": []any{said("hi")}, "stop_reason": "end_turn",
			"usage": map[string]any{"input_tokens": 1000000, "output_tokens": 5}}, map[string]any{"requestId": "r1"})
		x.store(home)
		s.publishAs(handoff.Producer{Agent: "builder", Thread: "agents://claude/" + x.id},
			handoff.Draft{Body: strings.NewReader("hello"), Channel: "design"})
	}
	for _, by := range []string{"day", "model", "agent", "program", "session", "channel"} {
		want, err := s.ws.Work(set).Cost(t.Context(), work.CostOptions{By: by})
		must(t, err)
		page := s.eventually("/cost?by="+by, "<tfoot>")
		total := `<strong>` + textfmt.Cost(want.Total.Amount) + `</strong>`
		if !strings.Contains(page, total) || !strings.Contains(page, "handoff cost --by "+by) ||
			strings.Contains(page, "%!") ||
			!strings.Contains(page, "No price is known of no-such-model") {
			t.Errorf("by %s: the page has no total %s, no reason or no command\n%s", by, total, page)
		}
		rows, err := csv.NewReader(strings.NewReader(s.get("/cost.csv?by=" + by))).ReadAll()
		must(t, err)
		if len(rows) != len(want.Rows)+3 { // with the head and two sums
			t.Errorf("by %s: the CSV has %d rows, want %d", by, len(rows), len(want.Rows)+3)
		}
		body := between(page, "<tbody>", "</tbody>")
		for _, row := range append([]trace.CostRow{want.Unattributed}, want.Rows...) {
			if text := fmt.Sprintf(">%s</td><td class=\"right\">%s</td>", textfmt.Cost(row.Amount),
				textfmt.Tokens(row.Amount.TotalTokens)); row.Key != "" && !strings.Contains(body, text) {
				t.Errorf("by %s: the page has no row with %s\n%s", by, text, body)
			}
		}
	}
	page := s.get("/cost")
	if got := strings.Count(page, `class="day-slot"`); got != 31 {
		t.Errorf("the chart has %d days, want 31: days without usage have their places\n%s", got, page)
	}
	if page := s.eventually("/cost?by=thread", "<tfoot>"); strings.Count(page, `<span class="quiet">builder</span>`) != 2 {
		t.Errorf("the rows of threads do not name their agents\n%s", page)
	}
	first := func(query string) string {
		return between(s.eventually("/cost?by=model&"+query, "<tfoot>"), `<tbody><tr data-row><th scope="row">`, "</th>")
	}
	if got := first("sort=cost"); !strings.Contains(got, "opus") {
		t.Errorf("by cost, %q is first", got)
	}
	if got := first("sort=group"); strings.Contains(got, "no-such-model") {
		t.Errorf("by name, %q is first", got)
	}
	for path, status := range map[string]int{"/cost?by=nothing": 400, "/cost?since=nonsense": 400,
		"/cost?name=nobody": 404, "/cost.csv?by=nothing": 400} {
		if r, body := s.do(request("GET", path)); r.StatusCode != status {
			t.Errorf("%s: got %d, want %d\n%s", path, r.StatusCode, status, body)
		}
	}
	unserved := newSite(t)
	for _, path := range []string{"/cost", "/cost.csv"} {
		if r, body := unserved.do(request("GET", path)); r.StatusCode != 403 {
			t.Errorf("%s without threads: got %d\n%s", path, r.StatusCode, body)
		}
	}
}

// TestNoCost shows that nothing was used, with no figure that is not known before its table.
func TestNoCost(t *testing.T) {
	s, _ := newThreads(t)
	page := s.eventually("/cost", "<tfoot>")
	if !strings.Contains(page, `<p class="total">No usage is known.`) ||
		!strings.Contains(page, `<p class="quiet">0 threads, 0 artifacts`) || strings.Contains(page, "- tokens") {
		t.Errorf("got figures that are not known\n%s", page)
	}
}

// TestCostSeries checks the bars of a day that are divided by agents, and hides one of them: the
// bars change, and the table and the CSV do not.
func TestCostSeries(t *testing.T) {
	home := t.TempDir()
	set := thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	s := newSite(t, func(o *web.Options) { o.Source.Threads = set })
	noon := time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)
	day := func(before int) string { return noon.AddDate(0, 0, -before).Format(time.DateOnly) }
	for i, before := range []int{0, 0, 1, 2, 3, 4, 4} { // agent-0 costs 7 times as much as agent-6
		x := &transcript{t: t, id: fmt.Sprintf("2823d1df-720a-4c31-ac55-ae8ba726%04d", i+1), dir: s.ws.Root(),
			at: noon.AddDate(0, 0, -before)}
		x.user("hello")
		x.add("assistant", map[string]any{"id": "m1", "role": "assistant", "model": "claude-opus-4-1-20250805",
			"content": []any{said("hi")}, "stop_reason": "end_turn",
			"usage": map[string]any{"input_tokens": (7 - i) * 100000, "output_tokens": 0}}, map[string]any{"requestId": "r1"})
		x.store(home)
		s.publishAs(handoff.Producer{Agent: fmt.Sprint("agent-", i), Thread: "agents://claude/" + x.id},
			handoff.Draft{Body: strings.NewReader("hello"), Channel: "design"})
	}
	page := s.eventually("/cost?by=agent", "<tfoot>")
	figure := between(page, "<figure", "</figure>")
	for _, want := range []string{"≥$19.50 on " + day(0) + "</p>",
		"<title>" + day(0) + ": ≥$19.50; agent-0: ≥$10.50; agent-1: ≥$9.00</title>", "<title>" + day(5) + ": -</title>",
		"<title>" + day(4) + ": ≥$4.50; 2 others: ≥$4.50</title>", `<path class="day c1" d="M300 462h8v538h-8z"/>`,
		`<path class="day c2" d="M300 0h8v462h-8z"/>`, `<path class="day c0" d="M260 770h8v230h-8z"/>`,
		`<a href="?by=agent&amp;hide=agent-0" title="Hide it in the bars"><span class="mark c1" aria-hidden="true">A</span> ` +
			`<span class="name">agent-0</span></a> <span class="quiet">≥$10.50</span>`,
		`<a href="?by=agent&amp;hide=others"`,
		`<a href="?by=agent&amp;since=` + day(4) + `T00%3A00%3A00Z&amp;until=` + day(3) + `T00%3A00%3A00Z"`} {
		if !strings.Contains(figure, want) {
			t.Errorf("the chart does not contain %s\n%s", want, figure)
		}
	}
	if got := strings.Count(figure, `class="day-slot"`); got != 31 {
		t.Errorf("the chart has %d days, want 31", got)
	}
	hidden := s.get("/cost?by=agent&hide=agent-0&hide=nobody")
	figure = between(hidden, "<figure", "</figure>")
	for _, want := range []string{"≥$9.00 on " + day(0) + "</p>", `<path class="day c2" d="M300 0h8v1000h-8z"/>`,
		"<title>" + day(0) + ": ≥$9.00 of ≥$19.50; agent-1: ≥$9.00</title>", `<a href="?by=agent&amp;hide=nobody" title="Show it in the bars">` +
			`<span class="mark c1 off" aria-hidden="true">A</span>`} {
		if !strings.Contains(figure, want) {
			t.Errorf("the chart without agent-0 does not contain %s\n%s", want, figure)
		}
	}
	if strings.Contains(figure, `class="day c1"`) || !strings.Contains(hidden, ">hidden: agent-0 ×</a>") ||
		!strings.Contains(hidden, "Not in the bars: agent-0. The table and its totals have all.") {
		t.Errorf("the page does not show that agent-0 is hidden\n%s", hidden)
	}
	rows := func(page string) string {
		return strings.ReplaceAll(between(page, "<tbody>", "</table>"), `class="mark c1 off"`, `class="mark c1"`)
	}
	total := func(page string) string { return between(page, "<strong>", "<") }
	if got, want := rows(hidden), rows(page); got != want || total(hidden) != total(page) {
		t.Errorf("the table differs\n%s\n%s", got, want)
	}
	if got, want := s.get("/cost.csv?by=agent&hide=agent-0"), s.get("/cost.csv?by=agent"); got != want {
		t.Errorf("the CSV differs\n%s\n%s", got, want)
	}
	none := "/cost?by=agent&hide=others"
	for i := range 5 {
		none += fmt.Sprint("&hide=agent-", i)
	}
	if none := s.get(none); strings.Contains(none, "day-slot") || strings.Count(none, "Show it in the bars") != 12 {
		t.Errorf("a page without bars does not have six series to show\n%s", none)
	}
	page = s.eventually("/cost?by=agent&since="+day(1)+"T00:00:00Z&until="+day(0)+"T00:00:00Z", "<tfoot>")
	if strings.Count(page, "day-slot") != 1 {
		t.Errorf("the page of a day has other days\n%s", page)
	}
}

// TestCostChange compares a period with the one before, on the page as in the report.
func TestCostChange(t *testing.T) {
	home := t.TempDir()
	set := thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	now := time.Now()
	s := newSite(t, func(o *web.Options) {
		o.Source.Threads = set
		o.Now = func() time.Time { return now }
	})
	codex := func(id string, days, tokens int) {
		at := now.UTC().AddDate(0, 0, -days)
		name := filepath.Join(home, ".codex", "sessions", "2026", "09", "20", "rollout-2026-09-20T09-00-00-"+id+".jsonl")
		usage := fmt.Sprintf(`{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":0,"total_tokens":%d}`, 100*tokens,
			98*tokens, 100*tokens)
		var text strings.Builder
		for i, payload := range []string{`"session_meta","payload":{"id":"` + id + `","cwd":"` + s.ws.Root() + `"}`,
			`"turn_context","payload":{"model":"gpt-5","cwd":"` + s.ws.Root() + `"}`,
			`"event_msg","payload":{"type":"token_count","info":{"total_token_usage":` + usage + `,"last_token_usage":` + usage + `}}`,
			`"event_msg","payload":{"type":"task_complete","turn_id":"t"}`} {
			fmt.Fprintf(&text, `{"timestamp":"%s","type":%s}`+"\n", at.Add(time.Duration(i)*time.Second).Format(time.RFC3339), payload)
		}
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(text.String()), 0o644))
		s.publishAs(handoff.Producer{Agent: "builder", Thread: "agents://codex/" + id},
			handoff.Draft{Body: strings.NewReader("hello"), Channel: "design"})
	}
	codex("019c871c-b1f9-7f60-9c4f-87ed09f13591", 3, 11200)
	codex("019c871c-b1f9-7f60-9c4f-87ed09f13592", 10, 10000)
	page := s.eventually("/cost?by=model&since=7d", "<tfoot>")
	for _, want := range []string{">&#43;12 % to the 7 days before</span>", ">cache 98 %</span>",
		"handoff cost --by model --since 7d --change"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %s\n%s", want, page)
		}
	}
	r, err := s.ws.Work(set).Cost(t.Context(), work.CostOptions{By: "model", Since: "7d", Change: true})
	must(t, err)
	if got, want := between(page, `<span id="each">`, "</span>"), textfmt.Each(r.Total.Amount, r.Total.CostPerActive)+
		" for each active artifact whose cost is known"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if r.Change.Rate == nil || textfmt.Change(*r.Change) != "+12 % to the 7 days before" {
		t.Errorf("the report has the change %+v", r.Change)
	}
	page = s.eventually("/cost?by=model&since=3000d", "<tfoot>")
	if !strings.Contains(page, "no known cost in the 3000 days before") || !strings.Contains(page, `title="Not compared: nothing was used in the period before. It was`) {
		t.Errorf("the page does not have why nothing is compared\n%s", page)
	}
	if page = s.eventually("/cost?by=model", "<tfoot>"); strings.Contains(page, `id="change"`) {
		t.Errorf("all time has a change\n%s", page)
	}
}

// TestCostLinks follows the links of rows: to a session, also that of an agent program, and to
// a thread. A thread without a transcript has none.
func TestCostLinks(t *testing.T) {
	home := t.TempDir()
	set := thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	s := newSite(t, func(o *web.Options) { o.Source.Threads = set })
	x := &transcript{t: t, id: "2823d1df-720a-4c31-ac55-ae8ba7260001", dir: s.ws.Root(), at: time.Now().UTC()}
	x.user("hello")
	x.answer(said("hi"))
	x.store(home)
	o, err := s.ws.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "builder"},
		Workflow: handoff.SessionWorkflow{Name: "build"}})
	must(t, err)
	const gone = "019c871c-b1f9-7f60-9c4f-000000000009"
	for session, uri := range map[string]string{o.ID: "agents://claude/" + x.id, gone: "agents://codex/" + gone} {
		s.publishAs(handoff.Producer{Session: session, Thread: uri},
			handoff.Draft{Body: strings.NewReader("hello"), Channel: "design"})
	}
	for by, want := range map[string]string{
		"session": "/sessions/" + gone + " /sessions/" + o.ID, "thread": "/threads/claude/" + x.id,
		"model": "/threads?model=claude-opus",
	} {
		var links []string
		page := s.eventually("/cost?by="+by, "<tfoot>")
		for _, row := range strings.Split(between(page, "<tbody>", "</tbody>"), "<tr data-row>")[1:] {
			if strings.Contains(row, "<a ") {
				links = append(links, html.UnescapeString(between(row, `<a href="`, `"`)))
			}
		}
		slices.Sort(links)
		if got := strings.Join(links, " "); got != want {
			t.Errorf("by %s: got the links %s, want %s\n%s", by, got, want, page)
		}
		for _, link := range links {
			page := s.get(link)
			if by == "session" && !strings.Contains(page, "design") {
				t.Errorf("%s does not have the artifact\n%s", link, page)
			}
			if by == "model" && !strings.Contains(page, `href="/threads/claude/`+x.id) {
				t.Errorf("%s does not have the thread\n%s", link, page)
			}
		}
	}
}
