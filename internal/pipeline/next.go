package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// A Step is what comes next in a run.
type Step struct {
	Stage  string   `json:"stage,omitempty"`  // "" where nothing is to be written
	Agent  string   `json:"agent,omitempty"`  // who acts; "human" is a person, "" nobody
	Reads  []string `json:"reads"`            // paths below the workspace
	Writes string   `json:"writes,omitempty"` // the path to write
	Reason string   `json:"reason"`
	Tier   string   `json:"tier,omitempty"` // the tier to work on, where the last one gave up
	Done   bool     `json:"done"`
	Notes  []string `json:"notes,omitempty"` // what the folder can't tell
}

// String is the step in lines, a word and what it says.
func (s Step) String() string {
	agent := s.Agent
	if s.Done {
		agent = "nobody: the run is done"
	}
	var b strings.Builder
	for _, line := range [][2]string{
		{"agent", agent}, {"stage", s.Stage}, {"tier", s.Tier}, {"reads", strings.Join(s.Reads, " ")},
		{"writes", s.Writes}, {"why", s.Reason}, {"note", strings.Join(s.Notes, "; ")},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%-6s  %s\n", line[0], strings.ReplaceAll(line[1], "\n", " "))
		}
	}
	return b.String()
}

// Next says what comes next. It is a function of its arguments and has an answer
// for every state: the first stage, in the order in which outcomes lead from one
// to the next, whose artifact is missing, breaks its contract, contradicts
// itself, or was made from something that changed since; and where the way comes
// back to a stage it has been to, that stage again, up to its number of retries.
func Next(p *contract.Pipeline, s State) Step {
	w := walk{p: p, s: &s}
	step := w.next()
	step.Reads = w.reads(step)
	if step.Stage != "" {
		step.Writes = s.file(w.stage(step.Stage).Artifact)
	}
	return step
}

// A walk follows outcomes through a run. It visits a stage at most once.
type walk struct {
	p      *contract.Pipeline
	s      *State
	been   []string // the stages visited, in order
	why    string   // the reason of the route taken last
	revise bool     // the step mends what is there
}

func (w *walk) next() Step {
	for stage := w.after(nil); stage != nil; {
		if step, stop := w.unfit(stage); stop {
			return step
		}
		out, there := w.s.Outputs[stage.Name]
		w.been = append(w.been, stage.Name)
		route, routed := match(stage, out)
		switch {
		case !there || !routed:
			w.why = ""
			stage = w.after(stage)
		case route.Ask != "":
			return w.ask(stage, route)
		case slices.Contains(w.been, route.To):
			return w.again(stage, route)
		default:
			w.why = stage.Artifact + ": " + reason(route)
			stage = w.stage(route.To)
		}
	}
	return Step{Done: true, Reason: "every stage is done; the run can be archived"}
}

// unfit returns the step that writes a stage's artifact, where it isn't there or
// can't be built upon.
func (w *walk) unfit(stage *contract.Stage) (Step, bool) {
	out, there := w.s.Outputs[stage.Name]
	if !there {
		if stage.Optional && !stage.Detour || stage.Skip != "" && stage.Skip == w.s.Complexity {
			return Step{}, false
		}
		return w.write(stage, missing(stage, w.why)), true
	}
	if errs := out.Report.Errors; len(errs) > 0 {
		w.revise = true
		return w.write(stage, fmt.Sprintf("%s breaks its contract: %s%s", out.File, errs[0], andMore(len(errs)-1))), true
	}
	for _, input := range w.inputs(stage) {
		if w.s.newer(input, stage.Name) {
			return w.write(stage, fmt.Sprintf("%s is stale: %s changed after it", out.File, w.s.Outputs[input].File)), true
		}
	}
	if errs := Gate(w.p, stage.Name, *w.s, nil).Errors(); len(errs) > 0 {
		w.revise = true
		return w.write(stage, fmt.Sprintf("%s can't be built upon: %s%s", out.File, errs[0].Text, andMore(len(errs)-1))), true
	}
	return Step{}, false
}

func missing(stage *contract.Stage, why string) string {
	if why != "" {
		return why
	}
	return stage.Artifact + " is not there yet"
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}

func reason(r contract.Route) string {
	if r.Reason != "" {
		return r.Reason
	}
	return "leads to " + r.To + r.Ask
}

func match(stage *contract.Stage, out Output) (contract.Route, bool) {
	for _, r := range stage.Routes {
		if r.Matches(out.Report.Value) {
			return r, true
		}
	}
	return contract.Route{}, false
}

func (w *walk) write(stage *contract.Stage, why string) Step {
	return Step{Stage: stage.Name, Agent: stage.Writer, Reason: why}
}

// ask is the step of an agent that writes no artifact.
func (w *walk) ask(from *contract.Stage, r contract.Route) Step {
	why := w.s.Outputs[from.Name].File + ": " + reason(r)
	tier := text(w.s.Outputs[from.Name].Report.Value["tier_used"])
	if n := w.s.attempts(from.Name, tier); r.Ask != contract.Human && n > from.Retries {
		return Step{Agent: contract.Human, Reason: fmt.Sprintf("%s; %s has been done %d times", why, from.Name, n)}
	}
	return Step{Agent: r.Ask, Reason: why}
}

// again is the step that does a stage once more.
func (w *walk) again(from *contract.Stage, r contract.Route) Step {
	target := w.stage(r.To)
	why := w.s.Outputs[from.Name].File + ": " + reason(r)
	step := w.write(target, why)
	tier := text(w.s.Outputs[target.Name].Report.Value["tier_used"])
	if r.Escalate {
		if step.Tier = higher(tier); step.Tier == "" {
			return Step{Agent: contract.Human, Reason: why + ", and there is none above " + tier}
		}
		return step
	}
	if n := w.s.attempts(target.Name, tier); n > target.Retries {
		return Step{Agent: contract.Human, Reason: fmt.Sprintf("%s, but %s has been done %d times", why, target.Name, n)}
	}
	w.revise = len(w.inputs(target)) == 0
	out, there := w.s.Outputs[target.Name]
	if there && w.s.last(target.Name) < 0 {
		step.Notes = []string{fmt.Sprintf("the folder doesn't tell whether %s was written after %s; if it was, %s follows",
			out.File, w.s.Outputs[from.Name].File, w.follower(target))}
	}
	return step
}

func (w *walk) follower(stage *contract.Stage) string {
	if next := w.after(stage); next != nil {
		return next.Name
	}
	return "nothing"
}

// tiers are the tiers of models, lowest first.
var tiers = []string{"fast", "standard", "high"}

// higher is the tier above, "" above the highest. Work that names no tier was
// done on the lowest.
func higher(tier string) string {
	at := max(0, slices.Index(tiers, tier))
	if at+1 == len(tiers) {
		return ""
	}
	return tiers[at+1]
}

func (w *walk) stage(name string) *contract.Stage {
	at := slices.IndexFunc(w.p.Stages, func(s *contract.Stage) bool { return s.Name == name })
	return w.p.Stages[at] // a loaded pipeline's routes lead to its stages
}

// after is the stage that follows without a route, nil after the last.
func (w *walk) after(stage *contract.Stage) *contract.Stage {
	at := slices.Index(w.p.Stages, stage)
	for _, s := range w.p.Stages[at+1:] {
		if !s.Detour {
			return s
		}
	}
	return nil
}

// inputs are the stages before the given one from which its artifact is made:
// those that its writer reads, and the one that leads to it.
func (w *walk) inputs(stage *contract.Stage) []string {
	var names []string
	before := ""
	for _, s := range w.p.Stages[:slices.Index(w.p.Stages, stage)] {
		if _, there := w.s.Outputs[s.Name]; !there {
			continue
		}
		if slices.Contains(s.Readers, stage.Writer) {
			names = append(names, s.Name)
		}
		if !s.Detour {
			before = s.Name
		}
	}
	if before != "" && !slices.Contains(names, before) {
		names = append(names, before)
	}
	return names
}

// reads are the files that the agent of a step starts from: those of the stages
// on the way whose readers it is among, the one that led to it, and its own
// where it mends that.
func (w *walk) reads(step Step) []string {
	files := []string{}
	for i, name := range w.been {
		out, there := w.s.Outputs[name]
		reader := slices.Contains(w.stage(name).Readers, step.Agent) || step.Agent == contract.Human || step.Stage == "" && !step.Done
		own := name == step.Stage
		if there && !own && (reader || i == len(w.been)-1 && w.why != "" || w.led(i, step)) {
			files = append(files, w.s.file(out.File))
		}
	}
	if out, there := w.s.Outputs[step.Stage]; there && w.revise {
		files = append(files, w.s.file(out.File))
	}
	return files
}

// led reports whether the i-th stage visited is the one whose route led back to
// the step's stage.
func (w *walk) led(i int, step Step) bool {
	return i == len(w.been)-1 && slices.Contains(w.been, step.Stage)
}
