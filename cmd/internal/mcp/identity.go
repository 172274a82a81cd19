package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/workspace"
)

// caller returns who makes a call: what the call's _meta says first, then what
// the environment of the server says. Over HTTP the environment is that of
// whoever started the server, and says nothing about its clients.
func (c *client) caller(ctx context.Context, w *workspace.Workspace, dir string, o origin) workspace.Caller {
	getenv := c.server.o.Getenv
	if c.server.o.Workspaces != nil {
		getenv = func(string) string { return "" }
	}
	var name string
	if o.client != nil {
		name = o.client.Name
	}
	return w.ToolCaller(ctx, dir, getenv, name, o.meta)
}

// callerArgument is an argument that handoff's plugin for OpenCode and Kilo adds to each
// call, because they send no _meta: the IDs of the session, of the one that started it, and of the call.
const callerArgument = "handoff/caller"

// splitCaller takes the caller out of the arguments of a call from OpenCode or Kilo.
func splitCaller(arguments json.RawMessage, o origin) (json.RawMessage, origin) {
	programs := []string{"opencode", "kilo"}
	i := slices.IndexFunc(programs, func(name string) bool {
		return o.client != nil && strings.HasPrefix(o.client.Name, name)
	})
	if i < 0 {
		return arguments, o
	}
	var members map[string]json.RawMessage
	var caller struct{ Session, Parent, Call string }
	if json.Unmarshal(arguments, &members) != nil || json.Unmarshal(members[callerArgument], &caller) != nil {
		return arguments, o
	}
	delete(members, callerArgument)
	rest, err := json.Marshal(members)
	if err != nil {
		return arguments, o
	}
	o.meta = maps.Clone(o.meta)
	if o.meta == nil {
		o.meta = map[string]any{}
	}
	member := "ai." + programs[i] + "/"
	o.meta[member+"sessionID"], o.meta[member+"callID"] = caller.Session, caller.Call
	o.meta[member+"parentID"] = caller.Parent
	return rest, o
}
