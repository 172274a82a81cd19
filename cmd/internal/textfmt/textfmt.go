// Package textfmt has how values are written for people and in the lines of events.
package textfmt

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/agent-handoff/handoff/internal/tool/printable"
	"github.com/agent-handoff/handoff/trace"

	"github.com/clipperhouse/displaywidth"
)

// Cost returns the cost of usage, - if it is not known. ~ marks one with estimated prices,
// and ≥ another one that is a lower bound.
func Cost(u trace.Usage) string {
	text := Dollars(u.Cost)
	switch {
	case u.Cost == nil:
		return text
	case len(u.Estimated) > 0:
		return "~" + text
	case u.IsLowerBound():
		return "≥" + text
	}
	return text
}

// Dollars returns an amount of money, - if it is not known.
func Dollars(v *float64) string {
	switch {
	case v == nil:
		return "-"
	case *v > 0 && *v < 0.01:
		return fmt.Sprintf("$%.4f", *v)
	}
	return fmt.Sprintf("$%.2f", *v)
}

// Each returns the cost of one of several things. ≥ marks a lower bound.
func Each(u trace.Usage, each *float64) string {
	u.Cost = each
	return Cost(u)
}

// Percent returns a part of one, - if it is not known.
func Percent(part *float64) string {
	if part == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100**part)
}

// Change returns how a cost compares with that of the period before, or the cost of that.
func Change(c trace.CostChange) string {
	took := c.Until.Sub(c.Since)
	period := strings.TrimSuffix(strings.TrimSuffix(took.Round(time.Minute).String(), "0s"), "0m")
	if days := took / (24 * time.Hour); days*24*time.Hour == took {
		period = strings.TrimPrefix(Count(int(days), "day"), "1 ")
	}
	change := func(rate float64) string {
		return strings.Replace(fmt.Sprintf("%+.0f %%", 100*rate), "-", "−", 1) + " to the " + period + " before"
	}
	switch {
	case c.Rate != nil:
		return change(*c.Rate)
	case c.RecordedRate != nil:
		return "recorded cost " + change(*c.RecordedRate) + "; both are lower bounds"
	case c.Before.Cost == nil:
		return "no known cost in the " + period + " before"
	}
	return Cost(c.Before) + " in the " + period + " before"
}

// Tokens returns a count of tokens in three digits, - if it is not known.
func Tokens(n *int64) string {
	if n == nil {
		return "-"
	}
	v := float64(*n)
	for _, unit := range []string{"", "k", "M", "G"} {
		if v < 999.5 || unit == "G" {
			if unit == "" || v >= 99.95 {
				return fmt.Sprintf("%.0f%s", v, unit)
			}
			return fmt.Sprintf("%.1f%s", v, unit)
		}
		v /= 1000
	}
	return ""
}

// Stamp formats a time for people, in the local time zone.
func Stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }

// Count formats a number of things, whose plural ends in s.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// Age returns a time that has passed in its largest unit.
func Age(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}

// Queued says how many records are queued on this machine, and the age of the oldest.
func Queued(n int, oldest time.Duration) string {
	return Count(n, "record") + " queued on this machine for the log, the oldest: " + Age(oldest)
}

// Size formats a number of bytes for people.
func Size(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n), 0
	for value >= 1024 && unit < len(units)-1 {
		value /= 1024
		unit++
	}
	if unit == 0 {
		return Count(int(n), "byte")
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// OneLine returns s with line breaks, control characters and invisible characters
// escaped as in Go, so that it is safe to print within a line.
func OneLine(s string) string { return printable.Line(s) }

// Word returns a value of an event line, quoted if it could be taken for several.
func Word(s string) string {
	if s == "" || strings.ContainsAny(s, "\"'\\=") || strings.ContainsFunc(s, unicode.IsSpace) || OneLine(s) != s {
		return strconv.Quote(s)
	}
	return s
}

// SortedKeys returns the keys of a map in ascending order.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Took returns a duration for an event line.
func Took(d time.Duration) string {
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// Used returns the tokens and the cost of an event line, with their completeness.
// What is not known is omitted.
func Used(u trace.Usage, transcript *trace.Usage) (text string) {
	if u.TotalTokens == nil && u.Cost == nil {
		return ""
	}
	if u.TotalTokens != nil {
		text += "  tokens=" + Grouped(*u.TotalTokens)
	}
	if u.Cost != nil {
		text += fmt.Sprintf("  cost=$%.4f", *u.Cost)
	}
	text += "  usage=" + string(u.Completeness)
	for _, m := range u.Unpriced {
		text += " unpriced=" + Word(m)
	}
	for _, m := range u.Estimated {
		text += " estimated=" + Word(m)
	}
	if transcript != nil && transcript.TotalTokens != nil {
		text += "  transcript=" + Grouped(*transcript.TotalTokens)
	}
	return text
}

// Grouped returns a number with a comma before each group of three digits.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// ShellWord returns s as one word of a POSIX shell, quoted where necessary.
func ShellWord(s string) string {
	if plainWord().MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ShellLine returns words as a line of a POSIX shell.
func ShellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = ShellWord(w)
	}
	return strings.Join(quoted, " ")
}

// ResumeLine returns the line of a shell that runs a command that resumes a thread, in the directory of the thread.
func ResumeLine(dir string, words []string) string {
	line := ShellLine(words)
	if dir != "" {
		line = ShellLine([]string{"cd", dir}) + " && " + line
	}
	return printable.Line(line)
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w./:@%+=,-]+$`) })

// Wrap breaks s into lines of at most width columns: after a space if there is
// one, otherwise between characters.
func Wrap(s string, width int) []string {
	var lines []string
	for s != "" && displaywidth.String(s) > width {
		end, columns := 0, 0
		for g := displaywidth.StringGraphemes(s); g.Next(); {
			if columns += g.Width(); columns > width && end > 0 {
				break
			}
			end += len(g.Value())
		}
		if end < len(s) && s[end] != ' ' {
			if space := strings.LastIndexByte(s[:end], ' '); space > 0 {
				end = space
			}
		}
		lines = append(lines, strings.TrimRight(s[:end], " "))
		s = strings.TrimLeft(s[end:], " ")
	}
	return append(lines, s)
}
