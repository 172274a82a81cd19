package gitleakstest

import (
	"encoding/json"
	"math/rand/v2"
	"regexp/syntax"
	"strings"
	"testing"
)

// TestSamples makes texts of the expression of each rule, and checks that handoff finds
// nearly all in which gitleaks finds a secret. What it does not find are IDs that are
// numbers.
func TestSamples(t *testing.T) {
	d := gitleaks(t)
	r := rand.New(rand.NewPCG(1, 2))
	found, missed := 0, map[string]int{}
	for _, rule := range d.Config.GetOrderedRules() {
		if rule.Regex == nil || left[rule.RuleID] != "" {
			continue
		}
		re, err := syntax.Parse(rule.Regex.String(), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			var b strings.Builder
			sample(&b, re, r)
			text := b.String()
			if len(d.DetectString(text)) == 0 {
				continue
			}
			found++
			line, _ := json.Marshal([]string{text})
			if redact(t, string(line)) == string(line) {
				missed[rule.RuleID]++
				t.Logf("%s: %q", rule.RuleID, text)
			}
		}
	}
	total := 0
	for _, n := range missed {
		total += n
	}
	t.Logf("of %d samples that gitleaks finds, handoff misses %d: %v", found, total, missed)
	if found < 1500 || total*50 > found {
		t.Errorf("of %d samples that gitleaks finds, handoff misses %d", found, total)
	}
}

// sample writes a text that an expression matches.
func sample(b *strings.Builder, re *syntax.Regexp, r *rand.Rand) {
	repeat := func(low, high int) {
		if high < 0 {
			high = low + 10
		}
		for range low + r.IntN(high-low+1) {
			sample(b, re.Sub[0], r)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(char(re.Rune, r))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte(byte('a' + r.IntN(26)))
	case syntax.OpCapture:
		sample(b, re.Sub[0], r)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			sample(b, sub, r)
		}
	case syntax.OpAlternate:
		sample(b, re.Sub[r.IntN(len(re.Sub))], r)
	case syntax.OpRepeat:
		repeat(re.Min, re.Max)
	case syntax.OpStar:
		repeat(0, -1)
	case syntax.OpPlus:
		repeat(1, -1)
	case syntax.OpQuest:
		repeat(0, 1)
	}
}

// char returns a printable character of a class, or white space if there is no other.
func char(class []rune, r *rand.Rand) rune {
	var all []rune
	for i := 0; i < len(class); i += 2 {
		for c := class[i]; c <= min(class[i+1], '~'); c++ {
			all = append(all, c)
		}
	}
	for range 20 {
		if c := all[r.IntN(len(all))]; c > ' ' {
			return c
		}
	}
	return all[0]
}
