package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Policy says which copies of superseded artifacts, of transcripts and of sessions in
// the trash are kept. A copy stays if any rule keeps it. The zero value is no policy.
type Policy struct {
	KeepLast   int           // the newest of each name, or family of artifacts that replace each other
	KeepWithin time.Duration // what is not older
}

// IsZero reports whether there is no policy.
func (p Policy) IsZero() bool { return p == Policy{} }

// String returns the policy as ParsePolicy reads it.
func (p Policy) String() string {
	var rules []string
	if p.KeepLast > 0 {
		rules = append(rules, "keep-last "+strconv.Itoa(p.KeepLast))
	}
	if d := p.KeepWithin; d > 0 {
		text := d.String()
		if d%(24*time.Hour) == 0 {
			text = strconv.Itoa(int(d/(24*time.Hour))) + "d"
		} else if d%time.Hour == 0 {
			text = strconv.Itoa(int(d/time.Hour)) + "h"
		}
		rules = append(rules, "keep-within "+text)
	}
	return strings.Join(rules, ", ")
}

// ParsePolicy parses rules that are separated by commas, such as "keep-last 3, keep-within 30d".
// "" and "off" are no policy.
func ParsePolicy(text string) (p Policy, err error) {
	if text = strings.TrimSpace(text); text == "" || text == "off" {
		return p, nil
	}
	for rule := range strings.SplitSeq(text, ",") {
		words := strings.Fields(rule)
		value := strings.Join(words[min(1, len(words)):], "")
		if err := p.set(strings.Join(words[:min(1, len(words))], ""), value); err != nil {
			return Policy{}, err
		}
	}
	return p, nil
}

func (p *Policy) set(name, value string) (err error) {
	switch name {
	case "keep-last":
		if p.KeepLast, err = strconv.Atoi(value); err != nil || p.KeepLast < 1 {
			return fmt.Errorf("keep-last: invalid number %q (use 1 or more)", value)
		}
	case "keep-within":
		if p.KeepWithin, err = parseAge(value); err != nil || p.KeepWithin <= 0 {
			return fmt.Errorf("keep-within: %q is not a duration such as 12h or 30d", value)
		}
	default:
		return fmt.Errorf("no rule %q (use keep-last N, keep-within D)", name)
	}
	return nil
}

func parseAge(text string) (time.Duration, error) {
	if digits, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(digits, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}
