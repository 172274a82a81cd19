package pasted

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

const plan = `# Retry policy

Retry each job three times. The delay doubles.
}

Keep the payload of a failed job for seven days.
Alert its owner when a queue has no consumer.
`

func all(int) bool { return true }

func index(t testing.TB, bodies ...string) *Index {
	t.Helper()
	x := new(Index)
	for i, text := range bodies {
		if body, ok := x.Add(text); body != i || !ok {
			t.Fatalf("body %d was added as %d, %v", i, body, ok)
		}
	}
	return x
}

func TestFind(t *testing.T) {
	crlf := strings.ReplaceAll(plan, "\n", "\r\n")
	long := strings.Repeat("word ", 30)
	braces := strings.Repeat("}\n\n---------------\n", 20)
	appended := plan + "Stop all workers before the migration starts.\n"
	const three = "one two three four five six seven\neight nine ten eleven twelve thirteen\nfourteen fifteen sixteen " +
		"seventeen eighteen\n"
	for _, tt := range []struct {
		name   string
		bodies []string
		prompt string
		want   string // of each span its body and text
	}{
		{"complete", []string{plan}, "Do:\n" + plan + "Now.", "0:" + plan},
		{"without the last line end", []string{plan}, "Do:\n" + plan[:len(plan)-1], "0:" + plan[:len(plan)-1]},
		{"other line ends", []string{plan}, "Do:\r\n" + crlf + "Now.", "0:" + crlf},
		{"a part", []string{"Title\n" + plan + "End\n"}, "Do:\n" + plan + "Now.", "0:" + plan},
		{"twice", []string{plan}, plan + "and\n" + plan, "0:" + plan + "|0:" + plan},
		{"two lines are too few", []string{plan},
			"Keep the payload of a failed job for seven days.\nAlert its owner when a queue has no consumer.\n", ""},
		{"two long lines around an empty one", []string{long + "\n\n" + long + "\nend\n"}, long + "\n\n" + long + "\n", ""},
		{"fewer bytes are too few", []string{"aa\nbb\ncc\ndd\n"}, "aa\nbb\ncc\ndd\n", ""},
		{"common lines", []string{braces + plan}, "x\n" + braces + "y", ""},
		{"one long line", []string{long}, "Do:\n" + long + "\nNow.", "0:" + long + "\n"},
		{"one long line of several", []string{long + "\nb\nc\nd\n"}, "Do:\n" + long + "\nNow.", ""},
		{"one short line", []string{"LGTM\n"}, "LGTM\nLGTM\n", ""},
		{"another order", []string{plan}, "Alert its owner when a queue has no consumer.\nKeep the payload of a failed job " +
			"for seven days.\nRetry each job three times. The delay doubles.\n", ""},
		{"indented", []string{plan}, "  " + strings.ReplaceAll(plan, "\n", "\n  "), ""},
		{"the same body twice", []string{plan, plan}, plan, "0:" + plan},
		{"the longest run", []string{plan, appended}, appended, "1:" + appended},
		{"the rest of a shorter run", []string{
			plan, three + plan[:len(plan)-len("Alert its owner when a queue has no consumer.\n")]}, three + plan,
			"1:" + three + plan[:len(plan)-len("Alert its owner when a queue has no consumer.\n")] +
				"|0:Alert its owner when a queue has no consumer.\n"},
		{"empty", []string{""}, plan, ""},
		{"empty prompt", []string{plan}, "", ""},
	} {
		var got []string
		for _, s := range index(t, tt.bodies...).Find(tt.prompt, all) {
			got = append(got, fmt.Sprintf("%d:%s", s.Body, tt.prompt[s.Start:s.End]))
		}
		if got := strings.Join(got, "|"); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestMay checks that text belongs to a body that may have it.
func TestMay(t *testing.T) {
	x := index(t, plan, plan, plan)
	for from := range 4 {
		spans := x.Find(plan, func(body int) bool { return body >= from })
		if from == 3 && spans != nil || from < 3 && (len(spans) != 1 || spans[0] != Span{from, 0, len(plan)}) {
			t.Errorf("from body %d: %v", from, spans)
		}
	}
}

// check checks that spans are in order and do not overlap, and that their bodies have
// their lines.
func check(t *testing.T, bodies []string, prompt string, spans []Span) {
	t.Helper()
	end := 0
	for _, s := range spans {
		if s.Start < end || s.End <= s.Start || s.End > len(prompt) {
			t.Fatalf("spans %v overlap or are not in %d bytes", spans, len(prompt))
		}
		end = s.End
		for _, l := range split(prompt[s.Start:s.End]) {
			if !slices.ContainsFunc(split(bodies[s.Body]), func(o line) bool { return o.text == l.text }) {
				t.Fatalf("body %q has no line %q of prompt %q", bodies[s.Body], l.text, prompt)
			}
		}
	}
}

// TestNoByteTwice compares random texts with each other: no byte is in two spans, and
// the sum does not depend on the order of the bodies.
func TestNoByteTwice(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	text := func(most int) string {
		var b strings.Builder
		for range r.Intn(most) {
			b.WriteString([]string{"\n", "}\n", "aaaa aaaa aaaa aaaa aaaa aaaa\n", "bbbb bbbb bbbb bbbb bbbb bbbb bbbb bbbb\n",
				"cccc cccc cccc cccc\n", "dddd\n"}[r.Intn(6)])
		}
		return b.String()
	}
	total := 0
	for range 3000 {
		bodies := []string{text(12), text(12), text(30)}
		prompt := text(60)
		spans := index(t, bodies...).Find(prompt, all)
		check(t, bodies, prompt, spans)
		slices.Reverse(bodies)
		got, want := size(index(t, bodies...).Find(prompt, all)), size(spans)
		if got != want {
			t.Fatalf("%d bytes in another order of the bodies, want %d: %q in %q", got, want, bodies, prompt)
		}
		total += want
	}
	if total == 0 {
		t.Error("nothing was found")
	}
}

func size(spans []Span) (n int) {
	for _, s := range spans {
		n += s.End - s.Start
	}
	return n
}

// TestHostile compares texts that are slow to compare line by line: what is done is
// proportional to the prompt, whatever the bodies are.
func TestHostile(t *testing.T) {
	same := strings.Repeat("the same line\n", 1<<15)
	x := index(t, slices.Repeat([]string{same}, 8)...)
	if spans := x.Find(same, all); len(spans) != 1 || spans[0] != (Span{0, 0, len(same)}) {
		t.Errorf("equal lines: %v", spans)
	}
	short := strings.Repeat("a\nb\nc\nd\n", 1<<14)
	x = index(t, slices.Repeat([]string{short}, 4)...)
	if spans := x.Find(short+"x\n"+strings.Repeat("}\n", 1<<16), all); size(spans) != len(short) {
		t.Errorf("short lines: %d bytes", size(spans))
	}
	full := new(Index)
	for i := 0; ; i++ {
		if _, ok := full.Add(strings.Repeat("\n", 1<<16)); !ok {
			break
		}
		if i > 100 {
			t.Fatal("the lines of an index have no limit")
		}
	}
	if _, ok := new(Index).Add(strings.Repeat("a", MaxText+1)); ok {
		t.Error("the bytes of an index have no limit")
	}
	x = index(t, plan)
	if spans := x.Find(strings.Repeat("x", MaxPrompt)+"\n"+plan, all); spans != nil {
		t.Errorf("behind the limit of a prompt: %v", spans)
	}
}

func FuzzFind(f *testing.F) {
	f.Add(plan, "Title\n"+plan, "Do:\n"+plan)
	f.Add("a\r\n\r\n", strings.Repeat("b", 200), strings.Repeat("b", 200))
	f.Add("\xff\n\x00", "", "\n\n\n")
	f.Fuzz(func(t *testing.T, a, b, prompt string) {
		bodies := []string{a, b}
		x := new(Index)
		for _, text := range bodies {
			if _, ok := x.Add(text); !ok {
				return
			}
		}
		check(t, bodies, prompt, x.Find(prompt, all))
		if n := size(x.Find(a, all)); n > len(a) {
			t.Fatalf("%d bytes of %d", n, len(a))
		}
	})
}
