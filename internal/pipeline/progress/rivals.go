package progress

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/pipeline"
)

// sameWork reports whether two attempts are results for one number of a stage, made from
// the same inputs.
func (a Attempt) sameWork(b Attempt) bool { return a.Work != "" && a.Work == b.Work }

// sameSet reports whether two records are files of one attempt. Records of other attempts
// can be between them.
func (a Attempt) sameSet(b Attempt) bool {
	return a.Files != nil && a.Number > 0 && a.Number == b.Number && a.Stage == b.Stage && a.Digest == b.Digest &&
		a.Writer == b.Writer && a.Adopted == b.Adopted && maps.Equal(a.Read, b.Read)
}

// isRival reports whether another writer did the work of an attempt before, by its index.
func (s *State) isRival(i int) bool {
	return slices.ContainsFunc(s.Attempts[:i], func(before Attempt) bool {
		return before.Writer != s.Attempts[i].Writer && before.sameWork(s.Attempts[i])
	})
}

// rivals returns the IDs of the results that compete with the current one of a stage, and of
// that one: the newest of each writer. There are none if all have the same content.
func (s *State) rivals(stage string) (ids []string) {
	at := s.last(stage)
	if at < 0 {
		return nil
	}
	writers, contents := map[string]bool{}, map[string]bool{}
	for _, a := range slices.Backward(s.Attempts) {
		if a.sameWork(s.Attempts[at]) && !writers[a.Writer] {
			writers[a.Writer], contents[a.Digest] = true, true
			ids = append(ids, a.ID)
		}
	}
	if len(contents) < 2 {
		return nil
	}
	return ids
}

// decide returns the step that decides between results, if those of a stage compete.
func (w *walk) decide(stage *contract.Stage) (pipeline.Step, bool) {
	ids := w.s.rivals(stage.Name)
	if len(ids) == 0 {
		return pipeline.Step{}, false
	}
	w.visited = append(w.visited, stage.Name)
	step := pipeline.Step{Agent: contract.Human, Decide: HistoryOf(w.p, *w.s)}
	step.Decide = slices.DeleteFunc(step.Decide, func(e pipeline.Attempt) bool { return !slices.Contains(ids, e.ID) })
	step.Reason = fmt.Sprintf("%s: decide between the results of %d writers that had the same inputs",
		w.s.Outputs[stage.Name].File, len(ids))
	return step, true
}
