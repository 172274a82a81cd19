package gitleakstest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/zricethezav/gitleaks/v8/config"
)

var update = flag.Bool("update", false, "write the rules of internal/tool/secret")

const (
	rulesFile   = "../gitleaks.txt"
	licenceFile = "../gitleaks.LICENSE"
)

// Parts that most expressions have: what may precede the name of a secret, what is
// between name and value, and what ends a value.
const (
	before     = `[\w.-]{0,50}?`
	is         = `(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}`
	splitIs    = `(?:[ \t\w.-]{0,20})[\s'"]{0,3})(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}`
	terminator = `(?:[\x60'"\s;]|\\[nr]|$)`
)

var limit = regexp.MustCompile(`\{(\d+),\d{3,}\}`)

// left are rules that are not taken, with the reason.
var left = map[string]string{
	"pkcs12-file":            "the name of a file",
	"kubernetes-secret-yaml": "only for files with a certain name",
	"nuget-config-password":  "only for files with a certain name",
	"hashicorp-tf-password":  "only for files with a certain name",
	"freemius-secret-key":    "only for files with a certain name",
}

// shorter are expressions without an alternative that is no secret by itself.
var shorter = map[string][2]string{
	"sourcegraph-access-token": {`|[a-fA-F0-9]{40})\b`, `)\b`}, // any commit ID
}

// TestRules checks that the rules are those of gitleaks.
func TestRules(t *testing.T) {
	licence, err := os.ReadFile(licenceFile)
	if err != nil || !bytes.Contains(licence, []byte("MIT License")) {
		t.Errorf("%s is not the licence of gitleaks: %v", licenceFile, err)
	}
	var want bytes.Buffer
	writeRules(t, &want)
	if *update {
		if err := os.WriteFile(rulesFile, want.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not what gitleaks has; run go test -update", rulesFile)
	}
}

func writeRules(t *testing.T, w *bytes.Buffer) {
	fmt.Fprintf(w, "# Rules of github.com/zricethezav/gitleaks/v8 v8.30.1 (MIT, see gitleaks.LICENSE),\n")
	fmt.Fprintf(w, "# written by go test -update in gitleakstest. The form is described in rules.go.\n")
	cfg := gitleaks(t).Config
	for _, a := range cfg.Allowlists {
		fmt.Fprint(w, "rule *\n")
		writeAllowed(w, a)
	}
	// The generic rule is last, because the first rule names a secret.
	list := cfg.GetOrderedRules()
	slices.SortStableFunc(list, func(a, b config.Rule) int { return generic(a) - generic(b) })
	for _, r := range list {
		if left[r.RuleID] != "" {
			continue
		}
		expr := r.Regex.String()
		if s, ok := shorter[r.RuleID]; ok {
			if !strings.Contains(expr, s[0]) {
				t.Fatalf("%s has changed: %s", r.RuleID, expr)
			}
			expr = strings.Replace(expr, s[0], s[1], 1)
		}
		// A rule of two forms is two rules.
		name, token, two := strings.Cut(expr, terminator+`|\b`)
		if two && strings.Contains(name, is) {
			writeRule(t, w, r, name+terminator)
			expr = `\b` + token
		}
		writeRule(t, w, r, expr)
	}
}

func generic(r config.Rule) int {
	if strings.HasPrefix(r.RuleID, "generic-") {
		return 1
	}
	return 0
}

func writeRule(t *testing.T, w *bytes.Buffer, r config.Rule, expr string) {
	if rest, ok := strings.CutPrefix(expr, before+"(?i:"+before); ok {
		expr = "(?i:" + strings.Replace(rest, splitIs, ")"+is, 1)
	}
	expr = strings.Replace(expr, "(?i)"+before, "(?i)", 1)
	fmt.Fprintf(w, "rule %s\n", r.RuleID)
	name, _, named := strings.Cut(expr, is)
	marks, exact := prefixes(t, strings.TrimPrefix(name, "(?i)"))
	starts := !slices.ContainsFunc(marks, func(mark string) bool { return len(mark) < 2 })
	switch {
	case named && starts:
		fmt.Fprintf(w, "name %s\n", words(marks, strings.ToLower))
	case starts && exact && !strings.HasPrefix(expr, "(?i)"):
		fmt.Fprintf(w, "exact %s\n", words(marks, strings.Clone))
	case starts:
		fmt.Fprintf(w, "start %s\n", words(marks, strings.ToLower))
	default:
		fmt.Fprintf(w, "near %s\n", words(r.Keywords, strings.ToLower))
	}
	if r.Entropy > 0 {
		fmt.Fprintf(w, "entropy %g\n", r.Entropy)
	}
	if r.SecretGroup > 0 {
		fmt.Fprintf(w, "group %d\n", r.SecretGroup)
	}
	// With a high limit, an expression has a program that is slow; a longer value is no less
	// a secret.
	expr = limit.ReplaceAllString(expr, "{$1,}")
	expr = strings.ReplaceAll(strings.ReplaceAll(expr, is, "{{is}}"), terminator, "{{end}}")
	fmt.Fprintf(w, "expr %s\n", expr)
	for _, a := range r.Allowlists {
		writeAllowed(w, a)
	}
}

func writeAllowed(w *bytes.Buffer, a *config.Allowlist) {
	if len(a.Regexes) == 0 && len(a.StopWords) == 0 || len(a.Paths) > 0 && a.MatchCondition == config.AllowlistMatchAnd {
		return // by path only
	}
	target := a.RegexTarget
	if target == "" {
		target = "secret"
	}
	for _, re := range a.Regexes {
		fmt.Fprintf(w, "allow %s %s\n", target, re)
	}
	if len(a.StopWords) > 0 {
		fmt.Fprintf(w, "stop %s\n", words(a.StopWords, strings.ToLower))
	}
}

func words(list []string, to func(string) string) string {
	var out []string
	for _, s := range list {
		out = append(out, to(s))
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}

// prefixes returns the texts that what matches an expression begins with, at most 12
// characters of each, and whether case counts.
func prefixes(t *testing.T, expr string) (list []string, exact bool) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		re, err = syntax.Parse(expr+")", syntax.Perl) // the first part of a group
	}
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	p := prefixer{exact: true}
	for s := range p.of(re) {
		list = append(list, s[:min(len(s), 12)])
	}
	return list, p.exact
}

type prefixer struct{ exact bool }

// of returns prefixes and whether each is complete, so that more may follow.
func (p *prefixer) of(re *syntax.Regexp) map[string]bool {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			p.exact = false
		}
		return map[string]bool{string(re.Rune): true}
	case syntax.OpCapture:
		return p.of(re.Sub[0])
	case syntax.OpWordBoundary, syntax.OpEmptyMatch:
		return map[string]bool{"": true}
	case syntax.OpAlternate:
		all := map[string]bool{}
		for _, sub := range re.Sub {
			for s, whole := range p.of(sub) {
				all[s] = whole
			}
		}
		return all
	case syntax.OpCharClass:
		all := map[string]bool{}
		for i := 0; i < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1] && len(all) <= 4; c++ {
				all[string(c)] = true
			}
		}
		if len(all) <= 4 {
			return all
		}
	case syntax.OpConcat:
		all := map[string]bool{"": true}
		for _, sub := range re.Sub {
			next := map[string]bool{}
			for s, whole := range all {
				if !whole {
					next[s] = false
					continue
				}
				for more, whole := range p.of(sub) {
					next[s+more] = whole
				}
			}
			all = next
		}
		return all
	}
	return map[string]bool{"": false}
}
