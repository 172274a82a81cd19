package contract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
)

// sequence gives the stages of a preset that a project changed what they need: the
// earlier stages that their writer reads, and the one before, which is not a detour.
func (p *Pipeline) sequence() {
	for i, s := range p.Stages {
		needs, before := []string{}, ""
		for _, earlier := range p.Stages[:i] {
			if !earlier.Detour {
				before = earlier.Name
			}
			if slices.Contains(earlier.Readers, s.Writer) {
				needs = append(needs, earlier.Name)
			}
		}
		if before != "" && !slices.Contains(needs, before) {
			needs = append(needs, before)
		}
		s.Needs = needs
	}
}

// check returns the mistakes in how the parts of a pipeline fit together.
func (p *Pipeline) check() (found Mistakes) {
	if len(p.Stages) == 0 {
		return Mistakes{p.place.wrong("write stages: [{id: build, by: builder, writes: result.md}]", "has no stages")}
	}
	seen := []*Stage{}
	for _, s := range p.Stages {
		found = append(found, s.check(p)...)
		for _, other := range seen {
			if other.Name == s.Name {
				found = append(found, s.wrong("id", "give each stage its own id", "two stages have the id %q", s.Name))
				break
			}
			if file := common(other, s); file != "" {
				found = append(found, s.wrong("writes", "give each stage its own files", "stages %s and %s both write %s",
					other.Name, s.Name, file))
				break
			}
		}
		found = append(found, s.checkNeeds(p, seen)...)
		seen = append(seen, s)
	}
	return found
}

// common returns a file that two stages write, "" if none is known.
func common(a, b *Stage) string {
	for _, file := range b.Files() {
		if a.Writes(file) {
			return file
		}
	}
	for _, file := range a.Files() {
		if b.Writes(file) {
			return file
		}
	}
	return ""
}

func (s *Stage) checkNeeds(p *Pipeline, earlier []*Stage) (found Mistakes) {
	for _, need := range s.Needs {
		known := func(o *Stage) bool { return o.Name == need }
		switch {
		case need == s.Name:
			found = append(found, s.wrong("needs", "leave it out", "stage %s needs itself", s.Name))
		case slices.ContainsFunc(earlier, known):
		case slices.ContainsFunc(p.Stages, known):
			found = append(found, s.wrong("needs", "list "+need+" before "+s.Name, "stage %s needs %s, which comes later",
				s.Name, need))
		default:
			found = append(found, s.wrong("needs", "use "+strings.Join(p.names(), ", "), "stage %s needs unknown stage %q",
				s.Name, need))
		}
	}
	return found
}

func (s *Stage) check(p *Pipeline) (found Mistakes) {
	add := func(key, hint, format string, args ...any) {
		found = append(found, s.wrong(key, hint, "stage %s: %s", s.Name, fmt.Sprintf(format, args...)))
	}
	if err := handoff.CheckChannel(s.Name); err != nil || s.Name == State || s.Name == Human {
		add("id", `use lower-case letters, digits and "-"`, "id %q is empty, reserved or not a name", s.Name)
	}
	builtin := p.IsPreset() && s.at["writes"] == place{}
	for _, file := range s.Files() {
		why := pathMistake(file, true)
		switch {
		case file == "":
			add("writes", "name the file that the stage leaves", "writes no file (writes)")
		case why != "":
			add("writes", "name a file in the folder of the run, relative to it", "writes %s", why)
		case strings.HasSuffix(file, "/"):
			add("writes", "name files: "+file+"**", "writes %q, which is a directory", file)
		case slices.Contains([]string{RunDefinition, StateFile, TraceFile, ".", "**"}, file):
			add("writes", "use another name", "writes %q, which is reserved", file)
		}
	}
	if s.Writer == "" {
		add("by", "name the agent that does it, or human", "has no writer (by)")
	} else if strings.ContainsFunc(s.Writer, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		add("by", "use one word", "by %q is not the name of one agent", s.Writer)
	}
	if builtin && s.schema == nil {
		add("format", "write a schema", "has no schema")
	}
	if s.IsPattern() && s.schema != nil {
		add("format", "use headings or any for a pattern", "a pattern of files has no schema")
	}
	return append(found, s.checkRoutes(p)...)
}

func (s *Stage) checkRoutes(p *Pipeline) (found Mistakes) {
	for i, r := range s.Routes {
		var why string
		switch {
		case (r.To == "") == (r.Ask == ""):
			why = "must have either a stage (to) or an agent (ask)"
		case r.To != "" && !slices.Contains(p.names(), r.To):
			why = "leads to unknown stage " + r.To
		case len(r.When) == 0:
			why = "has no condition (when)"
		default:
			continue
		}
		hint := "use " + strings.Join(p.names(), ", ") + " or human"
		found = append(found, r.at.wrong(hint, "stage %s: route %d %s", s.Name, i+1, why))
	}
	return found
}
