package thread_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

// record returns an Emit that appends a short form of each message to into.
func record(into *[]string) func(thread.Message) error {
	return func(m thread.Message) error {
		words := []string{fmt.Sprint(m.N, " ", m.Role)}
		if m.Thinking != "" {
			words = append(words, "("+m.Thinking+")")
		}
		for _, c := range m.Tools {
			if c.Pending {
				c.Output = "?"
			}
			words = append(words, c.ID+"="+c.Output)
		}
		if m.Usage != nil {
			words = append(words, fmt.Sprint(m.Usage.Output))
		}
		*into = append(*into, strings.Join(words, " "))
		return nil
	}
}

func TestTimeline(t *testing.T) {
	say := func(role thread.Role, text string) func(*thread.Timeline) {
		return func(l *thread.Timeline) { l.Add(thread.Message{Role: role, Text: text}) }
	}
	call := func(id string) func(*thread.Timeline) {
		return func(l *thread.Timeline) { l.AddCall(thread.Call{ID: id, Pending: true}) }
	}
	back := func(id, out string) func(*thread.Timeline) {
		return func(l *thread.Timeline) { l.SetResult(id, func(c *thread.Call) { c.Output = out }) }
	}
	think := func(text string) func(*thread.Timeline) { return func(l *thread.Timeline) { l.AddThinking(text) } }
	spent := func(n int64) func(*thread.Timeline) {
		return func(l *thread.Timeline) { l.AddUsage(thread.Tokens{Output: n}) }
	}
	user, answer := say(thread.User, "go"), say(thread.Assistant, "done")
	for name, tt := range map[string]struct {
		do   []func(*thread.Timeline)
		want []string
	}{
		"in order": {[]func(*thread.Timeline){user, answer}, []string{"1 user", "2 assistant"}},
		"no text": {[]func(*thread.Timeline){user, say(thread.Assistant, ""), answer},
			[]string{"1 user", "2 assistant"}},
		"calls before all": {[]func(*thread.Timeline){call("a"), user, back("a", "late")},
			[]string{"0 assistant a=late", "1 user"}},
		"an output after messages": {[]func(*thread.Timeline){user, call("a"), answer, answer, back("a", "x")},
			[]string{"1 user a=x", "2 assistant", "3 assistant"}},
		"no output": {[]func(*thread.Timeline){user, call("a"), answer}, []string{"1 user a=?", "2 assistant"}},
		"an unknown output": {[]func(*thread.Timeline){user, call("a"), back("b", "x"), back("a", "y"), back("a", "z")},
			[]string{"1 user a=y"}},
		"thinking": {[]func(*thread.Timeline){user, think("so"), think("and so"), answer},
			[]string{"1 user", "2 assistant (so\n\nand so)"}},
		"thinking before calls": {[]func(*thread.Timeline){user, think("so"), call("a"), answer},
			[]string{"1 user (so) a=?", "2 assistant"}},
		"thinking only": {[]func(*thread.Timeline){think("so")}, []string{"0 assistant (so)"}},
		"tokens": {[]func(*thread.Timeline){spent(7), user, spent(1), spent(2), answer},
			[]string{"1 user 3", "2 assistant"}},
	} {
		var got []string
		l := &thread.Timeline{Detail: thread.Tools, Emit: record(&got)}
		for _, do := range tt.do {
			do(l)
		}
		if err := l.Finish(); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, tt.want)
		}
	}
}

// TestTimelineMemory checks that messages are emitted even if the result of a call
// never arrives, and calls even if no message follows.
func TestTimelineMemory(t *testing.T) {
	var got []string
	l := &thread.Timeline{Detail: thread.Tools, Emit: record(&got)}
	l.AddCall(thread.Call{ID: "never", Pending: true})
	for range 100 {
		l.Add(thread.Message{Role: thread.User, Text: "still there?"})
	}
	if len(got) < 60 {
		t.Errorf("emitted %d of 100 messages", len(got))
	}
	got = nil
	l = &thread.Timeline{Detail: thread.Tools, Emit: record(&got)}
	l.Add(thread.Message{Role: thread.User, Text: "go"})
	for i := range 1000 {
		id := fmt.Sprint(i)
		l.AddCall(thread.Call{ID: id, Pending: true})
		l.SetResult(id, func(c *thread.Call) { c.Output = "x" })
	}
	if len(got) < 10 || !strings.HasPrefix(got[0], "1 user 0=x") || !strings.HasPrefix(got[1], "0 assistant 64=x") {
		t.Errorf("got %d entries after 1,000 calls: %.100q", len(got), got)
	}
	if err := l.Finish(); err != nil || l.ToolCalls != 1000 || strings.Count(strings.Join(got, " "), "=x") != 1000 {
		t.Errorf("got %v, %d calls", err, l.ToolCalls)
	}
	enough := errors.New("enough")
	l = &thread.Timeline{Detail: thread.Texts, Emit: func(thread.Message) error { return enough }}
	for range 3 {
		l.Add(thread.Message{Role: thread.User, Text: "go"})
	}
	if !errors.Is(l.Err(), enough) || !errors.Is(l.Finish(), enough) || l.Messages != 3 {
		t.Errorf("got %v after %d messages", l.Err(), l.Messages)
	}
}
