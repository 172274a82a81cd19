package contract

import (
	"fmt"
	"path"
	"slices"
	"strconv"
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

// check finds the mistakes in how the parts of a pipeline fit together.
func (l *loader) check(p *Pipeline) {
	if l.checkHead(p); len(p.Stages) == 0 && len(l.mistakes) == 0 {
		l.wrong(p.node, "write stages: [{id: build, by: builder, writes: result.md}]", "has no stages")
	}
	for i, s := range p.Stages {
		l.checkStage(p, s)
		for _, other := range p.Stages[:i] {
			if other.Name == s.Name {
				l.wrong(valueOf(s.node, "id"), "give each stage its own id", "two stages have the id %q", s.Name)
				break
			}
			if file := common(other, s); file != "" {
				l.wrong(valueOf(s.node, "writes"), "give each stage its own files", "stages %s and %s both write %s",
					other.Name, s.Name, file)
				break
			}
		}
		l.checkNeeds(p, s, p.Stages[:i])
		l.checkRoutes(p, s)
	}
}

// checkHead finds the mistakes in what a definition has beside stages.
func (l *loader) checkHead(p *Pipeline) {
	if p.Preset != "" && p.Preset != PresetNone && p.Preset != PresetJG {
		l.wrong(valueOf(p.node, "preset"), "use jg, the built-in pipeline, or none", "unknown preset %q", p.Preset)
	}
	if why := pathMistake(p.Folder, false); why != "" {
		l.wrong(valueOf(p.node, "folder"), "name a directory of the repository, relative to its root", "folder %s", why)
	}
	if p.SelfAssessment != Optional && p.SelfAssessment != Required {
		l.wrong(valueOf(p.node, "self_assessment"), "use optional or required",
			"self_assessment is %q, must be optional or required", p.SelfAssessment)
	}
	p.Folder = path.Clean(p.Folder)
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

func (l *loader) checkNeeds(p *Pipeline, s *Stage, earlier []*Stage) {
	at := valueOf(s.node, "needs")
	for _, need := range s.Needs {
		known := func(o *Stage) bool { return o.Name == need }
		switch {
		case need == s.Name:
			l.wrong(at, "leave it out", "stage %s needs itself", s.Name)
		case slices.ContainsFunc(earlier, known):
		case slices.ContainsFunc(p.Stages, known):
			l.wrong(at, "list "+need+" before "+s.Name, "stage %s needs %s, which comes later", s.Name, need)
		default:
			l.wrong(at, "use "+strings.Join(p.names(), ", "), "stage %s needs unknown stage %q", s.Name, need)
		}
	}
}

// checkStage finds the mistakes in one stage.
func (l *loader) checkStage(p *Pipeline, s *Stage) {
	add := func(key, hint, format string, args ...any) {
		l.wrong(valueOf(s.node, key), hint, "stage %s: %s", s.Name, fmt.Sprintf(format, args...))
	}
	if err := handoff.CheckChannel(s.Name); err != nil || s.Name == State || s.Name == Human {
		add("id", `use lower-case letters, digits and "-"`, "id %q is empty, reserved or not a name", s.Name)
	}
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
	if p.IsPreset() && s.schema == nil && valueOf(s.node, "writes") == s.node {
		add("format", "write a schema", "has no schema")
	}
	if s.IsPattern() && s.schema != nil {
		add("format", "use headings or any for a pattern", "a pattern of files has no schema")
	}
	for key, list := range map[string][]string{"aliases": s.Aliases, "needs": s.Needs, "readers": s.Readers} {
		for i, word := range list {
			if slices.Contains(list[:i], word) {
				add(key, "leave one of them out", "%s has %q twice", key, word)
			}
		}
	}
	for _, c := range s.Checks {
		if !slices.Contains(checks, c) {
			add("checks", "use plan, changes, tests, review or merge", "unknown check %q (use %v)", c, checks)
		}
	}
	if s.Retries < 0 || s.Retries > maxRetries {
		add("retries", "use a number from 0 to "+strconv.Itoa(maxRetries), "retries must be a number from 0 to %d", maxRetries)
	}
	if gate := valueOf(s.node, "gate"); s.Gate.Verified != nil && len(s.Gate.Verified) == 0 {
		l.wrong(valueOf(gate, "verified"), "name a command, or leave the key out", "stage %s: verified is empty", s.Name)
	}
}

func (l *loader) checkRoutes(p *Pipeline, s *Stage) {
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
		l.wrong(r.node, hint, "stage %s: route %d %s", s.Name, i+1, why)
	}
}
