package progress

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/pipeline"
)

// Next returns the next step of a run. It is a function of its arguments and is
// defined for every state. It follows outcomes from stage to stage, to the first
// stage whose artifact is missing, violates its contract, is inconsistent or was
// made from something that has been done again since. If an outcome leads back to
// a visited stage, that stage is next, up to its number of retries.
//
// If the artifact of each step is submitted with Put, whatever its content, a step
// without a stage follows after a bounded number of submissions: a stage is
// repeated because an earlier one was done again, or as one of its retries.
func Next(p *contract.Pipeline, s State) pipeline.Step {
	w := walk{p: p, s: &s}
	step := w.next()
	if _, ok := s.Outputs[step.Stage]; s.AcceptStale && !step.Done && (ok || step.Stage == "") {
		s.AcceptStale = false // the run does not go forward
		w = walk{p: p, s: &s}
		step = w.next()
	}
	parallel := w.parallel(step)
	step = w.complete(step)
	step.Parallel = parallel
	return step
}

// parallel returns the steps that a run can take at the same time as another one: those
// of stages that do not need its stage, directly or not, and that it does not need.
func (w *walk) parallel(first pipeline.Step) (steps []pipeline.Step) {
	if first.Done || len(w.visited) == 0 && first.Stage == "" {
		return nil
	}
	at := []string{first.Stage}
	if first.Stage == "" {
		at[0] = w.visited[len(w.visited)-1]
	}
	at = append(at, w.led...)
	for _, stage := range w.p.Stages {
		only := w.p.Ancestors(stage.Name)
		related := slices.ContainsFunc(at, func(name string) bool {
			return only[name] || w.p.Ancestors(name)[stage.Name]
		})
		if related || stage.Detour {
			continue
		}
		branch := walk{p: w.p, s: w.s, only: only}
		step := branch.next()
		known := slices.ContainsFunc(steps, func(s pipeline.Step) bool {
			return s.Stage == step.Stage && s.Reason == step.Reason
		})
		if !step.Done && !known {
			steps = append(steps, branch.complete(step))
		}
	}
	return steps
}

// complete adds to a step what its agent reads and writes.
func (w *walk) complete(step pipeline.Step) pipeline.Step {
	if step.Outdated = w.s.Outdated; step.Reads == nil {
		step.Reads, step.Findings = w.reads(step), w.findings(step)
	}
	if w.s.Lessons != "" && readsLessons(w.p, step.Agent) {
		step.Reads = append(step.Reads, path.Join(w.s.Base, w.s.Lessons))
	}
	if step.Stage != "" {
		stage := w.stage(step.Stage)
		step.Writes, step.Needs, step.Ticket = w.s.file(stage.Artifact), stage.Needs, w.ticket(stage).String()
	}
	return step
}

// next is Next together with what git knows of the merge, so that a run that is done can
// be archived. Kinds: those of the gate.
func (r *Runs) next(ctx context.Context, s State) (pipeline.Step, error) {
	step := Next(r.Pipeline, s)
	if s.Archived && step.Done {
		step.Reason = "every stage is done; the run is archived"
	}
	if s.Archived {
		return step, nil
	}
	if !step.Done {
		return step, nil
	}
	for _, stage := range r.Pipeline.Stages {
		out, ok := s.Outputs[stage.Name]
		if !ok || !stage.Has(contract.CheckMerge) {
			continue
		}
		g, err := r.check(ctx, s, stage, "")
		if errs := g.Errors(); err == nil && len(errs) > 0 {
			w := walk{p: r.Pipeline, s: &s, revise: true}
			w.next()
			return w.complete(w.retry(stage, ownTier, fmt.Sprintf("%s fails its gate: %s%s", out.File, errs[0].Text,
				andMore(len(errs)-1)))), nil
		}
		if err != nil {
			return step, err
		}
	}
	return step, nil
}

// readsLessons reports whether an agent plans: it is the planner or writes plans.
func readsLessons(p *contract.Pipeline, agent string) bool {
	return agent != "" && agent == p.Planner || slices.ContainsFunc(p.Stages, func(s *contract.Stage) bool {
		return s.Has(contract.CheckPlan) && s.Writer == agent
	})
}

// A walk follows outcomes through a run. It visits a stage at most once.
type walk struct {
	p       *contract.Pipeline
	s       *State
	visited []string // stages, in order
	from    string   // the stage whose route led to the current one, "" without a route
	why     string   // the reason of that route
	revise  bool     // the step revises an existing artifact
	led     []string // stages whose routes led one to the next, up to the current one

	only map[string]bool // the stages that it goes through without a route, nil for all
}

func (w *walk) next() pipeline.Step {
	for stage := w.following(nil); stage != nil; {
		if step, stop := w.blocked(stage); stop {
			return step
		}
		out, ok := w.s.Outputs[stage.Name]
		w.visited = append(w.visited, stage.Name)
		wait, waits := w.s.Waits[stage.Name]
		route, routed := match(stage, out, wait.outcome)
		switch {
		case ok && waits && (!routed || (wait.outcome == "" && w.isForward(route))):
			return w.wait(stage, wait)
		case ok && !routed && !w.p.IsPreset() && contract.IsNegative(out.Report.Value):
			return w.ask(stage, contract.Route{Ask: contract.Human, Reason: "its outcome is " +
				contract.Outcome(out.Report.Value)})
		case !ok || !routed:
			w.from, w.why, w.led = "", "", nil
			stage = w.following(stage)
		case route.Ask != "":
			return w.ask(stage, route)
		case slices.Contains(w.visited, route.To):
			w.led = append(w.led, stage.Name)
			return w.repeat(stage, route)
		case stage.Has(contract.CheckReview) && w.exhausted(stage, ownTier) > 0:
			return w.ask(stage, route)
		default:
			w.from, w.why = stage.Name, stage.Artifact+": "+reason(route)
			w.led = append(w.led, stage.Name)
			stage = w.stage(route.To)
		}
	}
	return pipeline.Step{Done: true, Reason: "every stage is done; the run can be archived"}
}

// isForward reports whether a route leads to a stage that was not visited.
func (w *walk) isForward(r contract.Route) bool {
	return r.Ask == "" && !slices.Contains(w.visited, r.To)
}

// blocked returns the step that writes a stage's artifact, if it is missing or
// can't be built on.
func (w *walk) blocked(stage *contract.Stage) (pipeline.Step, bool) {
	out, ok := w.s.Outputs[stage.Name]
	if !ok {
		if stage.Optional && !stage.Detour || stage.Skip != "" && stage.Skip == w.s.Complexity {
			return pipeline.Step{}, false
		}
		return w.write(stage, missing(stage, w.why)), true
	}
	if errs := out.Report.Errors; len(errs) > 0 {
		w.revise = true
		return w.retry(stage, allTiers, fmt.Sprintf("%s violates its contract: %s%s", out.File, errs[0],
			andMore(len(errs)-1))), true
	}
	for _, input := range w.inputs(stage) {
		if w.s.newer(input, stage.Name) {
			return w.write(stage, w.changed(stage, input)), true
		}
	}
	if step, rivals := w.decide(stage); rivals {
		return step, true
	}
	if w.from != "" && w.s.newer(w.from, stage.Name) {
		// A route may lead to any stage, so this one has to count as a retry.
		return w.retry(stage, ownTier, w.changed(stage, w.from)), true
	}
	if errs := gate.Check(w.p, stage.Name, w.s.Artifacts, nil).Errors(); len(errs) > 0 {
		w.revise = true
		return w.retry(stage, ownTier, fmt.Sprintf("%s fails its gate: %s%s", out.File, errs[0].Text, andMore(len(errs)-1))),
			true
	}
	return pipeline.Step{}, false
}

// changed states that an input of a stage changed since, or why a newer artifact leads to the
// stage. After a retry the artifact is not stale: what it was made from was replaced because
// of it.
func (w *walk) changed(stage *contract.Stage, input string) string {
	if w.from != "" && w.s.newer(w.from, stage.Name) {
		return w.why
	}
	file, from := w.s.Outputs[stage.Name].File, w.s.Outputs[input].File
	if Stale(w.p, *w.s)[stage.Name] == "" {
		return from + " changed since " + file
	}
	return fmt.Sprintf("%s is stale: %s changed since", file, from)
}

func missing(stage *contract.Stage, why string) string {
	if why != "" {
		return why
	}
	return stage.Artifact + " does not exist yet"
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
	if outcome := contract.Text(r.When[contract.OutcomeField]); outcome != "" {
		return "its outcome is " + outcome
	}
	return "leads to " + r.To + r.Ask
}

// match returns the route of a stage for its artifact, or for another outcome.
func match(stage *contract.Stage, out gate.Output, outcome string) (contract.Route, bool) {
	value := out.Report.Value
	if outcome != "" {
		value = map[string]any{contract.OutcomeField: outcome}
	}
	for _, r := range stage.Routes {
		if r.Matches(value) {
			return r, true
		}
	}
	return contract.Route{}, false
}

func (w *walk) write(stage *contract.Stage, why string) pipeline.Step {
	return pipeline.Step{Stage: stage.Name, Agent: stage.Writer, Reason: why}
}

// retry is write, up to the number of retries.
func (w *walk) retry(stage *contract.Stage, limit retryLimit, why string) pipeline.Step {
	if n := w.exhausted(stage, limit); n > 0 {
		w.visited = append(w.visited, stage.Name)
		return pipeline.Step{Agent: contract.Human, Reason: fmt.Sprintf("%s; %s was done %d times", why, stage.Name, n)}
	}
	return w.write(stage, why)
}

// A retryLimit says which attempts use up the retries of a stage. A stage has
// its retries in each tier.
type retryLimit int

const (
	ownTier  retryLimit = iota // those in the tier of its artifact, or all in all tiers
	allTiers                   // all in all tiers: an escalation leaves the tier
)

// exhausted returns how often a stage was done if its retries are used up,
// otherwise 0.
func (w *walk) exhausted(stage *contract.Stage, limit retryLimit) int {
	all, onTier := w.s.countAttempts(stage.Name, contract.Text(w.s.Outputs[stage.Name].Report.Value["tier_used"]))
	switch {
	case limit == ownTier && onTier > stage.Retries:
		return onTier
	case all/len(contract.Tiers) > stage.Retries:
		return all
	}
	return 0
}

// ask returns the step of an agent that writes no artifact.
func (w *walk) ask(from *contract.Stage, r contract.Route) pipeline.Step {
	why := w.s.Outputs[from.Name].File + ": " + reason(r)
	if n := w.exhausted(from, ownTier); r.Ask != contract.Human && n > 0 {
		return pipeline.Step{Agent: contract.Human, Reason: fmt.Sprintf("%s; %s was done %d times", why, from.Name, n)}
	}
	return pipeline.Step{Agent: r.Ask, Reason: why}
}

// wait returns the step that the gate of a stage waits for.
func (w *walk) wait(stage *contract.Stage, wait wait) pipeline.Step {
	if wait.outcome != "" {
		w.revise = true
		return w.retry(stage, ownTier, wait.reason)
	}
	return pipeline.Step{Agent: wait.agent, Reason: wait.reason, Reads: w.s.paths(w.s.Outputs[stage.Name])}
}

// repeat returns the step that does a stage again.
func (w *walk) repeat(from *contract.Stage, r contract.Route) pipeline.Step {
	target := w.stage(r.To)
	why := w.s.Outputs[from.Name].File + ": " + reason(r)
	step := w.write(target, why)
	limit := ownTier
	if r.Escalate {
		limit = allTiers
	}
	if n := w.exhausted(target, limit); n > 0 {
		return pipeline.Step{Agent: contract.Human, Reason: fmt.Sprintf("%s, but %s was done %d times", why, target.Name, n)}
	}
	if r.Escalate {
		tier := contract.Text(w.s.Outputs[target.Name].Report.Value["tier_used"])
		if step.Tier = higher(tier); step.Tier == "" {
			return pipeline.Step{Agent: contract.Human, Reason: why + ", and " + tier + " is the highest tier"}
		}
		return step
	}
	w.revise = len(w.inputs(target)) == 0
	out, ok := w.s.Outputs[target.Name]
	if ok && w.s.last(target.Name) < 0 {
		next := "nothing"
		if stage := w.following(target); stage != nil {
			next = stage.Name
		}
		step.Notes = []string{fmt.Sprintf("the order of %s and %s is unknown; if %s is newer, %s is next",
			out.File, w.s.Outputs[from.Name].File, out.File, next)}
	}
	return step
}

// tierOf returns the index of a tier. Work without a tier was done in the lowest.
func tierOf(tier string) int { return max(0, slices.Index(contract.Tiers, tier)) }

// higher returns the tier above, "" above the highest.
func higher(tier string) string {
	at := tierOf(tier)
	if at+1 == len(contract.Tiers) {
		return ""
	}
	return contract.Tiers[at+1]
}

func (w *walk) stage(name string) *contract.Stage {
	at := slices.IndexFunc(w.p.Stages, func(s *contract.Stage) bool { return s.Name == name })
	return w.p.Stages[at] // Load checked that the targets of routes exist
}

// following returns the stage that follows without a route, nil after the last.
func (w *walk) following(stage *contract.Stage) *contract.Stage {
	at := slices.Index(w.p.Stages, stage)
	for _, s := range w.p.Stages[at+1:] {
		if !s.Detour && (w.only == nil || w.only[s.Name]) {
			return s
		}
	}
	return nil
}

// inputs returns the stages that a stage's artifact is made from: those that it needs. In
// place of one that was left out are those that this one needs.
func (w *walk) inputs(stage *contract.Stage) []string {
	from := map[string]bool{}
	var add func(stage *contract.Stage)
	add = func(stage *contract.Stage) {
		for _, need := range stage.Needs {
			_, done := w.s.Outputs[need]
			if from[need] = done; !done && !w.stage(need).Detour {
				add(w.stage(need))
			}
		}
	}
	add(stage)
	var names []string
	for _, s := range w.p.Stages {
		if from[s.Name] {
			names = append(names, s.Name)
		}
	}
	return names
}

// findings returns the file of a review that led to a step, if its agent is not one of
// the review's readers.
func (w *walk) findings(step pipeline.Step) string {
	for _, name := range w.led {
		out, ok := w.s.Outputs[name]
		if stage := w.stage(name); ok && stage.Has(contract.CheckReview) && step.Stage != "" && name != step.Stage &&
			!slices.Contains(stage.Readers, step.Agent) {
			return w.s.file(out.File)
		}
	}
	return ""
}

// reads returns the files that the agent of a step starts from: those of the
// visited stages that it reads, the one whose outcome led to the step, and its
// own if it revises that.
func (w *walk) reads(step pipeline.Step) []string {
	files := []string{}
	for i, name := range w.visited {
		out, ok := w.s.Outputs[name]
		reader := w.p.Reads(step.Stage, step.Agent, w.stage(name)) || step.Agent == contract.Human || step.Stage == "" &&
			!step.Done
		led := i == len(w.visited)-1 && (w.why != "" || slices.Contains(w.visited, step.Stage))
		if ok && name != step.Stage && (reader || led) && w.s.file(out.File) != w.findings(step) {
			files = append(files, w.s.paths(out)...)
		}
	}
	if out, ok := w.s.Outputs[step.Stage]; ok && w.revise {
		files = append(files, w.s.paths(out)...)
	}
	return files
}
