// Package converse has the command lines of agent programs that write to threads: it
// builds the command that starts or continues one, and reads what the program prints, and
// the command that starts a program for a person, with a first prompt. It runs nothing.
//
// The command never relaxes a permission: parameters are limited to a list for each
// program, which contains none that changes what the agent may do, and no option for
// that is added. An ID or a text that looks like an option is refused.
package converse

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

// A Target is what is written to.
type Target struct {
	Provider string
	ID       string // of the thread; "" to start one
	Source   string // absolute path of its transcript, if ID is set
}

// A Parameter is an option of the agent program.
type Parameter struct{ Name, Value string }

// A Command is a command line. Its first argument is the name of the program.
type Command struct {
	Env  string   // environment variable that names another program
	Args []string // without a shell
	read func(*Reply, jsonl.Value) string
}

// A program is the command line of an agent program.
type program struct {
	name    string
	allowed []string // parameters
	args    func(t Target, text string, parameters []string) []string
	read    func(*Reply, jsonl.Value) string // returns the text of a line of output; nil if it can't be written to
	operand bool                             // the text is an argument, not the value of an option

	first    string // the option whose value is the first prompt of an interactive start, "" if that is an argument
	attaches bool   // an argument @FILE is a part of the first prompt
}

// programs returns the agent programs by provider. The command lines are those that
// the programs describe in their help: Claude Code 2.1, Codex 0.169, Gemini CLI 0.61, Qwen
// Code 0.24, OpenCode 1.18, pi 0.73; those of Copilot CLI, Cursor, Droid and Kilo in their
// documentation of 2026.
func programs() map[string]program {
	return map[string]program{
		"amp": {name: "amp", first: never, args: func(t Target, text string, p []string) []string {
			return join(when(t.ID != "", "threads", "continue", t.ID), []string{"-x", text, "--stream-json"}, p)
		}, read: readClaude},
		"claude": {name: "claude", operand: true, allowed: []string{"model", "max-turns"},
			args: func(t Target, text string, p []string) []string {
				return join([]string{"-p", "--verbose", "--output-format", "stream-json"}, p, when(t.ID != "", "--resume", t.ID),
					[]string{text})
			}, read: readClaude},
		"codex": {name: "codex", operand: true, allowed: []string{"model"},
			args: func(t Target, text string, p []string) []string {
				return join([]string{"exec"}, when(t.ID != "", "resume"), []string{"--json"}, p, when(t.ID != "", t.ID),
					[]string{text})
			}, read: readCodex},
		"copilot": {name: "copilot", allowed: []string{"model"}, args: func(t Target, text string, p []string) []string {
			return join([]string{"-p", text, "--output-format", "json"}, p, when(t.ID != "", "--resume="+t.ID))
		}, read: readCopilot, first: "-i"},
		"cursor": {name: "cursor-agent"},
		"droid":  {name: "droid"},
		"gemini": {name: "gemini", allowed: []string{"model"}, args: func(t Target, text string, p []string) []string {
			return join([]string{"-p", text, "--output-format", "stream-json"}, p, when(t.ID != "", "--resume", t.ID))
		}, read: readGemini, first: "-i"},
		"kilo": {name: "kilo", first: "--prompt"},
		"opencode": {name: "opencode", operand: true, allowed: []string{"model", "title"},
			args: func(t Target, text string, p []string) []string {
				return join([]string{"run", text}, when(t.ID != "", "--session", t.ID), []string{"--format", "json"}, p)
			}, read: readOpenCode, first: "--prompt"},
		"pi": {name: "pi", operand: true, allowed: []string{"model", "provider", "thinking"},
			args: func(t Target, text string, p []string) []string {
				return join(when(t.ID != "", "--session", t.Source), []string{"-p", text, "--mode", "json"}, p)
			}, read: readPi, attaches: true},
		"qwen": {name: "qwen", first: "-i"},
	}
}

// never is the option of a program whose interactive start takes no prompt.
const never = "-"

func join(lists ...[]string) []string { return slices.Concat(lists...) }

func when(condition bool, args ...string) []string {
	if condition {
		return args
	}
	return nil
}

// Providers returns the names of the providers whose programs can write to threads.
func Providers() []string { return selected(func(p program) bool { return p.read != nil }) }

// Starters returns the names of the providers whose programs can be started with a first prompt.
func Starters() []string { return selected(func(p program) bool { return p.first != never }) }

func selected(is func(program) bool) []string {
	all := programs()
	maps.DeleteFunc(all, func(_ string, p program) bool { return !is(p) })
	return slices.Sorted(maps.Keys(all))
}

// Start returns the command that starts a program for a person, with a first prompt that names a
// file. A program that can includes the file in the prompt. The error is Unsupported if there is no
// such program.
func Start(provider, file, prompt string) (Command, error) {
	p, ok := programs()[provider]
	if !ok || p.first == never {
		return Command{}, handoff.E("start", provider, handoff.Unsupported,
			errors.New("no known command line that starts it with a prompt"),
			handoff.Advice("the programs are "+strings.Join(Starters(), ", ")))
	}
	args := join([]string{p.name}, when(p.attaches, "@"+file), when(p.first != "", p.first), []string{prompt})
	return Command{Env: variable(provider), Args: args}, nil
}

// variable returns the environment variable that names the program of a provider.
func variable(provider string) string { return "HANDOFF_" + strings.ToUpper(provider) + "_BIN" }

// New returns the command that sends a text. The error is Unsupported if the program of
// the provider can't do it, Invalid if an argument is not allowed.
func New(t Target, text string, parameters []Parameter) (Command, error) {
	fail := func(kind handoff.Kind, hint, format string, args ...any) (Command, error) {
		return Command{}, handoff.E("write to thread", strings.Trim(t.Provider+"/"+t.ID, "/"), kind,
			fmt.Errorf(format, args...), handoff.Advice(hint))
	}
	p, ok := programs()[t.Provider]
	switch {
	case !ok || p.read == nil:
		return fail(handoff.Unsupported, "threads can be written to with "+strings.Join(Providers(), ", "),
			"no known command line for %s", t.Provider)
	case strings.HasPrefix(t.ID, "-") || strings.HasPrefix(t.Source, "-"):
		return fail(handoff.Invalid, "use the ID of a thread", "an ID must not start with a dash")
	case strings.TrimSpace(text) == "":
		return fail(handoff.Invalid, "write some text", "the text is empty")
	case strings.HasPrefix(text, "-"):
		return fail(handoff.Invalid, "start the text with another character",
			"the text starts with a dash, which the program would take for an option")
	case strings.ContainsRune(text, 0):
		return fail(handoff.Invalid, "remove the null byte", "the text contains a null byte")
	}
	var args []string
	for _, q := range parameters {
		switch {
		case !slices.Contains(p.allowed, q.Name):
			hint := "no parameters are allowed for " + t.Provider
			if p.allowed != nil {
				hint = "the parameters for " + t.Provider + " are " + strings.Join(p.allowed, ", ")
			}
			return fail(handoff.Invalid, hint, "parameter %q is not allowed", q.Name)
		case q.Value == "" || strings.HasPrefix(q.Value, "-") || strings.ContainsRune(q.Value, 0):
			return fail(handoff.Invalid, "give a value that does not start with a dash", "invalid value %q of parameter %q",
				q.Value, q.Name)
		}
		args = append(args, "--"+q.Name, q.Value)
	}
	if p.operand && (len(strings.Fields(text)) == 1 || strings.HasPrefix(text, "@")) {
		text = " " + text // the name of a command of the program, or of a file that it would send, has no space
	}
	args = append([]string{p.name}, p.args(t, text, args)...)
	return Command{Env: variable(t.Provider), Args: args, read: p.read}, nil
}

// A Reply is what the program has printed so far.
type Reply struct {
	ID   string // of the thread, as the program reports it
	said bool   // some text was returned
}

// Read returns the text of one line of the output of c, "" if it has none, and sets the
// ID once it is known. A line that is not JSON has no text.
func (c Command) Read(r *Reply, line []byte) string {
	v := jsonl.Value(line)
	if v.Kind() != jsonl.Object {
		return ""
	}
	text := c.read(r, v)
	r.said = r.said || text != ""
	return text
}

// identify sets the ID from the first of these values that is one.
func (r *Reply) identify(values ...jsonl.Value) {
	for _, v := range values {
		if id := v.Text(); r.ID == "" && id != "" && !strings.HasPrefix(id, "-") {
			r.ID = id
		}
	}
}

func readClaude(r *Reply, v jsonl.Value) (text string) {
	r.identify(v.Get("session_id"))
	switch string(v.Get("type").Raw()) {
	case "assistant":
		for c := v.Get("message", "content").Elements(); c.Next(); {
			if c.Value().Get("type").Is("text") {
				text += c.Value().Get("text").Text()
			}
		}
	case "result":
		if !r.said {
			text = v.Get("result").Text()
		}
	}
	return text
}

func readCodex(r *Reply, v jsonl.Value) string {
	r.identify(v.Get("thread_id"))
	if item := v.Get("item"); v.Get("type").Is("item.completed") && item.Get("type").Is("agent_message") {
		return item.Get("text").Text()
	}
	return ""
}

func readCopilot(r *Reply, v jsonl.Value) string {
	r.identify(v.Get("sessionId"), v.Get("data", "sessionId"))
	switch string(v.Get("type").Raw()) {
	case "assistant.message_delta":
		return v.Get("data", "deltaContent").Text()
	case "assistant.message":
		if !r.said {
			return v.Get("data", "content").Text()
		}
	}
	return ""
}

func readGemini(r *Reply, v jsonl.Value) string {
	r.identify(v.Get("session_id"))
	if v.Get("type").Is("message") && v.Get("role").Is("assistant") {
		return v.Get("content").Text()
	}
	return ""
}

func readOpenCode(r *Reply, v jsonl.Value) string {
	r.identify(v.Get("sessionID"), v.Get("sessionId"))
	if v.Get("type").Is("text") {
		return v.Get("part", "text").Text()
	}
	return ""
}

func readPi(r *Reply, v jsonl.Value) string {
	if v.Get("type").Is("session") {
		r.identify(v.Get("id"))
	}
	if e := v.Get("assistantMessageEvent"); v.Get("type").Is("message_update") && e.Get("type").Is("text_delta") {
		return e.Get("delta").Text()
	}
	return ""
}
