package brief

import (
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
			p.text = passage{message, clip(text)}
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
			for c := list.Elements(); c.Next() && len(steps) < maxSteps; {
				if s := stepOf(c.Value()); s.text != "" {
					steps = append(steps, s)
				}
			}
			return steps, true
		case jsonl.String:
			for line := range strings.Lines(clip(list.Text())) {
				if line = strings.TrimSpace(line); line != "" && len(steps) < maxSteps {
					steps = append(steps, stepOfLine(line))
				}
			}
			return steps, true
		}
	}
	return nil, false
}

func stepOf(v jsonl.Value) step {
	s := step{id: v.Get("id").Text(), status: v.Get("status").Text()}
	for _, name := range []string{"content", "step", "description", "title", "subject", "text"} {
		if s.text == "" {
			s.text = clip(v.Get(name).Text())
		}
	}
	return s
}

// stepOfLine returns a line of a list in Markdown.
func stepOfLine(line string) step {
	text := strings.TrimLeft(line, "-*0123456789. ")
	for mark, status := range map[string]string{"[x] ": "completed", "[X] ": "completed", "[completed] ": "completed",
		"[ ] ": "pending", "[pending] ": "pending", "[in_progress] ": "in_progress"} {
		if rest, ok := strings.CutPrefix(text, mark); ok {
			return step{text: rest, status: status}
		}
	}
	return step{text: text}
}

// create adds a step, whose ID is in the output of the call.
func (p *plan) create(c thread.Call, message int) {
	s := stepOf(jsonl.Value(c.Input))
	if s.text = clip(jsonl.Value(c.Input).Get("subject").Text()); s.text == "" || len(p.steps) == maxSteps {
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
	if p.message = message; status == "deleted" {
		p.steps = slices.Delete(p.steps, i, i+1)
		return
	}
	if status != "" {
		p.steps[i].status = status
	}
	if text := clip(input.Get("subject").Text()); text != "" {
		p.steps[i].text = text
	}
}
