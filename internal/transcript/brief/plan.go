package brief

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// maxSteps is how many steps of a plan are kept.
const maxSteps = 200

// A step is a part of a plan.
type step struct {
	id     string // if the program changes steps one by one
	text   string
	status string
}

func (s step) done() bool {
	return slices.Contains([]string{"completed", "done", "complete", "cancelled"}, strings.ToLower(s.status))
}

// A plan is the plan of a thread and its to-do list, each as last written.
type plan struct {
	steps   []step
	message int     // that wrote the steps
	text    passage // what was proposed to the person
}

// add adds a call that writes a plan. The tools are TodoWrite, TaskCreate and TaskUpdate of Claude
// Code, update_plan of Codex, write_todos of Gemini CLI, and those of others with names and inputs
// of the same form.
func (p *plan) add(c thread.Call, message int) {
	if c.Failed {
		return
	}
	name := strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(c.Name, "_", ""), "-", ""))
	input := jsonl.Value(c.Input)
	switch {
	case strings.HasSuffix(name, "exitplanmode"):
		if text := input.Get("plan").Text(); strings.TrimSpace(text) != "" {
			p.text = passage{message, cut(text, maxText, false)}
		}
	case strings.HasSuffix(name, "taskcreate"):
		p.create(c, message)
	case strings.HasSuffix(name, "taskupdate"):
		p.update(input, message)
	case strings.Contains(name, "todo"), strings.HasSuffix(name, "updateplan"):
		if steps, ok := stepsIn(input); ok {
			p.steps, p.message = steps, message
		}
	}
}

// stepsIn returns the steps in the input of a call. Some tools take a text of several lines.
func stepsIn(input jsonl.Value) (steps []step, ok bool) {
	for _, name := range []string{"todos", "plan", "items"} {
		list := input.Get(name)
		switch list.Kind() {
		case jsonl.Array:
			for c := list.Elements(); c.Next(); {
				steps = append(steps, stepOf(c.Value(), "content", "step", "description", "title", "subject", "text"))
			}
		case jsonl.String:
			for line := range strings.Lines(cut(list.Text(), maxText, false)) {
				steps = append(steps, stepOfLine(strings.TrimSpace(line)))
			}
		default:
			continue
		}
		steps = slices.DeleteFunc(steps, func(s step) bool { return s.text == "" })
		return steps[:min(len(steps), maxSteps)], true
	}
	return nil, false
}

// stepOf returns the step in a value, with the first of some fields that has a text.
func stepOf(v jsonl.Value, fields ...string) step {
	s := step{id: v.Get("id").Text(), status: v.Get("status").Text()}
	for _, name := range fields {
		s.text = cmp.Or(s.text, cut(v.Get(name).Text(), maxText, false))
	}
	return s
}

// stepOfLine returns a line of a list in Markdown.
func stepOfLine(line string) step {
	text := strings.TrimLeft(line, "-*0123456789. ")
	if mark, rest, ok := strings.Cut(text, "] "); ok && strings.HasPrefix(mark, "[") {
		switch mark = strings.ToLower(mark[1:]); mark {
		case "x", "completed":
			return step{text: rest, status: "completed"}
		case " ", "pending":
			return step{text: rest, status: "pending"}
		case "in_progress":
			return step{text: rest, status: mark}
		}
	}
	return step{text: text}
}

// create adds a step, whose ID is in the output of the call.
func (p *plan) create(c thread.Call, message int) {
	s := stepOf(jsonl.Value(c.Input), "subject")
	if s.text == "" || len(p.steps) == maxSteps {
		return
	}
	s.id = strconv.Itoa(len(p.steps) + 1)
	if m := regexp.MustCompile(`#(\d{1,9})\b`).FindStringSubmatch(c.Output); m != nil {
		s.id = m[1]
	}
	p.steps, p.message = append(p.steps, s), message
}

// update changes or removes a step.
func (p *plan) update(input jsonl.Value, message int) {
	id, status := input.Get("taskId").Text(), input.Get("status").Text()
	i := slices.IndexFunc(p.steps, func(s step) bool { return s.id == id })
	if i < 0 || id == "" {
		return
	}
	p.message = message
	s := &p.steps[i]
	s.status, s.text = cmp.Or(status, s.status), cmp.Or(cut(input.Get("subject").Text(), maxText, false), s.text)
	if status == "deleted" {
		p.steps = slices.Delete(p.steps, i, i+1)
	}
}
