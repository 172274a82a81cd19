package mcp

import (
	"context"
	"strings"

	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff/workspace"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxCompletions is the number of values that the protocol allows.
const maxCompletions = 100

// complete completes the IDs in the URIs of resources, and channels.
func (c *client) complete(ctx context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	w, err := c.workspaceOf(ctx, originOf(r), "")
	if err != nil {
		return nil, err
	}
	var values []string
	switch {
	case r.Params.Argument.Name == "channel":
		list, err := w.Channels(ctx, workspace.Filter{})
		if err != nil {
			return nil, err
		}
		for _, ch := range list.Channels {
			values = append(values, ch.Name)
		}
	case r.Params.Ref != nil && strings.HasPrefix(r.Params.Ref.URI, sessionPrefix):
		page, err := w.Sessions().Find(ctx, sessions.Filter{Limit: maxCompletions, IncludeRuns: true})
		if err != nil {
			return nil, err
		}
		for _, s := range page.Sessions {
			values = append(values, s.ID)
		}
	default:
		page, err := w.List(ctx, workspace.ListOptions{Limit: maxCompletions})
		if err != nil {
			return nil, err
		}
		for _, a := range page.Artifacts {
			values = append(values, a.ID)
		}
	}
	matching := []string{}
	for _, v := range values {
		if strings.HasPrefix(v, r.Params.Argument.Value) && len(matching) < maxCompletions {
			matching = append(matching, v)
		}
	}
	return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: matching}}, nil
}
