package cli

import (
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestMoment(t *testing.T) {
	now := noon
	for text, want := range map[string]time.Time{
		"":                     {},
		"2h":                   now.Add(-2 * time.Hour),
		"90m":                  now.Add(-90 * time.Minute),
		"0s":                   now,
		"3d":                   now.AddDate(0, 0, -3),
		"2026-11-20":           time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
		"2026-11-20 09:30":     time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC),
		"2026-11-20T09:30":     time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC),
		"2026-11-20T09:30:00Z": time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC),
	} {
		if got, err := Moment("--since", text, now); err != nil || !got.Equal(want) {
			t.Errorf("Moment(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"yesterday", "-2h", "-1d", "2026-13-01", "d", "99999999999d", "2", "2026"} {
		if got, err := Moment("--since", text, now); err == nil {
			t.Errorf("Moment(%q) = %v, want an error", text, got)
		}
	}
}

func FuzzMoment(f *testing.F) {
	for _, text := range []string{"", "2h", "3d", "99999d", "2026-11-21", "2026-11-21T09:00:00Z", "9223372036854775807ns", "-1h", "1e9h", "d", "٣d"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Moment("--since", text, noon)
		if err != nil && !got.IsZero() {
			t.Errorf("Moment(%q) = %v and %v", text, got, err)
		}
		if _, ago := time.ParseDuration(text); err == nil && ago == nil && got.After(noon) {
			t.Errorf("Moment(%q) = %v, after now", text, got)
		}
	})
}

func FuzzPairs(f *testing.F) {
	for _, text := range []string{"", "a=b", "a=b\nc=d", "a=b\na=c", "=b", "a", "a=", "a==b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list := strings.Split(text, "\n")
		got, err := Pairs("--meta", list)
		if err != nil {
			return
		}
		for _, pair := range list {
			key, value, _ := strings.Cut(pair, "=")
			if v, ok := got[key]; !ok || v != value || key == "" {
				t.Errorf("Pairs(%q) has %q for %q", list, v, key)
			}
		}
		if len(got) != len(list) {
			t.Errorf("Pairs(%q) = %v, of another length", list, got)
		}
	})
}
