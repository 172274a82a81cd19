package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
)

// ParseTime parses a time as people type it: a duration before now (2h, 90m,
// 3d), the beginning of a day (today, yesterday, or friday for the last one before
// today), a date, a date and time, or RFC 3339. "" is the zero time. The name is
// used in errors. Kind: Invalid.
func ParseTime(name, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if n, ok := days(text); ok {
		return now.AddDate(0, 0, -n), nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if n, ok := daysBack(text, now.Weekday()); ok {
		y, m, d := now.Date()
		return time.Date(y, m, d-n, 0, 0, 0, 0, now.Location()), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, handoff.E(name, "", handoff.Invalid, fmt.Errorf("invalid time %q", text),
		handoff.Advice("use 2h, 3d, yesterday, friday, 2006-01-02 or RFC 3339"))
}

// ParsePeriod parses the limits of a period as ParseTime does.
func ParsePeriod(since, until string, now time.Time) (from, to time.Time, err error) {
	if from, err = ParseTime("since", since, now); err == nil {
		to, err = ParseTime("until", until, now)
	}
	return from, to, err
}

func days(text string) (int, bool) {
	const most = 100_000
	if len(text) < 2 || text[len(text)-1] != 'd' {
		return 0, false
	}
	n, err := strconv.Atoi(text[:len(text)-1])
	return n, err == nil && n >= 0 && n < most
}

// daysBack returns how many days before today a named day is: today, yesterday, or the
// last day of the week with a name, or its first three letters, before today.
func daysBack(text string, today time.Weekday) (int, bool) {
	text = strings.ToLower(text)
	if n := slices.Index([]string{"today", "yesterday"}, text); n >= 0 {
		return n, true
	}
	for n := 1; n <= 7; n++ {
		name := strings.ToLower(((today + time.Weekday(7-n)) % 7).String())
		if text == name || text == name[:3] {
			return n, true
		}
	}
	return 0, false
}
