package mcp

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// projectVariables are set by clients to the directory of the project that a
// server was started for. (Claude Code 2.1 sets the first, and Gemini CLI and
// Qwen Code set it too; Qwen Code 0.24 the second.)
var projectVariables = []string{"CLAUDE_PROJECT_DIR", "QWEN_CODE_PROJECT_DIR"}

// An origin is where a request comes from.
type origin struct {
	records bool // the request records something, so it matters which subagent makes it
	session *sdk.ServerSession
	client  *sdk.Implementation // nil if unknown
	meta    map[string]any
}

func originOf[P sdk.Params](r *sdk.ServerRequest[P]) origin {
	return origin{session: r.Session, client: r.ClientInfo(), meta: r.Params.GetMeta()}
}

// workspaceOf returns the workspace that a request is for, on behalf of its
// caller: that of the argument, else that which the client works in.
//
// A server runs outside the sandbox of the agent. So an argument names only a
// directory that the user gave to the client or to this server.
func (c *client) workspaceOf(ctx context.Context, o origin, argument string) (*workspace.Workspace, error) {
	dir, err := c.directory(ctx, o, argument)
	if err != nil {
		return nil, err
	}
	w, err := c.server.workspace(dir)
	if err != nil {
		return nil, err
	}
	c.watch(o.session, w)
	caller := c.caller(ctx, w, dir, o)
	if o.records {
		caller = caller.WithSubagent(ctx, c.server.o.Threads)
	}
	return w.As(caller), nil
}

func (c *client) directory(ctx context.Context, o origin, argument string) (string, error) {
	allowed := c.directories(ctx, o)
	if len(allowed) == 0 {
		return "", handoff.E("find workspace", "", handoff.Invalid,
			errors.New("the client does not name the directory that it works in"),
			handoff.Advice("pass the directory of the repository as workspace"))
	}
	if argument == "" {
		return allowed[0], nil
	}
	if !filepath.IsAbs(argument) {
		argument = filepath.Join(allowed[0], argument)
	}
	dir, err := filepath.EvalSymlinks(argument)
	if err != nil {
		return "", handoff.E("find workspace", argument, handoff.NotFound, errors.New("no such directory"),
			handoff.Advice("omit workspace to use the one of the client"))
	}
	if slices.ContainsFunc(append(allowed, c.registered()...), func(root string) bool { return inside(root, dir) }) {
		return dir, nil
	}
	return "", handoff.E("find workspace", argument, handoff.Invalid,
		errors.New("the user did not give this directory to the client"),
		handoff.Advice("ask the user to open it in the client or to register it"))
}

// registered returns the workspaces that the user registered for all clients.
// Over HTTP only those named at the start may be used.
func (c *client) registered() []string {
	if c.server.o.Workspaces != nil || c.server.o.Registered == nil {
		return nil
	}
	return c.server.o.Registered()
}

// directories returns where the client works, the default first.
func (c *client) directories(ctx context.Context, o origin) []string {
	if c.server.o.Workspaces != nil {
		return c.server.o.Workspaces
	}
	list := c.clientRoots(ctx, o.session)
	if named, ok := o.meta["handoff/workspace"].(string); ok {
		list = append(list, named)
	}
	for _, name := range projectVariables {
		if dir := c.server.o.Getenv(name); dir != "" {
			list = append(list, dir)
		}
	}
	list = append(list, c.server.o.Dir)
	return slices.DeleteFunc(list, func(dir string) bool { return !filepath.IsAbs(dir) || isPlugin(dir) })
}

// clientRoots returns the roots of a client that has them.
func (c *client) clientRoots(ctx context.Context, session *sdk.ServerSession) []string {
	c.mu.Lock()
	known, roots, change := c.asked, slices.Clone(c.roots), c.rootsChange
	c.mu.Unlock()
	if known {
		return roots
	}
	roots = listRoots(ctx, session)
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() == nil && c.rootsChange == change { // else the next call asks again
		c.roots, c.asked = roots, true
	}
	return slices.Clone(roots)
}

func (c *client) rootsChanged(context.Context, *sdk.RootsListChangedRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = false
	c.rootsChange++
}

// rootsTimeout is how long a client may take to list its roots. One that does not
// answer is treated as one without roots.
const rootsTimeout = 5 * time.Second

// listRoots asks a client that has roots for them.
func listRoots(ctx context.Context, session *sdk.ServerSession) (roots []string) {
	p := session.InitializeParams()
	//lint:ignore SA1019 clients before protocol 2026-07-28 have roots
	if p == nil || p.Capabilities == nil || p.Capabilities.RootsV2 == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsTimeout)
	defer cancel()
	//lint:ignore SA1019 clients before protocol 2026-07-28 have roots
	answer, err := session.ListRoots(ctx, nil)
	if err != nil {
		return nil // the client has none; the next source decides
	}
	for _, root := range answer.Roots {
		if u, err := url.Parse(root.URI); err == nil && u.Scheme == "file" {
			roots = append(roots, filepath.Clean(u.Path))
		}
	}
	return roots
}

// pluginFiles are files by which clients recognize the folder of a plugin. A
// plugin's server is started in that folder, which is no one's project.
var pluginFiles = []string{".claude-plugin/plugin.json", ".codex-plugin/plugin.json", "gemini-extension.json",
	"plugin.json"}

func isPlugin(dir string) bool {
	return slices.ContainsFunc(pluginFiles, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// inside reports whether dir is root or in it.
func inside(root, dir string) bool {
	if resolved, err := filepath.EvalSymlinks(root); err == nil {
		root = resolved
	}
	return dir == root || strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/")
}

// workspace opens the workspace that a directory belongs to, once.
func (s *Server) workspace(dir string) (*workspace.Workspace, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := s.open[s.dirs[dir]]; ok {
		return w, nil
	}
	w, err := s.o.Open(dir)
	if err != nil {
		return nil, err
	}
	if same, ok := s.open[w.Root()]; ok {
		s.dirs[dir] = w.Root()
		return same, w.Close()
	}
	s.open[w.Root()], s.dirs[dir] = w, w.Root()
	return w, nil
}
