package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// MinBrief is the smallest budget that Brief takes, in bytes: a few paths must
// fit.
const MinBrief = 200

// Brief tells an agent what it needs of a run, in at most budget bytes: which
// paths to read, each with one line of what lies there, and which to write. It
// never holds what lies there. Where the budget is short lines get shorter
// first, and then those that come last are counted only. Its kind is Invalid,
// for an agent that has no part in the pipeline and for a budget below
// MinBrief.
func Brief(p *contract.Pipeline, s State, agent string, budget int) (string, error) {
	refuse := func(reason, hint string) (string, error) {
		return "", &handoff.Error{Op: "brief", Name: agent, Kind: handoff.Invalid, Err: fmt.Errorf("%s", reason), Hint: handoff.Advice(hint)}
	}
	if budget < MinBrief {
		return refuse(fmt.Sprintf("%d bytes hold no brief", budget), fmt.Sprintf("the smallest budget is %d", MinBrief))
	}
	reads, writes, part := partOf(p, s, agent)
	if !part {
		return refuse("has no part in this pipeline", "its agents are "+strings.Join(agents(p), ", "))
	}
	stale := Stale(p, s)
	var lines []string
	for _, stage := range p.Stages {
		out, there := s.Outputs[stage.Name]
		if !there || !slices.Contains(reads, s.file(out.File)) {
			continue
		}
		line := "read   " + s.file(out.File) + "  " + Summary(stage, out.Report.Value)
		if why := stale[stage.Name]; why != "" {
			line = "read   " + s.file(out.File) + "  (stale: " + why + ") " + Summary(stage, out.Report.Value)
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	for _, file := range writes {
		lines = append(lines, "write  "+file)
	}
	return fit(lines, budget), nil
}

// partOf returns what an agent reads and writes in a run: those of its turn, if
// it is its turn, else all that it ever may.
func partOf(p *contract.Pipeline, s State, agent string) (reads, writes []string, part bool) {
	part = slices.Contains(agents(p), agent) || agent == contract.Human
	if step := Next(p, s); step.Agent == agent {
		if step.Writes != "" {
			writes = []string{step.Writes}
		}
		return step.Reads, writes, part
	}
	for _, stage := range p.Stages {
		if out, there := s.Outputs[stage.Name]; there && (slices.Contains(stage.Readers, agent) || agent == contract.Human) {
			reads = append(reads, s.file(out.File))
		}
		if stage.Writer == agent {
			writes = append(writes, s.file(stage.Artifact))
		}
	}
	return reads, writes, part
}

// agents are those that write or read in a pipeline, or are asked by it.
func agents(p *contract.Pipeline) []string {
	var names []string
	for _, stage := range p.Stages {
		names = append(append(names, stage.Writer), stage.Readers...)
		for _, r := range stage.Routes {
			if r.Ask != "" && r.Ask != contract.Human {
				names = append(names, r.Ask)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// fit joins lines within a number of bytes: all of them shortened to what each
// may have, then without the last ones, which are counted.
func fit(lines []string, budget int) string {
	for width := budget; width >= 60; width = width * 3 / 4 {
		if text := joined(lines, width); len(text) <= budget {
			return text
		}
	}
	for keep := len(lines) - 1; keep >= 0; keep-- {
		rest := fmt.Sprintf("and %d more\n", len(lines)-keep)
		if text := joined(lines[:keep], budget) + rest; len(text) <= budget {
			return text
		}
	}
	return ""
}

// joined is the lines, each of at most width bytes, but never without its path.
func joined(lines []string, width int) string {
	var b strings.Builder
	for _, line := range lines {
		least := len("write  ") + len(strings.Fields(line)[1])
		if most := max(width, least); len(line) > most {
			for most > least && !utf8.RuneStart(line[most]) {
				most--
			}
			line = strings.TrimRight(line[:most], " ")
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
