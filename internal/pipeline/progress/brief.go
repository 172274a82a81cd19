package progress

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// MinBrief is the smallest budget of Brief, in bytes.
const MinBrief = 200

// Brief returns the paths that an agent reads, each with a one-line summary, the path
// that it writes, and its ticket if it acts next, in at most budget bytes. It contains
// no artifact. To fit the budget, lines are shortened first, and then the last ones
// are replaced by their number. Its kind is Invalid for an agent that is not in the pipeline
// and for a budget smaller than MinBrief.
func Brief(p *contract.Pipeline, s State, agent string, budget int) (string, error) {
	refuse := func(reason, hint string) (string, error) {
		return "", handoff.E("brief", agent, handoff.Invalid, fmt.Errorf("%s", reason), handoff.Advice(hint))
	}
	if budget < MinBrief {
		return refuse(fmt.Sprintf("%d bytes are too few for a brief", budget), fmt.Sprintf("use at least %d bytes", MinBrief))
	}
	reads, findings, writes, known := readsAndWrites(p, s, agent)
	if !known {
		return refuse("not an agent of this pipeline", "its agents are "+strings.Join(agents(p), ", "))
	}
	stale := Stale(p, s)
	var lines []briefLine
	for _, stage := range p.Stages {
		out, ok := s.Outputs[stage.Name]
		files := slices.DeleteFunc(s.paths(out), func(file string) bool {
			return file != findings && !slices.Contains(reads, file)
		})
		if !ok || len(files) == 0 {
			continue
		}
		about := "  "
		if files[0] == findings {
			about += "(findings to fix) "
		}
		if why := stale[stage.Name]; why != "" {
			about += "(stale: " + why + ") "
		}
		for _, file := range files {
			lines = append(lines, briefLine{"read   " + file, about + summarize(stage, out.Report.Value)})
		}
	}
	for _, other := range [][2]string{{s.file(contract.StateFile), "the planner's notes"},
		{path.Join(s.Base, s.Lessons), "known failures and their mitigations"}} {
		if slices.Contains(reads, other[0]) {
			lines = append(lines, briefLine{"read   " + other[0], "  " + other[1]})
		}
	}
	for _, file := range writes {
		lines = append(lines, briefLine{"write  " + file, ""})
	}
	if step := Next(p, s); step.Ticket != "" && step.Agent == agent {
		lines = append(lines, briefLine{"ticket " + step.Ticket, ""})
	}
	return fit(lines, budget), nil
}

// readsAndWrites returns the paths that an agent reads and writes, and that of a review
// that failed: those of the next step if the agent acts next, otherwise all that it may read and write.
func readsAndWrites(p *contract.Pipeline, s State, agent string) (reads []string, findings string,
	writes []string, known bool) {
	known = slices.Contains(agents(p), agent) || agent == contract.Human
	if step := Next(p, s); step.Agent == agent && agent != p.Planner {
		if step.Writes != "" {
			writes = []string{step.Writes}
		}
		return step.Reads, step.Findings, writes, known
	}
	for _, stage := range p.Stages {
		if out, ok := s.Outputs[stage.Name]; ok &&
			(p.Reads("", agent, stage) || agent == contract.Human || agent == p.Planner) {
			reads = append(reads, s.paths(out)...)
		}
		if stage.Writer == agent {
			writes = append(writes, s.file(stage.Artifact))
		}
	}
	if agent != "" && agent == p.Planner {
		if s.Notes != nil {
			reads = append(reads, s.file(contract.StateFile))
		}
		writes = append(writes, s.file(contract.StateFile))
	}
	if s.Lessons != "" && readsLessons(p, agent) {
		reads = append(reads, path.Join(s.Base, s.Lessons))
	}
	return reads, "", writes, known
}

// agents returns the agents that write, read or are asked in a pipeline, sorted.
func agents(p *contract.Pipeline) []string {
	names := []string{p.Planner}
	for _, stage := range p.Stages {
		names = append(append(names, stage.Writer), stage.Readers...)
		for _, r := range stage.Routes {
			if r.Ask != "" && r.Ask != contract.Human {
				names = append(names, r.Ask)
			}
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// A briefLine is a line of a brief: what the agent does with a file and its path, and
// a text about it, which may be cut.
type briefLine struct{ file, about string }

// fit joins lines in at most budget bytes. Lines are shortened first; then the
// last ones are replaced by their number.
func fit(lines []briefLine, budget int) string {
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

// joined joins lines, each cut to width bytes but never inside its path.
func joined(lines []briefLine, width int) string {
	var b strings.Builder
	for _, l := range lines {
		line := l.file + l.about
		if most := max(width, len(l.file)); len(line) > most {
			for most > len(l.file) && !utf8.RuneStart(line[most]) {
				most--
			}
			line = line[:most]
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
