package secret

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// A place is where a mark of a secret is.
type place int

const (
	start place = iota // a secret begins with it
	exact              // a secret begins with it, in this case
	name               // it begins the name before a secret
	near               // it is within or beside a secret
)

// A rule is how secrets of one kind are written.
type rule struct {
	kind    string
	place   place
	marks   []string // a text without any of them has no such secret
	expr    string
	entropy float64                // a secret has more bits for each character
	group   int                    // of expr; with 0, the first that is not empty
	ok      func(v string) bool    // whether a value is a secret; may be nil
	trim    func(v string) string  // what of a value is the secret; may be nil
	follows func(rest string) bool // whether what follows a mark can have a secret; may be nil
	after   []string               // one of them is before a mark, in the same line or near it; may be nil
	window  int                    // bytes after the mark that are searched first

	allow []allowance
	stop  []string // words that are in no secret

	bound bool // a secret begins a word
	order int
	once  sync.Once
	re    *regexp.Regexp
	stops *matcher
}

// An allowance is an expression of what is no secret.
type allowance struct {
	target string // secret, match or line
	expr   string
	re     *regexp.Regexp
}

// What {{is}} and {{end}} mean in expressions: what is between a name and its value,
// and what follows a value. The latter has more characters than in gitleaks, so that
// secrets in parameters of URLs and in sentences are found.
const (
	isExpr     = `(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}`
	endExpr    = `(?:[\x60'"\s;&,)(\]}{<>|#\\@!?*]|\.(?:\s|$)|$)`
	endOfToken = `(?:[\x60'"\s;&,)(\]}{<>|#\\@!?*/:%.]|$)`
)

//go:embed gitleaks.txt
var gitleaksRules string

// parse reads rules in the form of gitleaks.txt. A line has a field and its value;
// "rule" begins a rule, and the rule "*" has what is no secret for any rule.
func parse(text string) []*rule {
	var list []*rule
	var r *rule
	for line := range strings.Lines(text) {
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch field {
		case "rule":
			r = &rule{kind: strings.ReplaceAll(value, "-", " ")}
			list = append(list, r)
		case "start", "exact", "name", "near":
			r.place = map[string]place{"start": start, "exact": exact, "name": name, "near": near}[field]
			r.marks = strings.Fields(value)
		case "entropy":
			r.entropy, _ = strconv.ParseFloat(value, 64)
		case "group":
			r.group, _ = strconv.Atoi(value)
		case "expr":
			r.expr = value
		case "allow":
			target, expr, _ := strings.Cut(value, " ")
			r.allow = append(r.allow, allowance{target: target, expr: expr})
		case "stop":
			r.stop = strings.Fields(value)
		}
	}
	return list
}

// prepare compiles the expressions of a rule, when it is first needed.
func (r *rule) prepare() {
	r.once.Do(func() {
		if r.expr != "" {
			end := endExpr
			if r.place != name {
				end = endOfToken
			}
			expr := strings.NewReplacer("{{is}}", isExpr, "{{end}}", end).Replace(r.expr)
			if r.place != near {
				expr = "^(?:" + expr + ")"
			}
			r.re = regexp.MustCompile(expr)
		}
		for i := range r.allow {
			r.allow[i].re = regexp.MustCompile(r.allow[i].expr)
		}
		if len(r.stop) > 0 {
			r.stops = newMatcher(r.stop)
		}
	})
}

// A detector has all rules.
type detector struct {
	any    *rule // what is no secret for any rule
	marks  []string
	lower  []string // marks in lower case
	words  func() *matcher
	seen   atomic.Int64 // bytes of texts that were searched without words
	byMark [][]*rule
}

// rules are all rules. Where two match, the first names the secret.
var rules = sync.OnceValue(func() *detector {
	theirs := parse(gitleaksRules)
	d := &detector{any: theirs[0]}
	ids := map[string]int{}
	for i, r := range append(own(), theirs[1:]...) {
		r.order = i
		if r.kind == "curl auth header" || r.kind == "curl auth user" {
			r.follows = hasCredentials // their expressions are slow
		}
		r.bound = strings.HasPrefix(strings.TrimPrefix(r.expr, "(?i)"), `\b`)
		if r.window == 0 {
			r.window = 512
		}
		for _, mark := range r.marks {
			id, known := ids[mark]
			if !known {
				id = len(d.marks)
				ids[mark] = id
				d.marks = append(d.marks, mark)
				d.byMark = append(d.byMark, nil)
			}
			d.byMark[id] = append(d.byMark[id], r)
		}
	}
	d.lower = lower(d.marks)
	d.words = sync.OnceValue(func() *matcher { return newMatcher(d.lower) })
	return d
})

// fewBytes is how much is searched mark by mark: making the matcher takes about as long.
const fewBytes = 8 << 10

// each calls f with each mark in a text, and the position after it.
func (d *detector) each(text string, f func(mark, end int)) {
	if len(text) > fewBytes || d.seen.Add(int64(len(text))) > fewBytes {
		d.words().each(text, f)
		return
	}
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	text = string(b)
	for i, mark := range d.lower {
		for at := 0; ; {
			next := strings.Index(text[at:], mark)
			if next < 0 {
				break
			}
			f(i, at+next+len(mark))
			at += next + 1
		}
	}
}

// allowed reports whether a match is known to be no secret.
// Lead is what is before the text.
func (d *detector) allowed(r *rule, lead, text string, at []int, value string) bool {
	d.any.prepare()
	if isPlaceholder(value) || (r.place == name && isWords(value)) {
		return true
	}
	matched := text[at[0]:at[1]]
	if at[0] == 0 {
		matched = lead + matched
	}
	for _, from := range []*rule{d.any, r} {
		for _, a := range from.allow {
			target := value
			switch a.target {
			case "match":
				target = matched
			case "line":
				target = lineOf(text, at)
			}
			if a.re.MatchString(target) {
				return true
			}
		}
		if from.stops != nil && from.stops.in(value) {
			return true
		}
	}
	return r.kind == genericKind && !isGeneric(matched, value)
}

// genericKind is the kind of values after names such as key.
const genericKind = "generic api key"

func lineOf(text string, at []int) string {
	begin := strings.LastIndexByte(text[:at[0]], '\n') + 1
	if end := strings.IndexByte(text[at[1]:], '\n'); end >= 0 {
		return text[begin : at[1]+end]
	}
	return text[begin:]
}
