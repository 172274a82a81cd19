package sessions

import (
	"cmp"
	"context"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/agent-handoff/handoff/session"
)

// Open opens a session: it creates the folder, records the session and
// renders its manifest. With a parent it opens a run of that session. The folder
// is {session_folder}, which must be inside {agent_outputs_folder} and inside the
// workspace. Each of Links is a ref to a session, or to an artifact that one
// published.
//
// Kinds: Invalid, Conflict (the ID exists), NotFound (the parent, a link or a
// file), Unavailable.
func (s Sessions) Open(ctx context.Context, o session.OpenOptions) (session.Opened, error) {
	if err := s.c.Hub.Closed(); err != nil {
		return session.Opened{}, err
	}
	variables, err := s.describe(&o)
	if err != nil {
		return session.Opened{}, err
	}
	links := make([]string, len(o.Links))
	for i, ref := range o.Links {
		if links[i], err = s.all.ResolveLink(ctx, ref, s.c.Dir, s.c.Resolve); err != nil {
			return session.Opened{}, err
		}
	}
	inputs, err := lifecycle.EncodeValues(o.Inputs)
	if err != nil {
		return session.Opened{}, handoff.E("open session", "", handoff.Invalid, err,
			handoff.Advice("use inputs that can be encoded as JSON"))
	}
	if o.ID == "" {
		if o.ID, err = lifecycle.NewID(s.c.Rand); err != nil {
			return session.Opened{}, err
		}
	}
	variables.SessionID = o.ID
	top, err := s.topOf(ctx, o)
	if err != nil {
		return session.Opened{}, err
	}
	folder, err := s.newFolder(top, o, &variables)
	if err != nil {
		return session.Opened{}, err
	}
	expected, dir := s.expected(o.Expected)
	one, warnings, err := s.recorder().Open(ctx, lifecycle.Opening{
		ID: o.ID, Parent: o.Parent, Agent: o.Agent, Workflow: o.Workflow, User: o.User, Inputs: inputs, Folder: folder,
		Expected: expected, Dir: dir, Process: o.Process,
	})
	if err != nil {
		return session.Opened{}, err
	}
	if o.Parent == "" {
		top = one
	}
	for _, to := range links {
		more, err := s.recorder().Link(ctx, one.ID, to)
		if warnings = append(warnings, more...); err != nil {
			warnings = append(warnings, err.Error()) // the session is open
		}
	}
	return s.opened(one, top, variables, append(warnings, s.c.Finish(ctx, "")...)), nil
}

// expected returns the names of expected outputs relative to the caller's directory,
// and that directory, relative to the workspace.
func (s Sessions) expected(typed []string) (list []string, dir string) {
	for _, name := range typed {
		if rel, err := filepath.Rel(s.c.Dir, name); err == nil && filepath.IsAbs(name) {
			name = rel
		}
		if name != "" {
			name = path.Clean(filepath.ToSlash(name))
		}
		list = append(list, name)
	}
	rel, err := filepath.Rel(s.c.Dirs.Root, s.c.Dir)
	if err == nil && filepath.IsLocal(rel) && rel != "." && len(list) > 0 {
		dir = filepath.ToSlash(rel)
	}
	return list, dir
}

// describe completes what a session is with its files, and returns the variables
// of its paths.
func (s Sessions) describe(o *session.OpenOptions) (config.Paths, error) {
	if o.AgentFile != "" {
		agent, err := config.LoadAgent(s.c.Path(o.AgentFile))
		if err != nil {
			return config.Paths{}, err
		}
		o.Agent.Name = cmp.Or(o.Agent.Name, agent.Name)
		o.Agent.Title = cmp.Or(o.Agent.Title, agent.Title)
		o.Agent.Bundle = cmp.Or(o.Agent.Bundle, agent.Bundle)
	}
	variables, err := s.variables(session.VariableOptions{Bundle: o.Agent.Bundle, WorkflowFile: o.WorkflowFile,
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
func (s Sessions) topOf(ctx context.Context, o session.OpenOptions) (handoff.Session, error) {
	if o.Parent == "" {
		return handoff.Session{}, nil
	}
	parent, err := s.all.Session(ctx, o.Parent)
	if err != nil {
		return parent, err
	}
	return s.all.Top(ctx, parent)
}

// newFolder returns the folder of a new session, or of a run in the session top,
// relative to the directory that contains those of all sessions. For a run,
// {session_folder} is that folder.
func (s Sessions) newFolder(top handoff.Session, o session.OpenOptions, p *config.Paths) (string, error) {
	if o.Parent != "" {
		folder := path.Join(top.Folder, "artifacts", names.Folder(o.ID))
		p.SessionFolder = s.c.Folder(handoff.Session{Folder: folder})
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
	return config.Inside(s.c.Dirs.Home(), folder)
}

func (s Sessions) opened(of, top handoff.Session, paths config.Paths, warnings []string) session.Opened {
	folder, dir := s.c.Folder(of), s.c.Folder(top)
	variables, unset := paths.Variables()
	o := session.Opened{
		ID: of.ID, Folder: folder, Manifest: filepath.Join(folder, manifest.Name),
		Variables: variables, Warnings: append(warnings, unset...),
		Env: map[string]string{
			"HANDOFF_WORKSPACE": s.c.Dirs.Root, "HANDOFF_SESSION": top.ID, "HANDOFF_SESSION_DIR": dir,
			"HANDOFF_AGENT":       of.Agent.Name,
			"HANDOFF_RUN":         "", // overrides the run of the caller
			"HANDOFF_RUN_DIR":     folder,
			"HANDOFF_PARENT_WORK": s.c.Producer.WorkID,
			"PI_ARTIFACT_RUN_ID":  of.ID, "PI_ARTIFACT_SESSION_DIR": dir,
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
	if of.Parent != "" {
		o.Env["HANDOFF_RUN"], o.Manifest = of.ID, ""
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
		if (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') {
			return r
		}
		return '_'
	}, strings.ToUpper(name))
}

// VariableNames returns the names of the variables that every workspace has.
func VariableNames() []string { return config.VariableNames() }

// Explain resolves a path variable, or every variable in a text that contains
// braces. The session is by default the caller's, else SESSION_ID.
//
// Kinds: NotFound (a file), Invalid (an unknown variable, or one that refers to
// itself).
func (s Sessions) Explain(name string, o session.VariableOptions) (session.Explanation, error) {
	o.SessionID = cmp.Or(o.SessionID, s.c.OwnSession(), "SESSION_ID")
	variables, err := s.variables(o)
	if err != nil {
		return session.Explanation{}, err
	}
	explain := variables.Explain
	if strings.ContainsRune(name, '{') {
		explain = variables.Resolve
	}
	value, steps, err := explain(name)
	return session.Explanation{Name: name, Value: value, Substitutions: steps}, err
}

// variables returns the path variables. Kinds: NotFound, Invalid.
func (s Sessions) variables(o session.VariableOptions) (config.Paths, error) {
	for _, name := range []*string{&o.WorkflowFile, &o.ConfigFile} {
		if *name != "" {
			*name = s.c.Path(*name)
		}
	}
	return s.c.Settings.Paths(config.Paths{
		ProjectRoot: s.c.Dirs.ProjectRoot(), Bundle: o.Bundle, SessionID: o.SessionID, UserName: o.DefaultUser,
		Now: s.c.Now(),
	}, o.WorkflowFile, o.ConfigFile)
}
