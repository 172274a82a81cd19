package jsonl

import (
	"encoding/json"
	"testing"
)

func TestSyntaxError(t *testing.T) {
	for doc, want := range map[string]string{
		" \n":                      "document is empty",
		"{\"a\":":                  "unexpected end of document",
		"{\n  \"a\": secret\n}":    "unexpected character, at line 2 column 8",
		"{}\n secret":              "trailing data after the value, at line 2 column 2",
		"\xff":                     "unexpected character, at line 1 column 1",
		"{\"a\": \"line\nbreak\"}": "unexpected character, at line 1 column 12",
	} {
		if got := SyntaxError([]byte(doc)).Error(); got != "invalid JSON: "+want {
			t.Errorf("SyntaxError(%q) = %q, want %q", doc, got, want)
		}
	}
}

func TestDecodeError(t *testing.T) {
	type inner struct {
		Seq int `json:"seq"`
	}
	var v struct {
		Inner inner           `json:"inner"`
		Time  json.RawMessage `json:"time"`
	}
	for doc, want := range map[string]string{
		`{"inner":{"seq":"secret"}}`: "field inner.seq has the wrong type",
		`["secret"]`:                 "has a value of the wrong type",
		`{"inner"`:                   "invalid JSON: unexpected end of document",
	} {
		if got := DecodeError([]byte(doc), json.Unmarshal([]byte(doc), &v)).Error(); got != want {
			t.Errorf("DecodeError(%s) = %q, want %q", doc, got, want)
		}
	}
}
