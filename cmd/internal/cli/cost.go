package cli

import (
	"fmt"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/work"
)

// Cost returns the cost of usage, - if it is not known. ≥ marks a lower bound.
func Cost(u work.Usage) string {
	text := Dollars(u.Cost)
	if u.Cost != nil && (u.Completeness != thread.Exact || len(u.Unpriced) > 0) {
		text = "≥" + text
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
