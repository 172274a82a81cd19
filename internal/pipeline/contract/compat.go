package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/pipeline"
)

// A Dialect is an edition of schema.py, the script that validated artifacts
// before handoff did.
type Dialect string

const (
	Practitioner Dialect = "practitioner" // checks that required keys exist
	Expert       Dialect = "expert"       // checks tiers as well
)

// ParseDialect returns the dialect with a name. Its kind is Invalid.
func ParseDialect(name string) (Dialect, error) {
	d := Dialect(name)
	if d != Practitioner && d != Expert {
		return "", handoff.E("validate", name, handoff.Invalid, errors.New("unknown edition"),
			handoff.Advice("use practitioner or expert"))
	}
	return d, nil
}

// usage is printed for any other number of files than one.
const usage = "Usage: python schema.py --validate <path-to-artifact.json>\n"

// Compat returns the output of the script for some files. Its texts are those of
// the script, byte for byte, except for the messages of its JSON parser. Like the
// script it takes exactly one file, recognizes it by its name and checks only
// that required keys exist; their value may be null.
func (p *Pipeline) Compat(d Dialect, read func(name string) ([]byte, error), files ...string) pipeline.CompatAnswer {
	if len(files) != 1 {
		return pipeline.CompatAnswer{Err: usage, Code: 2}
	}
	b, err := read(files[0])
	if errors.Is(err, handoff.NotFound) {
		return refusal("File not found: " + files[0])
	}
	if err != nil {
		return refusal(err.Error())
	}
	return p.CompatBytes(d, path.Base(strings.ReplaceAll(files[0], "\\", "/")), b)
}

// CompatBytes is Compat for the content of one file.
func (p *Pipeline) CompatBytes(d Dialect, base string, b []byte) pipeline.CompatAnswer {
	s, err := p.Stage(base)
	if err != nil || !slices.Contains(s.Files(), base) {
		return refusal("Unknown artifact: " + base)
	}
	value, problems := decode(b)
	if value == nil && len(problems) > 0 {
		value, problems = decode(withoutNaN(b))
	}
	if value == nil && len(problems) > 0 {
		return refusal("Invalid JSON: " + strings.TrimPrefix(problems[0].Text, invalidJSON))
	}
	object, ok := value.(map[string]any)
	if !ok {
		return refusal("Artifact root must be an object, got " + pythonType(value))
	}
	var lines []string
	for _, key := range s.schema().Required() {
		if _, there := object[key]; !there {
			lines = append(lines, "Missing required key: "+key)
		}
	}
	if d == Expert {
		lines = append(lines, expert(object)...)
	}
	if len(lines) > 0 {
		return refusal(lines...)
	}
	return pipeline.CompatAnswer{Out: "OK\n"}
}

// withoutNaN replaces NaN, Infinity and -Infinity, which the JSON parser of Python
// accepts, with a number of the same type.
func withoutNaN(b []byte) []byte {
	var out []byte
	quoted := false
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '"':
			quoted = !quoted
		case quoted && b[i] == '\\' && i+1 < len(b):
			out = append(out, b[i])
			i++
		case !quoted:
			for _, word := range []string{"-Infinity", "Infinity", "NaN"} {
				if bytes.HasPrefix(b[i:], []byte(word)) {
					out = append(out, "0.0"...)
					i += len(word)
					break
				}
			}
		}
		if i < len(b) {
			out = append(out, b[i])
		}
	}
	return out
}

func refusal(lines ...string) pipeline.CompatAnswer {
	return pipeline.CompatAnswer{Err: strings.Join(lines, "\n") + "\n", Code: 1}
}

// expert does the additional checks of the expert edition.
func expert(artifact map[string]any) []string {
	var lines []string
	if tier, there := artifact["tier_used"]; there {
		switch tier, ok := tier.(string); {
		case !ok:
			lines = append(lines, "tier_used must be a string, got "+pythonType(artifact["tier_used"]))
		case tier != "fast" && tier != "high" && tier != "standard":
			lines = append(lines, "tier_used must be one of ['fast', 'high', 'standard'], got "+pythonQuote(tier))
		}
	}
	history, there := artifact["escalation_history"]
	if !there {
		return lines
	}
	steps, ok := history.([]any)
	if !ok {
		return append(lines, "escalation_history must be an array, got "+pythonType(history))
	}
	for i, step := range steps {
		object, ok := step.(map[string]any)
		if !ok {
			lines = append(lines, fmt.Sprintf("escalation_history[%d] must be an object, got %s", i, pythonType(step)))
			continue
		}
		for _, key := range []string{"from_tier", "to_tier"} {
			if _, there := object[key]; !there {
				lines = append(lines, fmt.Sprintf("escalation_history[%d] missing required key: %s", i, key))
			}
		}
	}
	return lines
}

func pythonType(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "dict"
	case []any:
		return "list"
	case string:
		return "str"
	case bool:
		return "bool"
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			return "float"
		}
		return "int"
	}
	return "NoneType"
}

// pythonQuote quotes text like Python's repr. It escapes quotes and backslashes
// only.
func pythonQuote(s string) string {
	s = strings.ReplaceAll(s, `\`, `\\`)
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `\'`) + "'"
}
