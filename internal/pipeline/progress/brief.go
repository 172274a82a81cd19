package progress

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/pipeline"
)

// A Wording words a hint for an agent.
type Wording = func(handoff.Hint) string

// MinBrief is the smallest budget of Brief, in bytes.
const MinBrief = 200

// Brief returns a prompt for an agent: what it does and why, the paths that it reads, each
// with a one-line summary, the path that it writes, its ticket, and how to submit the result.
// An agent that does not act next gets the paths only. It contains no artifact. To fit the
// budget, lines are shortened first, then the files that it reads are replaced by their
// number, and then the last lines. Its kind is Invalid for an agent that is not in the
// pipeline and for a budget smaller than MinBrief. Hint words an action as the agent can take
// it; without it there are no such actions.
func Brief(p *contract.Pipeline, s State, agent string, budget int, hint Wording) (string, error) {
	refuse := func(reason, hint string) (string, error) {
		return "", handoff.E("brief", agent, handoff.Invalid, fmt.Errorf("%s", reason), handoff.Advice(hint))
	}
	if budget < MinBrief {
		return refuse(fmt.Sprintf("%d bytes are too few for a brief", budget), fmt.Sprintf("use at least %d bytes", MinBrief))
	}
	step := stepOf(Next(p, s), agent)
	reads, findings, writes, known := readsAndWrites(p, s, agent, step)
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
	var rest []briefLine
	for _, file := range writes {
		rest = append(rest, briefLine{"write  " + file, ""})
	}
	if step.Ticket != "" {
		rest = append(rest, briefLine{"ticket " + step.Ticket, ""})
	}
	head, more := assignment(p, s, agent, step, hint)
	return fit(head, lines, append(rest, more...), budget), nil
}

// stepOf returns the step of an agent among those that can be taken now; without one, a
// step without an agent and a stage.
func stepOf(next pipeline.Step, agent string) pipeline.Step {
	for _, step := range append([]pipeline.Step{next}, next.Parallel...) {
		if step.Agent == agent {
			return step
		}
	}
	return pipeline.Step{}
}

// assignment returns what an agent does in a step and why, and how it submits the result.
func assignment(p *contract.Pipeline, s State, agent string, step pipeline.Step, hint Wording,
) (head, tail []briefLine) {
	say := func(lines *[]briefLine, format string, args ...any) {
		*lines = append(*lines, briefLine{"", fmt.Sprintf(format, args...)})
	}
	if step.Stage == "" || hint == nil {
		return nil, nil
	}
	stage, err := p.Stage(step.Stage)
	if err != nil {
		return nil, nil // a step names a stage of its pipeline: unreachable
	}
	run := func(h handoff.Hint) {
		text := hint(h)
		say(&tail, "%s%s", strings.ToUpper(text[:1]), text[1:])
	}
	say(&head, "You are %s. Do the stage %s of run %s: %s.", agent, stage.Name, s.Issue, step.Reason)
	if stage.Purpose != "" {
		say(&head, "The result is %s.", stage.Purpose)
	}
	switch {
	case stage.IsJSON():
		run(handoff.Suggest("see the schema of the file", handoff.ActionRunSchema, stage.Name, s.Issue))
	case len(stage.Headings) > 0:
		say(&tail, "The file has the headings %s.", strings.Join(stage.Headings, ", "))
	}
	for _, need := range stage.Requires {
		h := handoff.Suggest("verify it before you submit it", handoff.ActionAttest, need.Verified...)
		if need.Dir != "" {
			h.Text += ", in " + need.Dir
		}
		run(h)
	}
	put := []string{s.Issue, stage.Name, "FILE", agent, "TICKET"}
	if stage.IsPattern() {
		put[2] = "DIRECTORY"
	}
	run(handoff.Suggest("submit it", handoff.ActionSubmitAs, put...))
	for _, r := range stage.Routes {
		outcome, to := contract.Text(r.When[contract.OutcomeField]), cmp.Or(r.To, r.Ask)
		switch {
		case outcome == "" || len(r.When) > 1:
		case stage.IsJSON():
			say(&tail, "The outcome %s leads to %s.", outcome, to)
		default:
			run(handoff.Suggest("submit it with the outcome "+outcome+", which leads to "+to,
				handoff.ActionSubmitWith, append(put, outcome)...))
		}
	}
	return head, tail
}

// readsAndWrites returns the paths that an agent reads and writes, and that of a review
// that failed: those of the next step if the agent acts next, otherwise all that it may read and write.
func readsAndWrites(p *contract.Pipeline, s State, agent string, step pipeline.Step) (reads []string, findings string,
	writes []string, known bool) {
	known = slices.Contains(agents(p), agent) || agent == contract.Human
	if step.Agent == agent && agent != "" && agent != p.Planner {
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

// fit joins lines in at most budget bytes. The lines in the middle are shortened first; then
// the last ones of them, and then the last ones of all, are replaced by their number.
func fit(head, middle, tail []briefLine, budget int) string {
	before, after := joined(head, budget), joined(tail, budget)
	for width := budget; width >= 60; width = width * 3 / 4 {
		if text := before + joined(middle, width) + after; len(text) <= budget {
			return text
		}
	}
	for keep := len(middle) - 1; keep >= 0; keep-- {
		rest := fmt.Sprintf("and %d more\n", len(middle)-keep)
		if text := before + joined(middle[:keep], budget) + rest + after; len(text) <= budget {
			return text
		}
	}
	all := slices.Concat(head, middle, tail)
	for keep := len(all) - 1; keep >= 0; keep-- {
		rest := fmt.Sprintf("and %d more\n", len(all)-keep)
		if text := joined(all[:keep], budget) + rest; len(text) <= budget {
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
