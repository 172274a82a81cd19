package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/web"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
)

// newThreads returns a viewer whose user has threads with these prompts, the last one first.
func newThreads(t *testing.T, prompts ...string) (s *site, urls []string) {
	t.Helper()
	home := t.TempDir()
	s = newSite(t, func(o *web.Options) {
		o.Source.Threads = thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	})
	for i, prompt := range prompts {
		id := fmt.Sprintf("2823d1df-720a-4c31-ac55-ae8ba726%04d", i+1)
		x := &transcript{t: t, id: id, dir: s.ws.Root(), at: time.Date(2026, 1, 2, 10, i, 0, 0, time.UTC)}
		x.user(prompt)
		x.store(home)
		x.setTime(home, x.at)
		urls = append(urls, "/threads/claude/"+id)
	}
	return s, urls
}

// TestNeighbors shows, beside a thread, the list from which it was opened: with its filters, in its
// order, with titles that are not cut, and the one that is shown marked.
func TestNeighbors(t *testing.T) {
	const long = "Make the cart of the shop survive a restart of the server and of the browser"
	s, urls := newThreads(t, "A cart for the shop", long, "Something else", "The cart is empty")
	const query = "?sort=title&text=cart"
	const list = "?list=sort%3Dtitle%26text%3Dcart"
	if page := s.get("/threads" + query); !strings.Contains(page, `href="`+urls[1]+list+`"`) {
		t.Errorf("the list does not name itself in its links\n%s", page)
	}
	page := s.eventually(urls[1]+list, `id="beside"`)
	beside := between(page, `<ol id="beside">`, "</ol>")
	var got []string
	for _, row := range strings.Split(beside, `<li><a href="`)[1:] {
		got = append(got, row[:strings.Index(row, `"`)])
	}
	want := []string{urls[0] + list, urls[1] + list, urls[3] + list}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, want := range []string{`href="` + urls[1] + list + `" aria-current="true"`, "</span>" + long + "</a>"} {
		if strings.Count(beside, want) != 1 {
			t.Errorf("the list does not contain %s once\n%s", want, beside)
		}
	}
	for _, want := range []string{`<li><a href="/threads?sort=title&amp;text=cart">Threads</a></li>`,
		`<span class="tag">text: cart</span>`, `href="?show=answers&amp;list=sort%3Dtitle%26text%3Dcart"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %s\n%s", want, page)
		}
	}
	for _, bad := range []string{"?list=since%3Dx", "?list=%25zz", "?list=status%3Dx"} {
		if page := s.get(urls[0] + bad); !strings.Contains(page, "A cart for the shop") {
			t.Errorf("%s: the page does not show the thread\n%s", bad, page)
		}
	}
}

// TestManyNeighbors shows a part of a long list: that around the thread.
func TestManyNeighbors(t *testing.T) {
	var prompts []string
	for i := range 60 {
		prompts = append(prompts, fmt.Sprintf("Prompt %d.", i))
	}
	s, urls := newThreads(t, prompts...)
	for _, tt := range []struct{ at, first int }{{59, 59}, {40, 50}, {10, 39}} {
		page := s.eventually(urls[tt.at], `id="beside"`)
		beside := between(page, `<ol id="beside">`, "</ol>")
		if n := strings.Count(beside, "<li>"); n != 30 || !strings.HasPrefix(beside, `<li><a href="`+urls[tt.first]+`"`) {
			t.Errorf("beside %d: got %d threads, want 30 from %d on\n%s", tt.at, n, tt.first, beside)
		}
	}
}
