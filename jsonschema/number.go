package jsonschema

import (
	"cmp"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// The maximum length and exponent of a number for exact arithmetic. Beyond them
// numbers are compared as 64-bit floats, because exact arithmetic is too
// expensive.
const (
	maxNumber   = 64
	maxExponent = 400
)

// A number is a limit in a schema.
type number struct {
	exact   *big.Rat
	text    json.Number
	integer int64 // if isSmall
	isSmall bool
}

func newNumber(n json.Number) (*number, bool) {
	exact, ok := rational(n)
	if !ok {
		return nil, false
	}
	integer, isSmall := smallInt(n)
	return &number{exact, n, integer, isSmall}, true
}

// smallInt returns the value of a number that is written as an integer of at most
// 18 characters.
func smallInt(n json.Number) (int64, bool) {
	if len(n) > 18 || strings.ContainsAny(string(n), ".eE") {
		return 0, false
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	return i, err == nil
}

// rational returns the exact value of a number, unless it exceeds the limits.
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

// compare returns -1 if n is less than the limit, 0 if they are equal, 1 if n is
// greater.
func (l *number) compare(n json.Number) int {
	if i, ok := smallInt(n); ok && l.isSmall {
		return cmp.Compare(i, l.integer)
	}
	if r, ok := rational(n); ok {
		return r.Cmp(l.exact)
	}
	f, _ := strconv.ParseFloat(string(n), 64) // infinite if out of range
	limit, _ := l.exact.Float64()
	return cmp.Compare(f, limit)
}

// divides reports whether n is a multiple of the number. A number that exceeds
// the limits is not.
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

// same reports whether two JSON values are equal. Numbers are compared by value:
// 1 and 1.0 are equal.
func same(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		n, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, okA := rational(a)
		y, okB := rational(n)
		return a == n || (okA && okB && x.Cmp(y) == 0)
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
			if other, ok := object[key]; !ok || !same(v, other) {
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

// canonical returns a text that is the same for equal values only.
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
