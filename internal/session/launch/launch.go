// Package launch opens the session of an agent from the files of its bundle. It
// reads who the agent is, resolves the folder, and computes the variables and
// the environment of the processes that work in the session.
package launch

import (
	"cmp"
	"context"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/agent-handoff/handoff/session"
)

// A Launcher opens sessions in one workspace on behalf of one caller.
type Launcher struct {
	Dirs     config.Workspace
	Settings config.Config
	Sessions *lifecycle.Sessions
	Now      func() time.Time
	Rand     io.Reader
	Dir      string // absolute; the names of files are relative to it
	WorkID   string // the work that the session is part of, "" for none

	// Artifact returns the ID of the artifact that a ref names.
	Artifact func(ctx context.Context, ref string) (string, error)
}

// Open opens a session or, with a parent, a run of that session. The folder is
// {session_folder}, which must be inside {agent_outputs_folder} and inside the
// workspace.
//
// Error kinds: Invalid, Conflict (the ID exists), NotFound (the parent or a
// file), Unavailable.
func (l Launcher) Open(ctx context.Context, o session.OpenOptions) (session.Opened, error) {
	variables, err := l.describe(&o)
	if err != nil {
		return session.Opened{}, err
	}
	links := make([]string, len(o.Links))
	for i, ref := range o.Links {
		if links[i], err = l.Sessions.ResolveLink(ctx, ref, l.Dir, l.Artifact); err != nil {
			return session.Opened{}, err
		}
	}
	inputs, err := lifecycle.EncodeValues(o.Inputs)
	if err != nil {
		return session.Opened{}, handoff.E("open session", "", handoff.Invalid, err,
			handoff.Advice("use inputs that can be encoded as JSON"))
	}
	if o.ID == "" {
		if o.ID, err = lifecycle.NewID(l.Rand); err != nil {
			return session.Opened{}, err
		}
	}
	variables.SessionID = o.ID
	top, err := l.topOf(ctx, o)
	if err != nil {
		return session.Opened{}, err
	}
	folder, err := l.newFolder(top, o, &variables)
	if err != nil {
		return session.Opened{}, err
	}
	expected, dir := l.expected(o.Expected)
	s, warnings, err := l.Sessions.Open(ctx, lifecycle.Opening{
		ID: o.ID, Parent: o.Parent, Agent: o.Agent, Workflow: o.Workflow, User: o.User, Inputs: inputs, Folder: folder,
		Expected: expected, Dir: dir, Process: o.Process,
	})
	if err != nil {
		return session.Opened{}, err
	}
	if o.Parent == "" {
		top = s
	}
	for _, to := range links {
		more, err := l.Sessions.Link(ctx, s.ID, to)
		if warnings = append(warnings, more...); err != nil {
			warnings = append(warnings, err.Error()) // the session is open
		}
	}
	return l.opened(s, top, variables, warnings), nil
}

// expected returns the names of expected outputs relative to the caller's directory,
// and that directory, relative to the workspace.
func (l Launcher) expected(typed []string) (list []string, dir string) {
	for _, name := range typed {
		if rel, err := filepath.Rel(l.Dir, name); err == nil && filepath.IsAbs(name) {
			name = rel
		}
		if name != "" {
			name = path.Clean(filepath.ToSlash(name))
		}
		list = append(list, name)
	}
	if rel, err := filepath.Rel(l.Dirs.Root, l.Dir); err == nil && filepath.IsLocal(rel) && rel != "." && len(list) > 0 {
		dir = filepath.ToSlash(rel)
	}
	return list, dir
}

// describe completes what a session is with its files, and returns the variables
// of its paths.
func (l Launcher) describe(o *session.OpenOptions) (config.Paths, error) {
	if o.AgentFile != "" {
		agent, err := config.LoadAgent(l.path(o.AgentFile))
		if err != nil {
			return config.Paths{}, err
		}
		o.Agent.Name, o.Agent.Title, o.Agent.Bundle = cmp.Or(o.Agent.Name, agent.Name), cmp.Or(o.Agent.Title, agent.Title),
			cmp.Or(o.Agent.Bundle, agent.Bundle)
	}
	variables, err := l.Variables(session.VariableOptions{Bundle: o.Agent.Bundle, WorkflowFile: o.WorkflowFile,
		ConfigFile: o.ConfigFile, DefaultUser: o.DefaultUser})
	if err != nil {
		return config.Paths{}, err
	}
	if o.User == "" {
		o.User, _, _ = variables.Explain("user_name") // a session needs no user
	}
	o.Agent.Name = cmp.Or(o.Agent.Name, o.DefaultName)
	o.Workflow.Name = cmp.Or(o.Workflow.Name, variables.Workflow["name"], o.DefaultName)
	o.Workflow.Description = cmp.Or(o.Workflow.Description, variables.Workflow["description"])
	given := o.Inputs
	o.Inputs = map[string]any{}
	for _, inputs := range []map[string]any{variables.Inputs, given} {
		for name, value := range inputs {
			o.Inputs[name] = value
		}
	}
	return variables, nil
}

// topOf returns the session that a new run is in, zero for a new session.
func (l Launcher) topOf(ctx context.Context, o session.OpenOptions) (handoff.Session, error) {
	if o.Parent == "" {
		return handoff.Session{}, nil
	}
	parent, err := l.Sessions.Session(ctx, o.Parent)
	if err != nil {
		return parent, err
	}
	return l.Sessions.Top(ctx, parent)
}

// newFolder returns the folder of a new session, or of a run in the session top,
// relative to the directory that contains those of all sessions. For a run,
// {session_folder} is that folder.
func (l Launcher) newFolder(top handoff.Session, o session.OpenOptions, p *config.Paths) (string, error) {
	if o.Parent != "" {
		folder := path.Join(top.Folder, "artifacts", names.Folder(o.ID))
		p.SessionFolder = l.absolute(folder)
		return folder, nil
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
	return config.Inside(l.Dirs.Home(), folder)
}

func (l Launcher) opened(s, top handoff.Session, paths config.Paths, warnings []string) session.Opened {
	folder, dir := l.absolute(s.Folder), l.absolute(top.Folder)
	variables, unset := paths.Variables()
	o := session.Opened{
		ID: s.ID, Folder: folder, Manifest: filepath.Join(folder, manifest.Name),
		Variables: variables, Warnings: append(warnings, unset...),
		Env: map[string]string{
			"HANDOFF_WORKSPACE": l.Dirs.Root, "HANDOFF_SESSION": top.ID, "HANDOFF_SESSION_DIR": dir,
			"HANDOFF_AGENT":       s.Agent.Name,
			"HANDOFF_RUN":         "", // overrides the run of the caller
			"HANDOFF_RUN_DIR":     folder,
			"HANDOFF_PARENT_WORK": l.WorkID,
			"PI_ARTIFACT_RUN_ID":  s.ID, "PI_ARTIFACT_SESSION_DIR": dir,
		},
	}
	var omitted []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		env, value := VariablePrefix+envName(name), variables[name]
		if _, taken := o.Env[env]; taken || len(env)+len(value) > maxEnv || strings.ContainsRune(value, 0) {
			omitted = append(omitted, name)
			continue
		}
		o.Env[env] = value
	}
	if len(omitted) > 0 {
		o.Warnings = append(o.Warnings, strings.Join(omitted, ", ")+
			" not in the environment: the value is too long or has a NUL, or another name is the same there")
	}
	if s.Parent != "" {
		o.Env["HANDOFF_RUN"], o.Manifest = s.ID, ""
	}
	return o
}

// maxEnv is the longest variable of an environment, with its name, of execve(2) with a
// margin for "=" and the end.
const maxEnv = 128<<10 - 2

// VariablePrefix is what the names of environment variables start with that have
// the variables of a session's workflow and bundle.
const VariablePrefix = "HANDOFF_VAR_"

// envName returns the name of a variable as a part of the name of an environment
// variable: default_output_file is DEFAULT_OUTPUT_FILE.
func envName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(name))
}

// absolute returns the absolute path of a session's folder.
func (l Launcher) absolute(folder string) string {
	return filepath.Join(l.Dirs.Home(), filepath.FromSlash(folder))
}

// path returns a path as typed by the caller as an absolute one.
func (l Launcher) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(l.Dir, name)
}
