package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The two blocks that a bundle's files must hold at the least, as the
// specification of session outputs (1.0.0) gives them.
const (
	minimalConfig = `output_folder: '{project-root}/docs'
agent_outputs_folder: '{output_folder}/agent-outputs'
`
	minimalWorkflow = `# Session variables (auto-populated by engine)
session_id: ""  # Engine generates UUID
session_folder: "{config_source}:agent_outputs_folder/{{session_id}}"
manifest_file: "{session_folder}/manifest.json"

# Output file paths (agent-specific)
default_output_file: "{session_folder}/output.md"
`
)

func variables(t *testing.T, text string) map[string]string {
	t.Helper()
	v, err := parseVariables([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func minimalPaths(t *testing.T) Paths {
	return Paths{
		ProjectRoot: "/project", Bundle: "bmm", ConfigSource: "/project/bmad/bmm/config.yaml",
		Config: variables(t, minimalConfig), Workflow: variables(t, minimalWorkflow),
		SessionID: "a3f2c9d1-4b5e-4789-81ab-cdef12345678", UserName: "bryan",
		Now: time.Date(2025, 10, 5, 23, 1, 45, 0, time.FixedZone("EDT", -4*60*60)),
	}
}

func TestMinimalBlocks(t *testing.T) {
	p := minimalPaths(t)
	var b strings.Builder
	for _, name := range []string{"output_folder", "agent_outputs_folder", "session_id", "session_folder", "manifest_file",
		"default_output_file", "date", "user_name", "bundle-root", "core-root"} {
		value, steps, err := p.Explain(name)
		fmt.Fprintf(&b, "%s: %s %v\n", name, value, err)
		for _, s := range steps {
			fmt.Fprintf(&b, "  %s%s = %s = %s (%s)\n", strings.Repeat("  ", s.Depth), s.Text, s.Definition, s.Value, s.Source)
		}
	}
	const golden = "testdata/minimal.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || b.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s, %v", b.String(), want, err)
	}
}

func TestResolve(t *testing.T) {
	p := minimalPaths(t)
	p.Config["a"], p.Config["b"], p.Config["self"] = "{b}", "x/{a}", "{{self}}"
	p.Config["wide"] = strings.Repeat("{date}", maxSubstitutions)
	p.Config["unknown_inside"] = "{project-root}/{nowhere}"
	p.Config["session_id"] = "not this one"
	p.Workflow["output_folder"] = "{config_source}:output_folder/mine"
	p.Workflow["default_output_file"] = ""
	for _, tt := range []struct{ text, want, err string }{
		{"plain/a..b.md", "plain/a..b.md", ""},
		{"{project-root}/x", "/project/x", ""},
		{"{{project-root}}/x", "/project/x", ""},
		{"{session_id}-{{session_id}}", p.SessionID + "-" + p.SessionID, ""},
		{"{date}/{user_name}", "2025-10-05/bryan", ""},
		{"{config_source}", "/project/bmad/bmm/config.yaml", ""},
		{"{output_folder}", "/project/docs/mine", ""}, // the workflow's value takes precedence over the bundle's
		{"{config_source}:output_folder", "/project/docs", ""},
		{"{config_source}:agent_outputs_folder/{{session_id}}", "/project/docs/mine/agent-outputs/" + p.SessionID, ""},
		// an empty one is none
		{"{default_output_file}", "/project/docs/mine/agent-outputs/" + p.SessionID + "/output.md", ""},
		{"{a}", "", "refers to itself: a → b → a"},
		{"{self}", "", "refers to itself: self → self"},
		{"{nowhere}", "", "{nowhere}: no such variable"},
		{"{unknown_inside}", "", "{nowhere}: no such variable"},
		{"{config_source}:nowhere", "", "no such variable"},
		{"{wide}", "", "more than 200 substitutions"},
		{"{ date }", "{ date }", ""},
	} {
		got, _, err := p.Resolve(tt.text)
		switch {
		case tt.err == "" && (err != nil || got != tt.want):
			t.Errorf("Resolve(%q) = %q, %v, want %q", tt.text, got, err, tt.want)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("Resolve(%q) = %q, %v, want error %q", tt.text, got, err, tt.err)
		}
	}
}

func TestUserName(t *testing.T) {
	p := minimalPaths(t)
	p.Config["user_name"] = "Bryan"
	if got, _, err := p.Explain("user_name"); got != "Bryan" || err != nil {
		t.Errorf("user_name = %q, %v, want the bundle's", got, err)
	}
}

// TestExplainAnyName explains variables whose names can't be written in a text.
func TestExplainAnyName(t *testing.T) {
	p := minimalPaths(t)
	p.Workflow["my.key"], p.Workflow["größe"], p.Workflow["two words"] = "at {date}", "42", "x"
	p.Config["self.ish"], p.Config["agent_outputs_folder"], p.Config["empty"] = "{self.ish}", "", ""
	values, warnings := p.Variables()
	for name, want := range map[string]string{"my.key": "at 2025-10-05", "größe": "42", "two words": "x",
		"self.ish":             "{self.ish}",
		"agent_outputs_folder": "/project/docs/agent-outputs", "empty": ""} { // an empty folder is the default
		got, _, err := p.Explain(name)
		if err != nil || got != want || values[name] != want {
			t.Errorf("%s = %q and %q, %v, want %q", name, got, values[name], err, want)
		}
	}
	if len(warnings) > 0 {
		t.Errorf("warnings %q", warnings)
	}
	if got, _, err := p.Explain("no.such"); err == nil {
		t.Errorf("no.such = %q, want an error", got)
	}
}

func TestInside(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"/project/docs/x", "docs/x"},
		{"/project/docs/a..b.md", "docs/a..b.md"},
		{"/project/docs/..x", "docs/..x"},
		{"/project/docs/../docs/x", ""},
		{"/project", ""},
		{"/project-other/x", ""},
		{"/etc/passwd", ""},
		{"docs/x", ""},
	} {
		if got, err := Inside("/project", tt.name); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("Inside(%q) = %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestParseAgent(t *testing.T) {
	for _, tt := range []struct {
		text string
		want handoff.SessionAgent
	}{
		{`<agent id="bmad/bmm/agents/alex.md" name="alex" title="Alex the Facilitator" icon="x">` + "\n<persona>…",
			handoff.SessionAgent{Name: "alex", Title: "Alex the Facilitator", Bundle: "bmad/bmm"}},
		{"<!-- made by hand -->\n# Casey\n\n```xml\n<agent name='casey' title='Casey'/>\n```\n",
			handoff.SessionAgent{Name: "casey", Title: "Casey"}},
		{"---\nname: pixel\nbundle: bmad/bmm\n---\n\n<agent name='other' title='Pixel'>",
			handoff.SessionAgent{Name: "pixel", Title: "Pixel", Bundle: "bmad/bmm"}},
		{"name: pixel\ntitle: Pixel\n", handoff.SessionAgent{Name: "pixel", Title: "Pixel"}},
		{"---\r\nname: robin\r\ntitle: Robin\r\n---\r\n\r\n# Robin\r\n", handoff.SessionAgent{Name: "robin", Title: "Robin"}},
		{"---\r\nname: robin\r\n---\r\n<agent name='wren' title='Wren'>", handoff.SessionAgent{Name: "robin", Title: "Wren"}},
		{"\ufeff---\nname: robin\n---\n", handoff.SessionAgent{Name: "robin"}},
		{"\ufeffname: robin\r\n", handoff.SessionAgent{Name: "robin"}},
		{"# Wren\n<agent\n  name='wren'\r\n  title='Wren'>", handoff.SessionAgent{Name: "wren", Title: "Wren"}},
		{"<agent\tname='wren'>", handoff.SessionAgent{Name: "wren"}},
		{"<agents name='several'>\n<agent name='wren'>", handoff.SessionAgent{Name: "wren"}},
		{"", handoff.SessionAgent{}},
		{"# only a heading\n", handoff.SessionAgent{}},
		{"<agent title='no name'>", handoff.SessionAgent{Title: "no name"}},
	} {
		got, err := parseAgent([]byte(tt.text))
		if got != tt.want || (err == nil) != (tt.want.Name != "") {
			t.Errorf("parseAgent(%q) = %+v, %v, want %+v", tt.text, got, err, tt.want)
		}
	}
}

func FuzzParseBundle(f *testing.F) {
	f.Add(minimalConfig)
	f.Add(minimalWorkflow)
	f.Add("<agent name='x' title=\"y\">")
	f.Add("a: \"{b}{b}{b}{b}\"\nb: \"{c}{c}{c}{c}\"\nc: \"{d}{d}{d}{d}\"\nd: \"{e}{e}{e}{e}\"\ne: x\n")
	f.Add("a: {b}\nb: '{{a}}'\n")
	f.Fuzz(func(t *testing.T, text string) {
		parseAgent([]byte(text))
		values, err := parseVariables([]byte(text))
		if err != nil || len(values) > 50 {
			return
		}
		p := Paths{ProjectRoot: "/p", Config: values, Workflow: values}
		variables, _ := p.Variables()
		for name := range variables {
			if _, steps, err := p.Explain(name); err != nil || len(steps) > maxSubstitutions {
				t.Errorf("%s took %d substitutions, %v", name, len(steps), err)
			}
		}
	})
}
