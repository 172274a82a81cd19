package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// Mermaid returns the pipeline as a Mermaid flowchart: a box for each stage, an arrow to it
// from each stage that it needs, and a dotted one for each outcome that leads elsewhere. Its
// texts are in quotes, and have no markup.
func (p *Pipeline) Mermaid() string {
	quote := strings.NewReplacer("&", "#amp;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;")
	text := func(s string) string { return quote.Replace(printable.Line(s)) }
	at := map[string]string{Human: "human"}
	for i, s := range p.Stages {
		at[s.Name] = fmt.Sprintf("s%d", i)
	}
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	asks := map[string]bool{}
	for _, s := range p.Stages {
		lines := []string{s.Name, "by " + s.Writer, s.Artifact}
		if s.Gate.Approved != nil {
			lines = append(lines, "needs an approval")
		}
		for _, need := range s.Gate.Verified {
			lines = append(lines, "needs "+strings.Join(need.Argv, " "))
		}
		for i, line := range lines {
			lines[i] = text(line)
		}
		fmt.Fprintf(&b, "  %s[\"%s\"]\n", at[s.Name], strings.Join(lines, "<br/>"))
		if s.Optional || s.Detour {
			fmt.Fprintf(&b, "  style %s stroke-dasharray: 4 3\n", at[s.Name])
		}
		for _, r := range s.Routes {
			if r.Ask != "" && !asks[r.Ask] {
				asks[r.Ask] = true
				if at[r.Ask] == "" {
					at[r.Ask] = fmt.Sprintf("a%d", len(asks))
				}
				fmt.Fprintf(&b, "  %s([\"%s\"])\n", at[r.Ask], text(r.Ask))
			}
		}
	}
	for _, s := range p.Stages {
		for _, need := range s.Needs {
			fmt.Fprintf(&b, "  %s --> %s\n", at[need], at[s.Name])
		}
		for _, r := range s.Routes {
			var when []string
			for _, field := range slices.Sorted(maps.Keys(r.When)) {
				if value := fmt.Sprint(r.When[field]); field == OutcomeField {
					when = append(when, value)
				} else {
					when = append(when, field+" "+value)
				}
			}
			to := at[r.To]
			if r.Ask != "" {
				to = at[r.Ask]
			}
			fmt.Fprintf(&b, "  %s -. \"%s\" .-> %s\n", at[s.Name], text(strings.Join(when, ", ")), to)
		}
	}
	return b.String()
}
