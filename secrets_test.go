package handoff

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

// Parts of secrets are joined here, so that no scanner finds one in this file.
var tokenOfTest = "ghp_" + strings.Repeat("a1B2", 9)

func TestCheckSecrets(t *testing.T) {
	t.Parallel()
	name := "password=" + "hunter2hunter2"
	for _, tt := range []struct {
		fact Fact
		want string // in the error, "" for none
	}{
		{&ArtifactPublished{Title: "use " + tokenOfTest},
			"title: has what looks like a secret (GitHub token) at character 5"},
		{&ArtifactPublished{Title: "é " + tokenOfTest}, "at character 3"},
		{&ArtifactPublished{Tags: []string{"a", tokenOfTest}}, "tags 2: "},
		{&ArtifactPublished{Metadata: []byte(`{"a":{"b":["x","` + tokenOfTest + `"]}}`)}, "metadata a b 2: "},
		{&ArtifactPublished{Metadata: []byte(`{"api_key":"0123456789abcdef"}`)}, "metadata api_key: "},
		{&ArtifactPublished{Metadata: []byte(`{"x":{"` + tokenOfTest + `":1}}`)},
			"metadata x: has what looks like a secret (GitHub token) as the name of a member"},
		{&ArtifactPublished{Claims: []Claim{{Text: name}}}, "claims 1: "},
		{&ArtifactWithdrawn{Reason: name}, "reason: "},
		{&SessionOpened{Inputs: map[string]json.RawMessage{"password": []byte(`"hunter2hunter2"`)}}, "inputs password: "},
		{&SessionNoted{Name: &name}, "name: "},
		{&SessionNoted{Tags: []string{name}}, "tags 1: "},
		{&WorkStarted{Name: name}, "name: "},
		{&ArtifactPublished{Title: "the password is in the vault", Metadata: []byte(`{"password":"none"}`)}, ""},
		{&SessionLinked{To: name}, ""},
	} {
		_, err := checkSecrets(tt.fact, false)
		if (err != nil) != (tt.want != "") {
			t.Errorf("%+v: %v, want %q", tt.fact, err, tt.want)
			continue
		}
		if err == nil {
			continue
		}
		if text := err.Error(); !errors.Is(err, Invalid) || !strings.Contains(text, tt.want) ||
			strings.Contains(text, "hunter2") || strings.Contains(text, "ghp_") {
			t.Errorf("%+v: %v, want %q without the secret", tt.fact, err, tt.want)
		}
		if warnings, err := checkSecrets(tt.fact, true); err != nil || len(warnings) != 1 ||
			strings.Contains(warnings[0], "hunter2") {
			t.Errorf("%+v, allowed: %q, %v, want one warning", tt.fact, warnings, err)
		}
	}
}

func TestRedactStrings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ list, want []string }{
		{[]string{"go", "test", "./..."}, nil},
		{[]string{"x", "--token=" + tokenOfTest}, []string{"x", "--token=[redacted GitHub token]"}},
		{[]string{"x", "--password", "hunter2hunter2", "y"}, []string{"x", "--password", "[redacted password]", "y"}},
		{[]string{"x", "--password", "--verbose"}, nil},
		{[]string{"env", "DB_PASSWORD=" + "hunter2hunter2"}, []string{"env", "DB_PASSWORD=[redacted password]"}},
		{[]string{"curl", "https://u:" + "pa55word@h/x"}, []string{"curl", "https://u:[redacted password in a URL]@h/x"}},
	} {
		got, any := RedactStrings(tt.list)
		want := tt.want
		if want == nil {
			want = tt.list
		}
		if !slices.Equal(got, want) || any != (tt.want != nil) {
			t.Errorf("%q: got %q, %t, want %q", tt.list, got, any, want)
		}
	}
}
