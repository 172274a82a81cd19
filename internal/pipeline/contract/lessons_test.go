package contract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// exampleLessons is the example of docs/pipeline.md.
const exampleLessons = `lessons:
  - date: 2026-11-21
    issue: 42
    pattern: tests pass alone and fail together
    frequency: 1
    mitigation: give each test its own temporary directory
`

func TestValidateLessons(t *testing.T) {
	many := strings.Repeat("- {pattern: x, mitigation: y}\n", 51)
	for _, tt := range []struct{ text, problems string }{
		{exampleLessons, ""},
		{"", ""},
		{"# none yet\n", ""},
		{"lessons:\n", ""},
		{"- {pattern: x, mitigation: y, date: '2026-11-21', issue: PROJ-7, issues: [PROJ-7, 8]}\n", ""},
		{"- {pattern: x}\n", "error /0/mitigation: is missing"},
		{"lessons: [{pattern: '', mitigation: y}]", "error /lessons/0/pattern: "},
		{"lessons: [{pattern: x, mitigation: y, frequency: 0}]", "error /lessons/0/frequency: "},
		{"lessons: [{pattern: x, mitigation: y, date: today}]", "error /lessons/0/date: "},
		{"lessons: [{pattern: x, mitigation: y, cause: z}]", "warning /lessons/0/cause: is an unknown key"},
		{"lessons: text", "error /lessons: "},
		{"text", "error (root): "},
		{"patterns: []", "error /lessons: is missing; warning /patterns: is an unknown key"},
		{"{1: 2}", "error (root): has a key that is not text"},
		{"lessons: [", "error (root): line 2: invalid YAML"},
		{"a: &a [*a]", "error (root): "},
		{many, "warning (root): has 51 lessons"},
		{"lessons:\n" + many, "warning /lessons: has 51 lessons"},
		{strings.Repeat("#", contract.MaxArtifact+1), "error (root): is larger than 16777216 bytes"},
	} {
		r := contract.ValidateLessons([]byte(tt.text))
		var got []string
		for _, p := range r.Errors {
			got = append(got, fmt.Sprint("error ", p))
		}
		for _, p := range r.Warnings {
			got = append(got, fmt.Sprint("warning ", p))
		}
		want := strings.Split(tt.problems, "; ")
		if tt.problems == "" {
			want = nil
		}
		if len(got) != len(want) {
			t.Errorf("%.60q: got %q, want %q", tt.text, got, want)
			continue
		}
		for i, problem := range want {
			if !strings.HasPrefix(got[i], problem) {
				t.Errorf("%.60q: got %q, want %q", tt.text, got[i], problem)
			}
		}
	}
}

// FuzzLessons checks that no lessons file makes its validation panic.
func FuzzLessons(f *testing.F) {
	for _, text := range []string{exampleLessons, "- {pattern: x}", "lessons: &a [*a]", "{1: 2}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		contract.ValidateLessons(b)
	})
}
