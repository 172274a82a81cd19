package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Parts of secrets are joined here, so that no scanner finds one in this file.
var (
	github = "ghp_" + strings.Repeat("a1B2", 9)
	aws    = "AKIA" + "IOSFODNN7EXAMPLE"
	jwt    = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl"
	pem    = "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEowIBAAKCAQEA\nabc/+=\n-----END RSA PRIVATE " + "KEY-----"
)

func TestFind(t *testing.T) {
	for _, tt := range []struct{ text, kind, want string }{
		{"use " + github + ".", "GitHub token", github},
		{"key " + aws, "AWS key", aws},
		{"id: " + jwt + " ok", "JSON web token", jwt},
		{"a\n" + pem + "\nb", "private key", pem},
		{"-----BEGIN PRIVATE " + "KEY-----\nMIIE", "private key", "-----BEGIN PRIVATE " + "KEY-----\nMIIE"},
		{"xoxb-" + "123456789012-abc", "Slack token", "xoxb-" + "123456789012-abc"},
		{"sk-" + "proj-0123456789abcdefghij", "API key", "sk-" + "proj-0123456789abcdefghij"},
		{"Authorization: Bearer " + "abcdefghij0123456789", "bearer token", "abcdefghij0123456789"},
		{"postgres://app:" + "s3cret@db/x", "password in a URL", "s3cret"},
		{"DB_PASSWORD=" + "hunter2hunter2", "password", "hunter2hunter2"},
		{`"password": "` + `hunter2hunter2"`, "password", "hunter2hunter2"},
		{`{\"api_key\":\"` + `hunter2hunter2\"}`, "password", "hunter2hunter2"},
		{"token: " + "abc12345", "password", "abc12345"},

		{text: "the token is missing"},
		{text: "token := request.Header.Get(name)"},
		{text: "password: ${DB_PASSWORD1}"},
		{text: "total_tokens: 1234567890"},
		{text: "max_token=1234567890"},
		{text: "secret = strings.TrimSpace(line)"},
		{text: "task-0123456789012345678901234"},
		{text: "password=" + Redacted("password")},
		{text: ""},
	} {
		found := Find(tt.text)
		if tt.kind == "" {
			if len(found) > 0 {
				t.Errorf("Find(%q) = %v, want none", tt.text, found)
			}
			continue
		}
		if len(found) != 1 || found[0].Kind != tt.kind || tt.text[found[0].Start:found[0].End] != tt.want {
			t.Errorf("Find(%q) = %v, want a %s %q", tt.text, found, tt.kind, tt.want)
		}
		if !In(tt.text) {
			t.Errorf("In(%q) = false", tt.text)
		}
	}
}

// redacted returns a text after Redact, and the secrets that were reported.
func redacted(t interface{ Fatal(...any) }, text string) (string, []string) {
	var out bytes.Buffer
	var found []string
	if err := Redact(&out, strings.NewReader(text), func(kind, secret string, line int) {
		found = append(found, fmt.Sprint(line, " ", kind, " ", secret))
	}); err != nil {
		t.Fatal(err)
	}
	return out.String(), found
}

func TestRedact(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{"a":"x ` + github + ` y"}`, `{"a":"x [redacted GitHub token] y"}`},
		{`{"a":"` + strings.ReplaceAll(pem, "\n", `\n`) + `","b":1}`, `{"a":"[redacted private key]","b":1}`},
		{`{"a":"\"password\":\"hunter2hunter2\"\u00e9"}`, `{"a":"\"password\":\"[redacted password]\"\u00e9"}`},
		{`{"password":"hunter2hunter2","n":1}`, `{"password":"[redacted password]","n":1}`},
		{`{"access_token" : "hunter2hunter2"}`, `{"access_token" : "[redacted password]"}`},
		{`["password","hunter2hunter2"]`, `["password","hunter2hunter2"]`},
		{`{"a":"\u0067\u0068p_` + github[4:] + `"}`, `{"a":"[redacted GitHub token]"}`},
		{"name: x\ntoken: abc12345\n" + pem + "\nend\n", "name: x\ntoken: [redacted password]\n[redacted private key]\nend\n"},
		{`{"a":"unclosed ` + github + "\n{}", `{"a":"unclosed [redacted GitHub token]` + "\n{}"},
		{`{"a":"b\`, `{"a":"b\`},
		{`{"usage":{"token":12345678}}`, `{"usage":{"token":12345678}}`},
	} {
		got, found := redacted(t, tt.text)
		if got != tt.want {
			t.Errorf("Redact(%s) =\n%s, want\n%s (%v)", tt.text, got, tt.want, found)
		}
		if again, found := redacted(t, got); again != got || len(found) > 0 {
			t.Errorf("redacted twice: %s, %v", again, found)
		}
	}
}

// TestRedactPieces has secrets at every distance from the end of a piece.
func TestRedactPieces(t *testing.T) {
	for _, before := range []int{0, 1, pieceLen - holdLen - 50, pieceLen - holdLen - 1, pieceLen - holdLen, pieceLen - 41, pieceLen - 20, pieceLen - 1, pieceLen, pieceLen + 1, 3*pieceLen - 7} {
		text := `{"a":"` + strings.Repeat("-", before) + github + strings.Repeat(".", pieceLen) + `"}`
		got, found := redacted(t, text)
		if want := strings.Replace(text, github, Redacted("GitHub token"), 1); got != want || len(found) != 1 {
			t.Errorf("a secret after %d bytes: %d bytes with %v, want %d with one", before, len(got), found, len(want))
		}
	}
	long := `{"a":"` + strings.Repeat("A", 3*pieceLen) + "-----BEGIN PRIVATE " + "KEY-----" + strings.Repeat("A", 2*pieceLen) + `"}`
	if got, found := redacted(t, long); len(found) == 0 || !json.Valid([]byte(got)) {
		t.Errorf("a private key without an end: %v in %d bytes", found, len(got))
	}
}

// TestRedactValid checks for any JSON with secrets that it stays valid JSON, that no
// secret is left, and that all else is unchanged.
func TestRedactValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secrets := []string{github, aws, jwt, pem, "password=hunter2hunter2", "ünïcode", "\\\"\n", "plain", "", "\u2028"}
		piece := rapid.SampledFrom(secrets)
		var lines bytes.Buffer
		for range rapid.IntRange(1, 4).Draw(t, "lines") {
			parts := rapid.SliceOfN(piece, 0, 5).Draw(t, "parts")
			text := strings.Join(parts, " ")
			for inner := range rapid.IntRange(0, 2).Draw(t, "nested") {
				b, _ := json.Marshal(map[string]any{fmt.Sprint(inner): text})
				text = string(b)
			}
			b, _ := json.Marshal(map[string]any{"text": text, "n": 1})
			lines.Write(append(b, '\n'))
		}
		got, _ := redacted(t, lines.String())
		for i, line := range strings.Split(strings.TrimSuffix(got, "\n"), "\n") {
			var v struct{ Text string }
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatalf("line %d is not JSON: %v\n%s", i+1, err, line)
			}
			for inner := v.Text; strings.HasPrefix(inner, "{"); {
				var m map[string]string
				if err := json.Unmarshal([]byte(inner), &m); err != nil {
					t.Fatalf("nested JSON is invalid: %v\n%s", err, inner)
				}
				for _, value := range m {
					inner = value
				}
			}
		}
		for _, s := range []string{github, aws, jwt, "MIIEowIBAAKCAQEA", "hunter2"} {
			if strings.Contains(got, s) {
				t.Fatalf("%q is left in\n%s", s, got)
			}
		}
	})
}

func FuzzRedact(f *testing.F) {
	for _, text := range []string{`{"a":"` + github + `"}`, `{"password":"hunter2hunter2"}`, pem, `"\ud83d\ude00\u12`, "\"\\\n\""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, found := redacted(t, text)
		if len(found) == 0 && got != text {
			t.Fatalf("without secrets, %q became %q", text, got)
		}
		if json.Valid([]byte(text)) && !json.Valid([]byte(got)) {
			t.Fatalf("%q became %q, which is not JSON", text, got)
		}
	})
}
