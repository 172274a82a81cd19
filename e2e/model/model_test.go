package model

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestAnswer checks that each protocol gets the same step, by its own mark and
// number of answers, and that each is counted.
func TestAnswer(t *testing.T) {
	step := func(n int, text string) Step {
		return Step{Text: text, Usage: Usage{Input: n, Output: n}, Calls: []Call{{Name: "list", Input: object{"n": n}}}}
	}
	s, err := Start(Script{"a": {step(1, "first"), step(2, "second")}, "b": {{Fail: 400}}}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const mark, tools = `[[a]] Begin.`, `"tools":[{"name":"list"}]`
	for _, c := range []struct{ protocol, path, body string }{
		{"anthropic", "/v1/messages", `{` + tools + `,"messages":[{"role":"user","content":"` + mark +
			`"},{"role":"assistant"},{"role":"user","content":[{"type":"tool_result","content":"x"}]}]}`},
		{"responses", "/v1/responses", `{` + tools + `,"input":[{"role":"user","content":[{"text":"` + mark +
			`"}]},{"role":"assistant"},{"type":"function_call"},{"type":"function_call_output","output":"x"}]}`},
		{"chat", "/v1/chat/completions", `{"tools":[{"function":{"name":"list"}}],"messages":[{"role":"user","content":"` +
			mark + `"},{"role":"assistant"},{"role":"tool","content":"x"}]}`},
		{"gemini", "/v1beta/models/m:generateContent",
			`{"tools":[{"functionDeclarations":[{"name":"list"}]}],"contents":[{"role":"user","parts":[{"text":"` + mark +
				`"}]},{"role":"model"},{"parts":[{"functionResponse":{"response":{}}}]}]}`},
	} {
		for _, path := range []string{c.path, strings.Replace(c.path, ":generate", ":streamGenerate", 1)} {
			if status, body := post(t, s.URL+path, c.body); status != http.StatusOK || !strings.Contains(body, "second") ||
				!strings.Contains(body, "list") {
				t.Errorf("%s: %d %s", path, status, body)
			}
			streamed := strings.Replace(c.body, "{", `{"stream":true,`, 1)
			if status, body := post(t, s.URL+path, streamed); status != http.StatusOK || !strings.Contains(body, "data: ") &&
				c.protocol != "gemini" {
				t.Errorf("%s: %d %s", path, status, body)
			}
			last := s.Ledger()[len(s.Ledger())-1]
			if want := (Answer{c.protocol, "a", 1, Usage{Input: 2, Output: 2}}); last != want {
				t.Errorf("%s: ledger has %+v, want %+v", path, last, want)
			}
		}
	}
	n := len(s.Ledger())
	if status, _ := post(t, s.URL+"/v1/messages",
		`{`+tools+`,"messages":[{"role":"user","content":"[[b]]"}]}`); status != 400 || len(s.Ledger()) != n {
		t.Errorf("a step that fails: %d, and %d answers were counted", status, len(s.Ledger())-n)
	}
	if status, _ := post(t, s.URL+"/v1/messages", `not JSON`); status != 400 {
		t.Errorf("a request that is not JSON: %d", status)
	}
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}
