package reviews

import (
	"fmt"
	"strings"
	"testing"
)

// TestShortened drops the oldest comments that are done, and open ones only beyond the limit.
func TestShortened(t *testing.T) {
	line := func(i int) string { return fmt.Sprintf("c%d body\n", i) }
	text := func(from, to int) (all string) {
		for i := from; i < to; i++ {
			all += line(i)
		}
		return all
	}
	done := map[string]bool{}
	for i := 1; i < 10; i += 2 {
		done[fmt.Sprint("c", i)] = true
	}
	n := len(line(0))
	for _, tt := range []struct {
		name, text string
		limit      int
		want       string
	}{
		{"the oldest that are done", text(0, 10), 14 * n, line(0) + line(2) + line(4) + text(6, 10)},
		{"all that are done", text(0, 10), 6 * n, line(0) + line(2) + line(4) + line(6) + line(8)},
		{"open ones, too", text(0, 10), 4 * n, line(6) + line(8)},
		{"short", text(0, 3), 6 * n, text(0, 3)},
	} {
		if got := shortened(tt.text, done, tt.limit); got != tt.want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got, tt.want)
		}
	}
	if got := shortened(strings.Repeat("c1 body\n", 3)+"c0 torn", done, 4*n); got != "c1 body\nc0 torn" {
		t.Errorf("a line without an end: got %q", got)
	}
}

// TestPart reads comments in parts: each comment and each reply is in one of them.
func TestPart(t *testing.T) {
	var list []ShownComment
	want := map[string]bool{}
	for i := range 12 {
		c := ShownComment{ID: fmt.Sprint("c", i), Text: strings.Repeat("x", 97*i%500)}
		want[c.ID] = true
		for j := range i % 5 {
			r := ShownReply{ID: fmt.Sprintf("c%d.%d", i, j), Text: strings.Repeat("y", 61*j)}
			c.Replies, want[r.ID] = append(c.Replies, r), true
		}
		list = append(list, c)
	}
	for _, size := range []int{1, 300, 1000, 4000, 1 << 20} {
		got, parts, from := map[string]bool{}, 0, ""
		for ; parts == 0 || from != ""; parts++ {
			if parts > len(want) {
				t.Fatalf("%d bytes: the parts do not end", size)
			}
			part, next, err := Part(list, from, size)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for i, c := range part {
				n += sizeOf(c)
				if i == 0 && from != "" && c.ID != from {
					if len([]rune(c.Text)) > maxHead+1 {
						t.Errorf("%d bytes: the comment above reply %s has %d characters", size, from, len(c.Text))
					}
				} else if got[c.ID] {
					t.Errorf("%d bytes: %s is in two parts", size, c.ID)
				}
				got[c.ID] = true
				for _, r := range c.Replies {
					if got[r.ID] {
						t.Errorf("%d bytes: %s is in two parts", size, r.ID)
					}
					got[r.ID] = true
				}
			}
			if n > size+len(part)*20 && (len(part) > 1 || len(part[0].Replies) > 1) {
				t.Errorf("a part has %d bytes, want at most %d", n, size)
			}
			from = next
		}
		if len(got) != len(want) {
			t.Errorf("%d bytes: %d parts have %d comments and replies, want %d", size, parts, len(got), len(want))
		}
	}
	if _, _, err := Part(list, "c99", 100); err == nil {
		t.Error("an unknown comment is found")
	}
}
