package jsonschema

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// The longest number and the largest exponent that are calculated with exactly;
// beyond them a 64-bit float serves, for exact arithmetic would cost more than
// any value is worth.
const (
	maxNumber   = 64
	maxExponent = 400
)

// A number is a limit.
type number struct {
	exact *big.Rat
	text  json.Number
	small int64 // where it is whole, and isSmall
	whole bool
}

func newNumber(n json.Number) (*number, bool) {
	exact, ok := rational(n)
	if !ok {
		return nil, false
	}
	small, whole := smallInt(n)
	return &number{exact, n, small, whole}, true
}

// smallInt returns a number that is written as a whole one of few digits.
func smallInt(n json.Number) (int64, bool) {
	if len(n) > 18 || strings.ContainsAny(string(n), ".eE") {
		return 0, false
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	return i, err == nil
}

// rational returns a number exactly, if it is one that is calculated with.
func rational(n json.Number) (*big.Rat, bool) {
	if len(n) > maxNumber {
		return nil, false
	}
	if at := strings.IndexAny(string(n), "eE"); at >= 0 {
		if e, err := strconv.Atoi(string(n[at+1:])); err != nil || e > maxExponent || e < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(string(n))
}

// compare returns -1, 0 or 1, as n is less than the limit, the same or more.
func (l *number) compare(n json.Number) int {
	if i, ok := smallInt(n); ok && l.whole {
		switch {
		case i < l.small:
			return -1
		case i > l.small:
			return 1
		}
		return 0
	}
	if r, ok := rational(n); ok {
		return r.Cmp(l.exact)
	}
	f, _ := strconv.ParseFloat(string(n), 64) // infinite where it is beyond
	limit, _ := l.exact.Float64()
	switch {
	case f < limit:
		return -1
	case f > limit:
		return 1
	}
	return 0
}

// divides reports whether n is a multiple of the number. What is not calculated
// with is none.
func (l *number) divides(n json.Number) bool {
	r, ok := rational(n)
	return ok && r.Quo(r, l.exact).IsInt()
}

func isInteger(n json.Number) bool {
	if !strings.ContainsAny(string(n), ".eE") {
		return true
	}
	r, ok := rational(n)
	return ok && r.IsInt()
}

// same reports whether two values are equal as JSON has it: numbers by what
// they are, not by how they are written.
func same(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		n, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, okA := rational(a)
		y, okB := rational(n)
		return a == n || okA && okB && x.Cmp(y) == 0
	case []any:
		list, ok := b.([]any)
		if !ok || len(a) != len(list) {
			return false
		}
		for i := range a {
			if !same(a[i], list[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		object, ok := b.(map[string]any)
		if !ok || len(a) != len(object) {
			return false
		}
		for key, v := range a {
			if other, there := object[key]; !there || !same(v, other) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

// canonical is a text that equal values share, and no others.
func canonical(v any) string {
	var b strings.Builder
	writeCanonical(&b, v)
	return b.String()
}

func writeCanonical(b *strings.Builder, v any) {
	switch v := v.(type) {
	case json.Number:
		if r, ok := rational(v); ok {
			b.WriteString(r.RatString())
		} else {
			b.WriteString(string(v))
		}
	case []any:
		b.WriteByte('[')
		for _, item := range v {
			writeCanonical(b, item)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, key := range sortedKeys(v) {
			b.WriteString(strconv.Quote(key))
			b.WriteByte(':')
			writeCanonical(b, v[key])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case string:
		b.WriteString(strconv.Quote(v))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	default:
		b.WriteString("null")
	}
}
