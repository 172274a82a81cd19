package config

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
)

// A harness describes the variables by which an agent program identifies itself
// to the commands that it runs.
type harness struct {
	name     string
	provider string            // in thread URIs
	sign     [2]string         // a variable and its value; "" is any value
	ids      []string          // variables that hold its thread's ID, best first
	root     string            // a variable with the ID of the session that started the thread, and that it is a run of
	parent   string            // a variable with the ID of the session that started this one
	call     string            // a variable with the ID of the tool call
	more     map[string]string // other IDs and their variables
	agent    string            // a variable with the ID of a subagent of the thread
	pid      string            // a variable with the ID of its process
	fork     string            // a variable of a fork that sets sign too, but not pid
	program  string            // the name of its program, if there is no such variable
}

// harnesses are in order of priority. A process inherits the variables of every
// harness above it; where the processes do not show which one is the nearest,
// the first in this table counts. Claude Code is last, because its variable is
// the one that is inherited most often. (Codex documents CODEX_THREAD_ID, Claude
// Code CLAUDE_CODE_SESSION_ID since 2.1.132; the others as seen in their shells in
// 2026.)
var harnesses = []harness{
	{name: "codex", provider: "codex", ids: []string{"CODEX_THREAD_ID"}, root: "CODEX_SESSION_ID",
		call: "CODEX_TOOL_CALL_ID", program: "codex"},
	{name: "amp", provider: "amp", sign: [2]string{"AGENT", "amp"},
		ids: []string{"AMP_CURRENT_THREAD_ID", "AGENT_THREAD_ID"}, program: "amp"},
	{name: "gemini-cli", provider: "gemini", sign: [2]string{"GEMINI_CLI", "1"}, ids: []string{"GEMINI_SESSION_ID"},
		program: "gemini"},
	{name: "kilo", provider: "kilo", sign: [2]string{"KILO", "1"}, ids: []string{"KILO_SESSION_ID"},
		parent: "KILO_PARENT_SESSION_ID", pid: "KILO_PID"},
	{name: "opencode", provider: "opencode", sign: [2]string{"OPENCODE", "1"}, ids: []string{"OPENCODE_SESSION_ID"},
		parent: "OPENCODE_PARENT_SESSION_ID", pid: "OPENCODE_PID", fork: "KILO"},
	{name: "pi", provider: "pi", sign: [2]string{"PI_CODING_AGENT", "true"}, ids: []string{"PI_SESSION_ID"},
		program: "pi"},
	{name: "cursor", provider: "cursor", ids: []string{"CURSOR_CONVERSATION_ID"}, program: "cursor-agent"},
	{name: "qwen-code", provider: "qwen", sign: [2]string{"QWEN_CODE", "1"}, ids: []string{"QWEN_CODE_SESSION_ID"},
		more: map[string]string{"prompt": "QWEN_CODE_PROMPT_ID"}, agent: "QWEN_CODE_AGENT_ID", pid: "QWEN_CODE_LAUNCHER_PID"},
	{name: "copilot-cli", provider: "copilot", sign: [2]string{"COPILOT_CLI", "1"},
		ids: []string{"COPILOT_AGENT_SESSION_ID"}, program: "copilot"},
	{name: "kimi", provider: "kimi", ids: []string{"KIMI_SESSION_ID"}, program: "kimi-code"},
	{name: "cline", provider: "cline", ids: []string{"CLINE_SESSION_ID"}, program: "cline"},
	{name: "droid", provider: "droid", sign: [2]string{"FACTORY_EXEC_TARGET_AUTONOMY", ""},
		ids: []string{"DROID_SESSION_ID"}, program: "droid"},
	{name: "claude-code", provider: "claude", sign: [2]string{"CLAUDECODE", "1"}, ids: []string{"CLAUDE_CODE_SESSION_ID"},
		pid: "CLAUDE_PID"},
}

// An Ancestor is a process that this process descends from.
type Ancestor struct {
	PID   int
	Names []string // of its program: of the file, and of the script that it interprets
}

// Identity returns the identities in the environment, best source first, for
// handoff.Identify: handoff's own variables, then the variables of the harness
// that runs the command, then those that were inherited, then those of a CI
// system. ancestors returns the processes that started this one, the nearest
// first; it is called only if several harnesses are in the environment.
func Identity(getenv func(string) string, ancestors func() []Ancestor) []handoff.Producer {
	known := []handoff.Producer{}
	runID, _ := run(getenv)
	own := handoff.Producer{
		Harness: getenv("HANDOFF_HARNESS"), Agent: getenv("HANDOFF_AGENT"), Session: getenv("HANDOFF_SESSION"),
		RunID: runID, TaskID: getenv("HANDOFF_TASK"), OperationID: getenv("HANDOFF_OPERATION"),
		Thread: getenv("HANDOFF_THREAD"), ParentWorkID: getenv("HANDOFF_PARENT_WORK"),
	}
	if handoff.CheckThread(own.Thread) != nil {
		own.Thread = "" // Warnings reports it
	}
	if own.RunID == own.Session {
		own.RunID = "" // pi's variables name a session that has no run as its own run
	}
	if around := getenv("HANDOFF_RUN"); around != "" && runID != around {
		own.ParentWorkID = around // inside it, pi's variables name another
	}
	if own.ParentWorkID == cmp.Or(own.OperationID, own.TaskID, own.RunID, own.Session) {
		own.ParentWorkID = "" // a task that spans both works
	}
	for _, value := range []string{own.Harness, own.Agent, own.Session, own.RunID, own.TaskID, own.OperationID,
		own.Thread} {
		if value != "" {
			own.Source = handoff.FromEnvironment
		}
	}
	if own.Source != "" {
		known = append(known, own)
	}
	source := handoff.FromHarness
	for _, h := range observed(getenv, ancestors) {
		p, _ := h.observe(getenv)
		p.Source = source
		known = append(known, p)
		source = handoff.FromInherited
	}
	if ci, ok := continuous(getenv); ok {
		if slices.ContainsFunc(known, func(p handoff.Producer) bool { return p.Session != "" }) {
			ci.RunID = "" // the run is one inside the session, and CI knows of none
		}
		known = append(known, ci)
	}
	return append(known, handoff.Producer{Source: handoff.FromNone})
}

// observed returns the harnesses in the environment, the nearest first as far as
// the processes show it.
func observed(getenv func(string) string, ancestors func() []Ancestor) []harness {
	list := slices.DeleteFunc(slices.Clone(harnesses), func(h harness) bool {
		_, ok := h.observe(getenv)
		return !ok
	})
	if len(list) < 2 {
		return list
	}
	processes := ancestors()
	distance := func(h harness) int {
		i := slices.IndexFunc(processes, func(a Ancestor) bool { return h.is(a, getenv) })
		if i < 0 {
			return len(processes)
		}
		return i
	}
	order.Sort(list, func(a, b harness) int { return cmp.Compare(distance(a), distance(b)) })
	return list
}

// NearestProcess returns the ID of the nearest of the given processes that is a
// harness, 0 for none.
func NearestProcess(name string, getenv func(string) string, ancestors []Ancestor) int {
	for _, h := range harnesses {
		for _, a := range ancestors {
			if h.name == name && h.is(a, getenv) {
				return a.PID
			}
		}
	}
	return 0
}

// ProgramOf returns the harness that a program with this name is, and the provider of
// its threads. A program that sets no variables is its own provider. Both are "" for
// a program that is not known.
func ProgramOf(name string) (harness, provider string) {
	for _, h := range harnesses {
		if cmp.Or(h.program, h.provider) == name || h.provider == name {
			return h.name, h.provider
		}
	}
	if slices.Contains([]string{"crush", "goose", "hermes"}, name) {
		return name, name
	}
	return "", ""
}

// is reports whether a process is the harness.
func (h harness) is(a Ancestor, getenv func(string) string) bool {
	if h.pid != "" {
		return strconv.Itoa(a.PID) == getenv(h.pid)
	}
	return slices.Contains(a.Names, h.program)
}

func (h harness) observe(getenv func(string) string) (handoff.Producer, bool) {
	var id string
	for _, name := range h.ids {
		if name == "AGENT_THREAD_ID" && getenv("AGENT") != "amp" {
			continue // other tools set it too
		}
		id = cmp.Or(id, getenv(name))
	}
	value := ""
	if h.sign[0] != "" {
		value = getenv(h.sign[0])
	}
	signed := value != "" && (h.sign[1] == "" || value == h.sign[1])
	if h.fork != "" && getenv(h.fork) != "" && getenv(h.pid) == "" {
		signed = false // by the fork
	}
	p := handoff.Producer{Harness: h.name}
	if id == "" {
		return p, signed
	}
	p.Session, p.Thread = id, "agents://"+h.provider+"/"+id
	if h.parent != "" {
		p.ParentSession = getenv(h.parent)
	}
	if h.call != "" {
		p.ToolCallID = getenv(h.call)
	}
	if root := getenv(h.root); h.root != "" && root != "" && root != id {
		p.Session, p.RunID = root, id // a subagent has a run of its own
	}
	if h.agent != "" && getenv(h.agent) != "" {
		p.IDs = map[string]string{"agent": getenv(h.agent)}
		p.Thread += "/" + getenv(h.agent)
	}
	for name, variable := range h.more {
		if value := getenv(variable); value != "" {
			if p.IDs == nil {
				p.IDs = map[string]string{}
			}
			p.IDs[name] = value
		}
	}
	return p, true
}

// continuous returns what a CI system says: the IDs of its run, job and commit.
// (GITHUB_* as GitHub Actions documents them, CI_* as GitLab does.)
func continuous(getenv func(string) string) (handoff.Producer, bool) {
	for _, ci := range []struct{ sign, run, job, commit string }{
		{"GITHUB_ACTIONS", "GITHUB_RUN_ID", "GITHUB_JOB", "GITHUB_SHA"},
		{"GITLAB_CI", "CI_PIPELINE_ID", "CI_JOB_ID", "CI_COMMIT_SHA"},
	} {
		if getenv(ci.sign) != "true" {
			continue
		}
		p := handoff.Producer{RunID: getenv(ci.run), TaskID: getenv(ci.job), IDs: map[string]string{"ciRun": getenv(ci.run)},
			Source: handoff.FromInherited}
		if commit := getenv(ci.commit); commit != "" {
			p.IDs["commit"] = commit
		}
		return p, p.RunID != ""
	}
	return handoff.Producer{}, false
}
