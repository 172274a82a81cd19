package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-handoff/handoff/internal/tool/secret/corpus"
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
		{"https://app:" + "correct@db/x", "password in a URL", "correct"},
		{"DB_PASSWORD=" + "hunter2hunter2", "password", "hunter2hunter2"},
		{`"password": "` + `hunter2hunter2"`, "password", "hunter2hunter2"},
		{`{\"api_key\":\"` + `hunter2hunter2\"}`, "password", "hunter2hunter2"},
		{"token: " + "abc12345", "password", "abc12345"},

		{text: "the token is missing"},
		{text: "https://user:" + "password@db/x, https://app:" + "${PASS}@db/x, http://[::1]:80/@x"},
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
		if len(Find(tt.text)) == 0 {
			t.Errorf("Find(%q) finds nothing", tt.text)
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
		{"name: x\ntoken: abc12345\n" + pem + "\nend\n",
			"name: x\ntoken: [redacted password]\n[redacted private key]\nend\n"},
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
	for _, before := range []int{0, 1, pieceLen - holdLen - 50, pieceLen - holdLen - 1, pieceLen - holdLen, pieceLen - 41,
		pieceLen - 20, pieceLen - 1, pieceLen, pieceLen + 1, 3*pieceLen - 7} {
		text := `{"a":"` + strings.Repeat("-", before) + github + strings.Repeat(".", pieceLen) + `"}`
		got, found := redacted(t, text)
		if want := strings.Replace(text, github, Redacted("GitHub token"), 1); got != want || len(found) != 1 {
			t.Errorf("a secret after %d bytes: %d bytes with %v, want %d with one", before, len(got), found, len(want))
		}
	}
	long := `{"a":"` + strings.Repeat("A", 3*pieceLen) + "-----BEGIN PRIVATE " + "KEY-----" +
		strings.Repeat("A", 2*pieceLen) + `"}`
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

// TestRedactCuts has each format at any position of a long string, that is read in pieces
// of any size. The result is that of one piece.
func TestRedactCuts(t *testing.T) {
	var cases []corpus.Case
	for _, c := range corpus.Cases(7) {
		if c.Context == "env" || c.Context == "url" || c.Context == "yaml" {
			cases = append(cases, c)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		limits := sizes{hold: rapid.IntRange(1500, 3000).Draw(t, "hold")}
		limits.piece = limits.hold + rapid.IntRange(500, 6000).Draw(t, "more")
		var text strings.Builder
		var in []corpus.Case
		for range rapid.IntRange(1, 4).Draw(t, "secrets") {
			text.WriteString(strings.Repeat("a word\n", rapid.IntRange(0, 1500).Draw(t, "words")))
			text.WriteString(strings.Repeat("-", rapid.IntRange(0, 6).Draw(t, "odd")) + "\n")
			c := rapid.SampledFrom(cases).Draw(t, "case")
			in = append(in, c)
			text.WriteString(c.Text)
		}
		text.WriteString(strings.Repeat("the end\n", rapid.IntRange(0, 800).Draw(t, "after")))
		line, _ := json.Marshal(map[string]string{"text": text.String()})
		var got, want bytes.Buffer
		none := func(string, string, int) {}
		if err := errors.Join(redact(&got, bytes.NewReader(line), none, limits),
			redact(&want, bytes.NewReader(line), none, sizes{1 << 20, 1 << 10})); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("in pieces of %d bytes:\n%s\nwant\n%s", limits.piece, got.String(), want.String())
		}
		for _, c := range in {
			if strings.Contains(got.String(), c.Secret) {
				t.Errorf("%s is left in pieces of %d bytes", c.Format, limits.piece)
			}
		}
	})
}

// TestRedactTwo has two secrets in a piece, of which the first ends where the text is held: what
// is between them stays.
func TestRedactTwo(t *testing.T) {
	key := "-----BEGIN OPENSSH PRIVATE " + "KEY-----\n" + strings.Repeat(strings.Repeat("b3BlbnNzaC1r", 5)+"\n", 8) +
		"-----END OPENSSH PRIVATE KEY-----"
	text := func(secret string) string {
		line, _ := json.Marshal("first " + secret + " and\nthen " + secret + " for it\n" + strings.Repeat("x\n", 500))
		return string(line)
	}
	for piece := 1600; piece < 2400; piece += 50 {
		var got bytes.Buffer
		err := redact(&got, strings.NewReader(text(key)), func(string, string, int) {}, sizes{piece, 1500})
		if want := text(Redacted("private key")); err != nil || got.String() != want {
			t.Errorf("in pieces of %d bytes, got %.150s, %v, want %.150s", piece, got.String(), err, want)
		}
	}
}

// TestRedactNames has the name of a secret at every distance from where a string is cut.
func TestRedactNames(t *testing.T) {
	limits := sizes{piece: 4096, hold: 512}
	for _, tt := range []struct{ name, secret string }{
		{"password=", "hunter2abc1"},
		{"Bearer ", "abcdefghij0123456789"},
		{"postgres://app:", "s3cret99@db/x"},
		{"aws_secret_access_key = ", "wJa1rXUtnFEM/K7MDENG+bPxRf1CYabcdEFGH12x"},
		{"login deploy password ", "a1b2c3d4"},
	} {
		first := limits.piece - limits.hold - len(tt.name+tt.secret) - 4
		for before := first; before < limits.piece-limits.hold+4; before++ {
			text := `{"a":"` + strings.Repeat("x ", before/2) + strings.Repeat(" ", before%2) + tt.name + tt.secret +
				strings.Repeat(" z", limits.piece) + `"}`
			var got bytes.Buffer
			if err := redact(&got, strings.NewReader(text), func(string, string, int) {}, limits); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(got.String(), tt.secret) {
				t.Fatalf("%s%s is left after %d bytes", tt.name, tt.secret, before)
			}
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, text := range []string{`{"a":"` + github + `"}`, `{"password":"hunter2hunter2"}`, pem, `"\ud83d\ude00\u12`,
		"\"\\\n\"", "token=[redacted key]a1b2c3d4", "a://b:c1d@e:f2g@h"} {
		f.Add(text)
	}
	for i, c := range corpus.Cases(1) {
		if i%7 == 0 {
			f.Add(c.Text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, found := redacted(t, text)
		if len(found) == 0 && got != text {
			t.Fatalf("without secrets, %q became %q", text, got)
		}
		if len(got) > len(text)+50*len(found) {
			t.Fatalf("%d bytes with %d secrets became %d", len(text), len(found), len(got))
		}
		if json.Valid([]byte(text)) && !json.Valid([]byte(got)) {
			t.Fatalf("%q became %q, which is not JSON", text, got)
		}
		if again, _ := redacted(t, got); again != got {
			t.Fatalf("%q became %q, and that %q", text, got, again)
		}
	})
}

// FuzzRedactCorpus checks that nothing around a secret hides it.
func FuzzRedactCorpus(f *testing.F) {
	cases := corpus.Cases(3)
	f.Add(0, "before", "after")
	f.Add(44, "password: ${X}", "-----END")
	f.Fuzz(func(t *testing.T, i int, before, after string) {
		c := cases[uint(i)%uint(len(cases))]
		line, _ := json.Marshal([]string{before + "\n" + c.Text + "\n" + after})
		got, _ := redacted(t, string(line))
		if strings.Contains(got, c.Secret) {
			t.Fatalf("%s in %s is left: %s", c.Format, c.Context, got)
		}
		if !json.Valid([]byte(got)) {
			t.Fatalf("%s is not JSON", got)
		}
	})
}
