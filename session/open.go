package session

import (
	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/settings"
)

// OpenOptions describe a session or run to open. An agent and a workflow are
// required; each may come from a file, and a run takes them from its parent.
// Values that are set here override those of the files.
type OpenOptions struct {
	ID       string // a lower-case version 4 UUID, by default a new one; for a run any text
	Parent   string // the session or run that the new run is part of
	Agent    handoff.SessionAgent
	Workflow handoff.SessionWorkflow
	User     string         // by default the bundle's user_name, then DefaultUser
	Inputs   map[string]any // the workflow's inputs, with those of its file

	Links    []string // refs of the sessions that it builds on, or of artifacts of theirs
	Expected []string // names or paths of the outputs that it should leave

	AgentFile    string // a file that names the agent: its title and bundle too
	WorkflowFile string // a workflow.yaml
	ConfigFile   string // the bundle's config.yaml

	DefaultUser string // the user if nothing else names one
	DefaultName string // the agent and workflow if nothing else names them

	Process handoff.Process // the process that waits for the end of the session
}

// An Opened is a session that was opened, with what an engine needs to work in
// it.
type Opened struct {
	ID        string            `json:"id"`
	Folder    string            `json:"folder"`   // absolute
	Manifest  string            `json:"manifest"` // absolute; "" for a run
	Variables map[string]string `json:"variables"`
	Env       map[string]string `json:"env"` // for the processes that work in the session
	Warnings  []string          `json:"warnings,omitempty"`
}

// VariableOptions select the files and values that path variables come from.
type VariableOptions struct {
	Bundle       string // the agent's bundle
	WorkflowFile string // a workflow.yaml
	ConfigFile   string // the bundle's config.yaml; by default the workflow's config_source
	SessionID    string // the value of {session_id}; for Explain by default SESSION_ID
	DefaultUser  string // the value of {user_name} if the bundle has none
}

// An Explanation shows how a path variable was resolved.
type Explanation struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// in the order of the text, each followed by those inside it
	Substitutions []settings.Substitution `json:"substitutions"`
}
