package mcp

import (
	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// caller returns who makes a call: what the call's _meta says first, then what
// the environment of the server says. Over HTTP the environment is that of
// whoever started the server, and says nothing about its clients.
func (c *client) caller(dir string, o origin) workspace.Caller {
	getenv := c.server.o.Getenv
	if c.server.o.Workspaces != nil {
		getenv = func(string) string { return "" }
	}
	var name string
	if o.client != nil {
		name = o.client.Name
	}
	given := workspace.ProducerFromMeta(name, o.meta)
	if given.Harness != "" || given.ToolCallID != "" {
		given.Source = handoff.FromMCP
	}
	return workspace.CallerFrom(dir, getenv, given)
}
