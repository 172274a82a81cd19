// Package price knows what tokens of a model cost.
//
// The prices are those of the npm package @pydantic/genai-prices (MIT, see
// LICENSE), as .ci/prices.mjs copies them. They are read on the first call of
// Embedded.
package price

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A List has the prices of models, by provider.
type List struct {
	Source    string     `json:"source"` // where the prices are from
	Date      string     `json:"date"`   // of the source: 2026-09-23
	License   string     `json:"licence,omitempty"`
	Providers []provider `json:"providers"`
}

type provider struct {
	ID       string    `json:"id"`
	Provider []pattern `json:"provider"` // names of the provider besides ID
	Model    []pattern `json:"model"`    // models of this provider, where no provider is named
	Fallback []string  `json:"fallback"` // providers whose prices also apply
	Models   []model   `json:"models"`
}

type model struct {
	ID     string    `json:"id"`
	Match  []pattern `json:"match"`
	Prices []Price   `json:"prices"` // the last one that applies counts
}

// A Price is what tokens of a model cost, in US dollars for a million.
type Price struct {
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Rates
	Tiers []Tier `json:"tiers,omitempty"` // by length of the context, shortest first

	From   string `json:"from,omitempty"`   // the first day: 2026-03-13
	After  string `json:"after,omitempty"`  // the time of the day, in UTC: 00:30
	Before string `json:"before,omitempty"` // and its end, exclusive

	// Estimated reports that no price is known at the provider that was named: it is that of
	// whoever makes the model, or of the provider in the model's name.
	Estimated bool `json:"-"`
}

const clock = "15:04" // the form of a time of the day

// Rates are US dollars for a million tokens. Without a rate of its own, cached
// input costs as much as other input, and reasoning as much as other output.
type Rates struct {
	Input        float64  `json:"input"`
	Output       float64  `json:"output"`
	CacheRead    *float64 `json:"cacheRead,omitempty"`
	CacheWrite   *float64 `json:"cacheWrite,omitempty"`
	CacheWrite1h *float64 `json:"cacheWrite1h,omitempty"`
	Reasoning    *float64 `json:"reasoning,omitempty"`
}

// A Tier has the rates of requests with more input than a number of tokens.
type Tier struct {
	Above int64 `json:"above"`
	Rates
}

// Tokens are the tokens of one request. The counts are disjoint, except that
// Reasoning is part of Output and CacheWrite1h is part of CacheWrite.
type Tokens struct {
	Input, CacheRead, CacheWrite, CacheWrite1h, Output, Reasoning int64
}

//go:embed prices.json.gz
var embedded []byte

// Embedded returns the prices that were current when handoff was built.
var Embedded = sync.OnceValue(func() *List {
	r, err := gzip.NewReader(bytes.NewReader(embedded))
	if err != nil {
		panic(err)
	}
	l := new(List)
	if err := json.NewDecoder(r).Decode(l); err != nil {
		panic(err)
	}
	return l
})

// Parse returns a list of prices in the format of the embedded one, of which only
// providers with id and models are needed.
func Parse(b []byte) (*List, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	l := new(List)
	if err := d.Decode(l); err != nil || d.Decode(new(json.RawMessage)) != io.EOF {
		return nil, errors.New("the prices are not in the documented form") // without the content
	}
	for _, p := range l.Providers {
		patterns := slices.Concat(p.Provider, p.Model)
		for _, m := range p.Models {
			patterns = append(patterns, m.Match...)
			if p.ID == "" || m.ID == "" || len(m.Prices) == 0 {
				return nil, errors.New("a provider or model has no id, or a model no prices")
			}
			for _, price := range m.Prices {
				if err := price.check(); err != nil {
					return nil, fmt.Errorf("model %q: %w", m.ID, err)
				}
			}
		}
		for _, one := range slices.Concat(patterns...) {
			if re, ok := expression(strings.TrimLeft(one, "!")); ok && re == nil {
				return nil, fmt.Errorf("provider %q: a regular expression is invalid", p.ID)
			}
		}
	}
	return l, nil
}

func (p Price) check() error {
	for _, t := range [][2]string{{time.DateOnly, p.From}, {clock, p.After}, {clock, p.Before}} {
		if _, err := time.Parse(t[0], t[1]); t[1] != "" && err != nil {
			return errors.New("a date or time is invalid")
		}
	}
	rates := []Rates{p.Rates}
	for i, t := range p.Tiers {
		if i > 0 && t.Above <= p.Tiers[i-1].Above {
			return errors.New("the tiers are not sorted")
		}
		rates = append(rates, t.Rates)
	}
	for _, r := range rates {
		for _, rate := range []*float64{&r.Input, &r.Output, r.CacheRead, r.CacheWrite, r.CacheWrite1h, r.Reasoning} {
			if rate != nil && *rate < 0 {
				return errors.New("a price is negative")
			}
		}
	}
	return nil
}

// times returns a price with all its rates times n.
func (p Price) times(n float64) Price {
	p.Rates, p.Tiers = p.Rates.times(n), slices.Clone(p.Tiers)
	for i := range p.Tiers {
		p.Tiers[i].Rates = p.Tiers[i].Rates.times(n)
	}
	return p
}

func (r Rates) times(n float64) Rates {
	r.Input, r.Output = r.Input*n, r.Output*n
	for _, rate := range []**float64{&r.CacheRead, &r.CacheWrite, &r.CacheWrite1h, &r.Reasoning} {
		if *rate != nil {
			more := **rate * n
			*rate = &more
		}
	}
	return r
}

func (p provider) has(name string) bool {
	return slices.ContainsFunc(p.Models, func(m model) bool { return strings.EqualFold(m.ID, name) })
}

func (m model) is(name string) bool {
	if len(m.Match) == 0 {
		return strings.EqualFold(m.ID, name)
	}
	return matches(m.Match, name)
}

func (p provider) find(name, except string) (list []Price) {
	for _, m := range p.Models {
		if !m.is(name) || except != "" && m.is(except) {
			continue
		}
		for _, price := range slices.Backward(m.Prices) {
			price.Provider, price.Model = p.ID, m.ID
			list = append(list, price)
		}
	}
	return list
}

func (p Price) appliesAt(at time.Time) bool {
	if p.From == "" && p.After == "" && p.Before == "" {
		return true
	}
	at = at.UTC()
	if at.Format(time.DateOnly) < p.From {
		return false
	}
	if now := at.Format(clock); p.After > p.Before {
		return now >= p.After || now < p.Before
	} else if p.Before != "" {
		return now >= p.After && now < p.Before
	}
	return true
}

// IsBound reports whether the cost of tokens is a lower bound: they were written to a cache
// for an hour, and the price has no rate for that.
func (p Price) IsBound(t Tokens) bool {
	r := p.ratesOf(t)
	return min(t.CacheWrite1h, t.CacheWrite) > 0 && r.CacheWrite1h == nil && *cmp.Or(r.CacheWrite, &r.Input) > 0
}

// ratesOf returns the rates of one request.
func (p Price) ratesOf(t Tokens) Rates {
	r := p.Rates
	for _, tier := range p.Tiers {
		if t.Input+t.CacheRead+t.CacheWrite > tier.Above {
			r = tier.Rates
		}
	}
	return r
}

// InTier reports whether a request with this number of input tokens has other rates.
func (p Price) InTier(input int64) bool { return len(p.Tiers) > 0 && input > p.Tiers[0].Above }

// Cost returns what one request costs, in US dollars.
func (p Price) Cost(t Tokens) float64 {
	r := p.ratesOf(t)
	write, long, reasoning := *cmp.Or(r.CacheWrite, &r.Input), min(t.CacheWrite1h, t.CacheWrite), min(t.Reasoning,
		t.Output)
	cost := float64(t.Input)*r.Input +
		float64(t.CacheRead)**cmp.Or(r.CacheRead, &r.Input) +
		float64(t.CacheWrite-long)*write +
		float64(long)**cmp.Or(r.CacheWrite1h, &write) +
		float64(t.Output-reasoning)*r.Output +
		float64(reasoning)**cmp.Or(r.Reasoning, &r.Output)
	return cost / 1e6
}

// A pattern is a list of patterns that must all match: text with * at an end for
// any characters, a /regular expression/, or one of them after a ! that must not
// match.
type pattern []string

func matches(alternatives []pattern, s string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc(alternatives, func(p pattern) bool {
		return !slices.ContainsFunc(p, func(one string) bool { return !matchOne(one, s) })
	})
}

// expression returns the regular expression of a pattern, nil if it is invalid.
func expression(p string) (re *regexp.Regexp, ok bool) {
	if len(p) < 2 || p[0] != '/' || p[len(p)-1] != '/' {
		return nil, false
	}
	re, _ = regexp.Compile("(?i)" + p[1:len(p)-1])
	return re, true
}

func matchOne(p, s string) bool {
	if rest, not := strings.CutPrefix(p, "!"); not {
		return !matchOne(rest, s)
	}
	if re, ok := expression(p); ok {
		return re != nil && re.MatchString(s)
	}
	p = strings.ToLower(p)
	text := strings.Trim(p, "*")
	switch starts, ends := strings.HasPrefix(p, "*"), strings.HasSuffix(p, "*"); {
	case starts && ends:
		return strings.Contains(s, text)
	case starts:
		return strings.HasSuffix(s, text)
	case ends:
		return strings.HasPrefix(s, text)
	}
	return s == p
}
