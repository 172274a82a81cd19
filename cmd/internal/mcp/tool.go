package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/internal/tool/printable"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool is one operation with its arguments.
type tool[In any] struct {
	name        string
	description string
	reads       bool     // it records nothing but use
	reports     bool     // it has the warnings of tools that record
	loaded      bool     // a client that defers tools should not defer this one
	output      []output // what it answers, one of these
	do          func(ctx context.Context, c *call, in In) (answer, error)
}

// A call is one call of a tool.
type call struct {
	*workspace.Workspace // on behalf of the caller
	client               *client
	request              *sdk.CallToolRequest
}

// An answer is the result of a tool.
type answer struct {
	data  any // the structured content
	text  string
	links []sdk.Content
	done  func(context.Context) // called after the answer is made, or nil
}

// Common are the arguments of every tool.
type Common struct {
	Workspace string `json:"workspace,omitempty"`
}

func (c Common) workspace() string { return c.Workspace }

func addTool[In interface{ workspace() string }](c *client, t tool[In]) {
	no := false
	hints := &sdk.ToolAnnotations{ReadOnlyHint: t.reads, OpenWorldHint: &no}
	if !t.reads {
		hints.DestructiveHint = &no
	}
	described := &sdk.Tool{
		Name: t.name, Description: t.description, InputSchema: inputSchema[In](), OutputSchema: outputSchema(t.output),
		Annotations: hints,
	}
	if t.loaded {
		described.Meta = sdk.Meta{"anthropic/alwaysLoad": true} // for Claude Code
	}
	c.sdk.AddTool(described, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var in In
		arguments, o := splitCaller(r.Params.Arguments, originOf(r))
		o.records = !t.reads
		if err := decode(arguments, &in); err != nil {
			return failure(handoff.E(t.name, "", handoff.Invalid, err, handoff.Advice("see the tool's input schema"))), nil
		}
		w, err := c.workspaceOf(ctx, o, in.workspace())
		if err != nil {
			return failure(err), nil
		}
		c.server.note(w.Caller().Producer.Harness)
		a, err := t.do(ctx, &call{w, c, r}, in)
		if err != nil {
			return failure(err), nil
		}
		if t.reports || !t.reads {
			a.text = warned(a.text, warnings(ctx, w, c.server.o.Now()))
		}
		data, err := handoff.EncodeJSON(a.data)
		if err != nil {
			return failure(err), nil
		}
		if a.done != nil {
			a.done(context.WithoutCancel(ctx))
		}
		return &sdk.CallToolResult{
			Content:           append([]sdk.Content{&sdk.TextContent{Text: a.text}}, a.links...),
			StructuredContent: json.RawMessage(data),
		}, nil
	})
}

// inputSchema returns the schema of a tool's arguments.
func inputSchema[In any]() *jsonschema.Schema {
	s, err := jsonschema.ForType(reflect.TypeFor[In](), &jsonschema.ForOptions{})
	if err != nil {
		panic(err) // a type of this package
	}
	s.AdditionalProperties = nil // decode rejects what is unknown, with a list of what is known
	for _, p := range s.Properties {
		// null is accepted, too, but no model needs to know.
		p.Types = slices.DeleteFunc(p.Types, func(name string) bool { return name == "null" })
		if len(p.Types) == 1 {
			p.Type, p.Types = p.Types[0], nil
		}
	}
	return s
}

// errorKey is where the _meta of a result has its error.
const errorKey = "handoff/error"

// failure returns an error as a result that the model can read, with its problems and a
// hint that names a tool. The object of the command line is in _meta: clients validate
// structured content against the schema of a success.
func failure(err error) *sdk.CallToolResult {
	f := newFailure(err)
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: f.text()}},
		Meta: sdk.Meta{errorKey: f}}
}

// link returns a link to an artifact's resource.
func link(a handoff.Artifact) sdk.Content {
	return &sdk.ResourceLink{URI: artifactURI(a.ID), Name: printable.Line(a.Label()), MIMEType: "application/json"}
}

// quoted returns text of others as data on one line.
func quoted(s string) string { return fmt.Sprintf("%q", s) }

// warned appends warnings to a text, one on each line.
func warned(text string, warnings []string) string {
	for _, w := range warnings {
		text += "\nwarning: " + printable.Line(w)
	}
	return text
}

// warnings are about the caller and the workspace rather than about a call: those that
// the command line prints, too.
func warnings(ctx context.Context, w *workspace.Workspace, now time.Time) []string {
	list := slices.Clone(w.Caller().Warnings)
	for _, s := range w.IgnoredSettings() {
		text, how := s.IgnoredNote()
		list = append(list, text+"; "+hintText(how))
	}
	n, oldest, err := w.Store().Queued(ctx)
	switch {
	case err != nil:
		list = append(list, "the queue can't be read: "+err.Error())
	case n > 0:
		list = append(list, textfmt.Queued(n, now.Sub(oldest)))
	}
	return list
}
