package settings

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Policy says which copies of superseded artifacts, of transcripts and of sessions in
// the trash are kept. A copy stays if any rule keeps it. The zero value is no policy.
type Policy struct {
	KeepLast     int           // the newest of each name, or family of artifacts that replace each other
	KeepWithin   time.Duration // what is not older
	KeepLabeled  bool          // what has a label
	KeepApproved bool          // what was approved, by a review or by the label "approved"

	// MaxSize limits what is dropped: the oldest first, until all copies have at most so
	// many bytes. 0 for no limit: everything that no rule keeps is dropped.
	MaxSize int64
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
	if p.KeepLabeled {
		rules = append(rules, "keep-labeled")
	}
	if p.KeepApproved {
		rules = append(rules, "keep-approved")
	}
	if p.MaxSize > 0 {
		n, units := p.MaxSize, []string{"", "KB", "MB", "GB", "TB"}
		for len(units) > 1 && n%1024 == 0 {
			n, units = n/1024, units[1:]
		}
		rules = append(rules, "max-size "+strconv.FormatInt(n, 10)+units[0])
	}
	return strings.Join(rules, ", ")
}

// ParsePolicy parses rules that are separated by commas, such as
// "keep-last 3, keep-within 30d, keep-labeled, keep-approved, max-size 2GB". "" and "off"
// are no policy.
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
	switch {
	case name == "keep-last":
		if p.KeepLast, err = strconv.Atoi(value); err != nil || p.KeepLast < 1 {
			return fmt.Errorf("keep-last: invalid number %q (use 1 or more)", value)
		}
	case name == "keep-within":
		if p.KeepWithin, err = parseAge(value); err != nil || p.KeepWithin <= 0 {
			return fmt.Errorf("keep-within: %q is not a duration such as 12h or 30d", value)
		}
	case name == "keep-labeled" && value == "":
		p.KeepLabeled = true
	case name == "keep-approved" && value == "":
		p.KeepApproved = true
	case name == "max-size":
		if p.MaxSize, err = parseSize(value); err != nil || p.MaxSize < 1 {
			return fmt.Errorf("max-size: invalid size %q (use 500MB or 2GB)", value)
		}
	default:
		return fmt.Errorf("no rule %q (use keep-last N, keep-within D, keep-labeled, keep-approved, max-size N)", name)
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

func parseSize(text string) (int64, error) {
	text = strings.TrimSuffix(strings.ToUpper(text), "B")
	text = strings.TrimSuffix(text, "I")
	shift := 0
	for i, unit := range []string{"K", "M", "G", "T"} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			text, shift = digits, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && n > (1<<62)>>shift {
		err = errors.New("too large")
	}
	return n << shift, err
}
