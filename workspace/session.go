package workspace

import (
	"cmp"
	"context"
	"errors"
	"path"
	"path/filepath"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/session"
)

// SessionOptions describe a session or run to open. An agent and a workflow are
// required; each may come from a file, and a run takes them from its parent.
// Values that are set here override those of the files.
type SessionOptions struct {
	ID       string // a lower-case version 4 UUID, by default a new one; for a run any text
	Parent   string // the session or run that the new run is part of
	Agent    handoff.SessionAgent
	Workflow handoff.SessionWorkflow
	User     string         // by default the bundle's user_name, then DefaultUser
	Inputs   map[string]any // the workflow's inputs

	AgentFile    string // a file that names the agent: its title and bundle too
	WorkflowFile string // a workflow.yaml
	ConfigFile   string // the bundle's config.yaml

	DefaultUser string // the user if nothing else names one
	DefaultName string // the agent and workflow if nothing else names them

	Process handoff.Process // the process that waits for the end of the session
}

// An OpenedSession is a session that was opened, with what an engine needs to
// work in it.
type OpenedSession struct {
	ID        string            `json:"id"`
	Folder    string            `json:"folder"`   // absolute
	Manifest  string            `json:"manifest"` // absolute
	Variables map[string]string `json:"variables"`
	Env       map[string]string `json:"env"` // for the processes that work in the session
	Warnings  []string          `json:"warnings,omitempty"`
}

// Limits of Tidy: it renders only manifests that a live writer would have
// rendered by now, and only some at a time.
const (
	renderAfter = 2 * time.Second
	renderMost  = 32
)

// Tidy completes the work of processes that were killed: it closes their
// sessions and renders manifests that are out of date. Operations that record
// something call it; a long-running process that records nothing should call it
// now and then.
func (w *Workspace) Tidy(ctx context.Context, p handoff.Producer) ([]string, error) {
	warnings, err := w.sessions.As(p).CloseAbandoned(ctx, session.ThisObserver())
	return warnings, errors.Join(err, w.renderPending(ctx, renderAfter))
}

// A SessionDetail is a session with its names, status and outputs.
type SessionDetail = session.Detail

// isSession reports whether a ref is the ID of a session or run that was opened.
func (w *Workspace) isSession(ctx context.Context, ref string) bool {
	if handoff.IsArtifactIDPrefix(ref) {
		return false
	}
	s, err := w.hub.Session(ctx, ref)
	return err == nil && s.Opened != 0
}

func (w *Workspace) sessionDetail(ctx context.Context, id string, files bool) (SessionDetail, error) {
	d, err := w.sessions.Detail(ctx, id, session.ThisObserver(), w.now())
	if err == nil && files {
		d.Files, err = w.sessions.List(ctx, id)
	}
	return d, err
}

// renderSession renders the manifest of a session. An ID under which no session
// was opened has none.
func (w *Workspace) renderSession(ctx context.Context, id string) []string {
	if id == "" {
		return nil
	}
	if err := w.sessions.Changed(ctx, id); err != nil && !errors.Is(err, handoff.NotFound) {
		return []string{err.Error()}
	}
	return nil
}

// renderPending renders manifests that have been out of date for the given time.
// One that cannot be rendered is tried again later.
func (w *Workspace) renderPending(ctx context.Context, age time.Duration) error {
	ids, err := w.index.Unrendered(ctx, age, renderMost)
	for _, id := range ids {
		_ = w.sessions.Render(ctx, id)
	}
	return err
}

// Folder returns the folder of a session that was opened, absolute.
func (w *Workspace) Folder(s handoff.Session) string {
	return filepath.Join(w.dirs.Home(), filepath.FromSlash(s.Folder))
}

// SessionDir returns the directory of a session or run, absolute: its folder if
// it was opened, otherwise the folder that a session with this ID would have.
func (w *Workspace) SessionDir(ctx context.Context, id string) string {
	if s, err := w.hub.Session(ctx, id); err == nil && s.Folder != "" {
		return w.Folder(s)
	}
	paths, err := w.variables(VariableOptions{})
	if err == nil {
		paths.SessionID = names.Folder(id)
		var folder string
		if folder, _, err = paths.Resolve("{session_folder}"); err == nil {
			return folder
		}
	}
	return filepath.Join(w.dirs.ProjectRoot(), "docs", "agent-outputs", names.Folder(id))
}

// File returns the file of an artifact, absolute, "" if its directory is not
// known on this machine.
func (w *Workspace) File(ctx context.Context, a handoff.Artifact) string {
	dir := w.dirs.Worktree(a.Worktree)
	switch a.Root {
	case handoff.RuntimeRoot:
		dir = w.dirs.Runtime
	case handoff.SessionRoot:
		dir = cmp.Or(w.folderOf(ctx, a.Record.Producer), w.caller.SessionDir)
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, filepath.FromSlash(a.Path))
}

// folderOf returns the folder of the session that a producer worked in, "" for
// none. It queries the index alone, because the hub calls it during a query.
func (c *core) folderOf(ctx context.Context, p handoff.Producer) string {
	s, err := c.index.Session(ctx, p.Session)
	if err != nil || s.Folder == "" {
		return ""
	}
	return filepath.Join(c.dirs.Home(), filepath.FromSlash(s.Folder))
}

// OpenSession opens a session: it creates the folder, records the session and
// renders its manifest. With a parent it opens a run of that session. The folder
// is {session_folder}, which must be inside {agent_outputs_folder} and inside the
// workspace.
//
// Kinds: Invalid, Conflict (the ID exists), NotFound (the parent or a file),
// Unavailable.
func (w *Workspace) OpenSession(ctx context.Context, o SessionOptions) (OpenedSession, error) {
	variables, err := w.describe(&o)
	if err != nil {
		return OpenedSession{}, err
	}
	inputs, err := session.EncodeValues(o.Inputs)
	if err != nil {
		return OpenedSession{}, invalid("open session", "", "invalid input: "+err.Error(), "use values that can be encoded as JSON")
	}
	if o.ID == "" {
		if o.ID, err = session.NewID(w.rand); err != nil {
			return OpenedSession{}, err
		}
	}
	variables.SessionID = o.ID
	top, err := w.topOf(ctx, o)
	if err != nil {
		return OpenedSession{}, err
	}
	folder, err := w.newFolder(top, o, variables)
	if err != nil {
		return OpenedSession{}, err
	}
	sessions := w.sessions.As(w.caller.Producer)
	s, warnings, err := sessions.Open(ctx, session.Opening{
		ID: o.ID, Parent: o.Parent, Agent: o.Agent, Workflow: o.Workflow, User: o.User, Inputs: inputs, Folder: folder, Process: o.Process,
	})
	if err != nil {
		return OpenedSession{}, err
	}
	if o.Parent == "" {
		top = s
	}
	return w.opened(s, top, variables, append(warnings, w.finish(ctx, "")...)), nil
}

// describe completes what a session is with its files, and returns the variables
// of its paths.
func (w *Workspace) describe(o *SessionOptions) (config.Paths, error) {
	if o.AgentFile != "" {
		agent, err := config.LoadAgent(w.path(o.AgentFile))
		if err != nil {
			return config.Paths{}, err
		}
		o.Agent.Name, o.Agent.Title, o.Agent.Bundle = cmp.Or(o.Agent.Name, agent.Name), cmp.Or(o.Agent.Title, agent.Title), cmp.Or(o.Agent.Bundle, agent.Bundle)
	}
	variables, err := w.variables(VariableOptions{Bundle: o.Agent.Bundle, WorkflowFile: o.WorkflowFile, ConfigFile: o.ConfigFile, DefaultUser: o.DefaultUser})
	if err != nil {
		return config.Paths{}, err
	}
	if o.User == "" {
		o.User, _, _ = variables.Explain("user_name") // a session needs no user
	}
	o.Agent.Name = cmp.Or(o.Agent.Name, o.DefaultName)
	o.Workflow.Name = cmp.Or(o.Workflow.Name, variables.Workflow["name"], o.DefaultName)
	o.Workflow.Description = cmp.Or(o.Workflow.Description, variables.Workflow["description"])
	return variables, nil
}

// topOf returns the session that a new run is in, zero for a new session.
func (w *Workspace) topOf(ctx context.Context, o SessionOptions) (handoff.Session, error) {
	if o.Parent == "" {
		return handoff.Session{}, nil
	}
	parent, err := w.hub.Session(ctx, o.Parent)
	if err != nil {
		return parent, err
	}
	return w.sessions.Top(ctx, parent)
}

// newFolder returns the folder of a new session, or of a run in the session top,
// relative to the directory that contains those of all sessions.
func (w *Workspace) newFolder(top handoff.Session, o SessionOptions, p config.Paths) (string, error) {
	if o.Parent != "" {
		return path.Join(top.Folder, "artifacts", names.Folder(o.ID)), nil
	}
	outputs, _, err := p.Resolve("{agent_outputs_folder}")
	if err != nil {
		return "", err
	}
	folder, _, err := p.Resolve("{session_folder}")
	if err != nil {
		return "", err
	}
	if _, err := config.Inside(outputs, folder); err != nil {
		return "", err
	}
	return config.Inside(w.dirs.Home(), folder)
}

func (w *Workspace) opened(s, top handoff.Session, paths config.Paths, warnings []string) OpenedSession {
	folder, dir := w.Folder(s), w.Folder(top)
	o := OpenedSession{
		ID: s.ID, Folder: folder, Manifest: filepath.Join(folder, session.ManifestName),
		Variables: paths.Variables(), Warnings: warnings,
		Env: map[string]string{
			"HANDOFF_WORKSPACE": w.dirs.Root, "HANDOFF_SESSION": top.ID, "HANDOFF_SESSION_DIR": dir, "HANDOFF_AGENT": s.Agent.Name,
			"HANDOFF_RUN":        "", // overrides the run of the caller
			"PI_ARTIFACT_RUN_ID": s.ID, "PI_ARTIFACT_SESSION_DIR": dir,
		},
	}
	if s.Parent != "" {
		o.Env["HANDOFF_RUN"], o.Manifest = s.ID, ""
	}
	return o
}
