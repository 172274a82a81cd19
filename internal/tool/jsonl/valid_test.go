package jsonl

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzValid(f *testing.F) {
	for _, text := range []string{
		``, ` `, `{}`, `[]`, `{"a":1}`, `{"a":1,}`, `{"a" 1}`, `{a:1}`, `[1,2]`, `[1 2]`, `[,]`, `"\u00e9"`, `"\u00g9"`,
		`"\x"`, "\"\x01\"", "\"\xff\"",
		`-0.5e+10`, `01`, `1.`, `.5`, `1e`, `--1`, `-`, `true`, `tru`, `nullx`, `{} {}`, ` [ { "a" : [ null , "\\" ] } ] `,
		`"`, `"\`, "{\"a\":\n1}",
		strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := Valid(b), json.Valid(b) && utf8.Valid(b); got != want {
			t.Errorf("Valid(%.100q) = %t, want %t", b, got, want)
		}
	})
}
