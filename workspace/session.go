package workspace

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/session"
)

// SessionFiles are what an engine's files say about a session. Each may be "".
type SessionFiles struct {
	Config   string // the bundle's config.yaml
	Workflow string // the workflow.yaml
	Agent    string // the agent's file
	User     string // not a file: {user_name}, where the bundle names none
	Program  string // not a file either: names agent and workflow where nothing else does
}

// An OpenedSession is what an engine needs of a session that was opened.
type OpenedSession struct {
	ID        string            `json:"id"`
	Folder    string            `json:"folder"`   // absolute
	Manifest  string            `json:"manifest"` // absolute
	Variables map[string]string `json:"variables"`
	Env       map[string]string `json:"env"` // for the processes that work in the session
	Warnings  []string          `json:"warnings,omitempty"`
}

// SessionsAs returns the workspace's sessions with p as the producer of what is
// recorded.
func (w *Workspace) SessionsAs(p handoff.Producer) *session.Sessions { return w.sessions.As(p) }

// What a writer was killed before it did is done by whoever writes next, a
// little at a time.
const (
	leftAfter = 2 * time.Second // a writer that lives has rendered by then
	leftMost  = 32
)

// Tidy does what processes that were killed left undone: it closes the sessions
// that ended without a word on this machine, and renders their manifests and
// those that lack a record. Every command that writes does that when its own
// work is done; a process that lives long should now and then.
func (w *Workspace) Tidy(ctx context.Context, p handoff.Producer) ([]string, error) {
	warnings, err := w.sessions.As(p).CloseAbandoned(ctx, Observer())
	return warnings, errors.Join(err, w.renderLeft(ctx, leftAfter))
}

// A SessionDetail is a session with its names, status and outputs.
type SessionDetail = session.Detail

// isSession reports whether a ref is the id of a session or run that was opened.
func (w *Workspace) isSession(ctx context.Context, ref string) bool {
	if handoff.IsArtifactIDPrefix(ref) {
		return false
	}
	s, err := w.Session(ctx, ref)
	return err == nil && s.Opened != 0
}

func (w *Workspace) sessionDetail(ctx context.Context, id string, files bool) (SessionDetail, error) {
	d, err := w.sessions.Detail(ctx, id, Observer(), w.now())
	if err == nil && files {
		d.Files, err = w.sessions.List(ctx, id)
	}
	return d, err
}

// renderSession brings the manifest of a session up to the log. An id that no
// session was opened under has none.
func (w *Workspace) renderSession(ctx context.Context, id string) []string {
	if id == "" {
		return nil
	}
	if err := w.sessions.Changed(ctx, id); err != nil && !errors.Is(err, handoff.NotFound) {
		return []string{err.Error()}
	}
	return nil
}

// renderLeft renders the manifests that nobody rendered for so long. One that
// can't be rendered stops no other, and is tried again.
func (w *Workspace) renderLeft(ctx context.Context, age time.Duration) error {
	ids, err := w.index.unrendered(ctx, age)
	for _, id := range ids {
		_ = w.sessions.Render(ctx, id)
	}
	return err
}

// Folder returns the folder of a session that was opened, absolute.
func (w *Workspace) Folder(s handoff.Session) string {
	return filepath.Join(w.Home(), filepath.FromSlash(s.Folder))
}

// SessionDir returns where the directory of a session or run lies, absolute:
// its folder, if it was opened, else where that of a session with this id
// would.
func (w *Workspace) SessionDir(ctx context.Context, id string) string {
	if s, err := w.Session(ctx, id); err == nil && s.Folder != "" {
		return w.Folder(s)
	}
	paths, err := w.Paths(SessionFiles{}, "")
	if err == nil {
		paths.SessionID = names.Folder(id)
		var folder string
		if folder, _, err = paths.Resolve("{session_folder}"); err == nil {
			return folder
		}
	}
	return filepath.Join(w.ProjectRoot(), "docs", "agent-outputs", names.Folder(id))
}

// File returns where the file of an artifact lies, absolute, "" where that is
// not known here.
func (w *Workspace) File(ctx context.Context, a handoff.Artifact) string {
	dir := w.Worktree(a.Worktree)
	switch a.Root {
	case handoff.RuntimeRoot:
		dir = w.Runtime
	case handoff.SessionRoot:
		dir = cmp.Or(w.folderOf(ctx, a.Record.Producer), w.caller.SessionDir)
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, filepath.FromSlash(a.Path))
}

// folderOf returns the folder of the session that a producer worked in, "" for
// none. It asks the index only: the hub calls it in the middle of an answer.
func (c *core) folderOf(ctx context.Context, p handoff.Producer) string {
	s, err := c.index.Session(ctx, p.Session)
	if err != nil || s.Folder == "" {
		return ""
	}
	return filepath.Join(c.Home(), filepath.FromSlash(s.Folder))
}

// Paths returns what variables in paths stand for, with the settings of the
// workspace below those of the bundle. Its kinds are NotFound and Invalid.
func (w *Workspace) Paths(files SessionFiles, bundle string) (config.Paths, error) {
	p := config.Paths{ProjectRoot: w.ProjectRoot(), Bundle: bundle, UserName: files.User, Now: w.now(), Config: map[string]string{}}
	for key, value := range map[string]string{"output_folder": w.Config.OutputFolder, "agent_outputs_folder": w.Config.AgentOutputsFolder} {
		if value != "" {
			p.Config[key] = value
		}
	}
	var err error
	if files.Workflow != "" {
		if p.Workflow, err = config.LoadVariables(files.Workflow); err != nil {
			return p, err
		}
	}
	named := files.Config != ""
	if source := p.Workflow["config_source"]; !named && source != "" {
		if files.Config, _, err = p.Resolve(source); err != nil {
			return p, err
		}
	}
	if files.Config == "" {
		return p, nil
	}
	p.ConfigSource = files.Config
	said, err := config.LoadVariables(files.Config)
	if err != nil && (named || !errors.Is(err, handoff.NotFound)) {
		return p, err
	}
	maps.Copy(p.Config, said)
	return p, nil
}

// OpenSession opens a session as an engine's files and the given opening say,
// which stands above them. Its folder is {session_folder}, which must lie in
// {agent_outputs_folder}, below the workspace.
//
// Kinds: those of Paths and of session.Sessions.Open.
func (w *Workspace) OpenSession(ctx context.Context, p handoff.Producer, o session.Opening, files SessionFiles) (OpenedSession, error) {
	if files.Agent != "" {
		agent, err := config.LoadAgent(files.Agent)
		if err != nil {
			return OpenedSession{}, err
		}
		o.Agent.Name, o.Agent.Title, o.Agent.Bundle = cmp.Or(o.Agent.Name, agent.Name), cmp.Or(o.Agent.Title, agent.Title), cmp.Or(o.Agent.Bundle, agent.Bundle)
	}
	paths, err := w.Paths(files, o.Agent.Bundle)
	if err != nil {
		return OpenedSession{}, err
	}
	if o.User == "" {
		o.User, _, _ = paths.Explain("user_name") // that nobody knows is no obstacle
	}
	o.Agent.Name = cmp.Or(o.Agent.Name, files.Program)
	o.Workflow.Name = cmp.Or(o.Workflow.Name, paths.Workflow["name"], files.Program)
	o.Workflow.Description = cmp.Or(o.Workflow.Description, paths.Workflow["description"])
	if o.ID == "" {
		if o.ID, err = session.NewID(w.rand); err != nil {
			return OpenedSession{}, err
		}
	}
	paths.SessionID = o.ID
	if o.Folder == "" {
		if o.Folder, err = w.sessionFolder(ctx, o, paths); err != nil {
			return OpenedSession{}, err
		}
	}
	sessions := w.sessions.As(p)
	s, warnings, err := sessions.Open(ctx, o)
	if err != nil {
		return OpenedSession{}, err
	}
	top, err := sessions.Top(ctx, s)
	if err != nil {
		return OpenedSession{}, err
	}
	return w.opened(s, top, paths, warnings), nil
}

// sessionFolder resolves where the folder of a session or run lies, below the
// workspace.
func (w *Workspace) sessionFolder(ctx context.Context, o session.Opening, p config.Paths) (string, error) {
	if o.Parent != "" {
		parent, err := w.Session(ctx, o.Parent)
		if err == nil {
			parent, err = w.sessions.Top(ctx, parent)
		}
		return path.Join(parent.Folder, "artifacts", names.Folder(o.ID)), err
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
	return config.Inside(w.Home(), folder)
}

func (w *Workspace) opened(s, top handoff.Session, paths config.Paths, warnings []string) OpenedSession {
	folder, dir := w.Folder(s), w.Folder(top)
	o := OpenedSession{
		ID: s.ID, Folder: folder, Manifest: filepath.Join(folder, session.ManifestName),
		Variables: paths.Variables(), Warnings: warnings,
		Env: map[string]string{
			"HANDOFF_WORKSPACE": w.Root, "HANDOFF_SESSION": top.ID, "HANDOFF_SESSION_DIR": dir, "HANDOFF_AGENT": s.Agent.Name,
			"HANDOFF_RUN":        "", // not that of whoever opened it
			"PI_ARTIFACT_RUN_ID": s.ID, "PI_ARTIFACT_SESSION_DIR": dir,
		},
	}
	if s.Parent != "" {
		o.Env["HANDOFF_RUN"], o.Manifest = s.ID, ""
	}
	return o
}

// ThisProcess returns what tells this process from all others; its zero value
// where the system does not say.
func ThisProcess() handoff.Process { return ProcessOf(os.Getpid()) }
