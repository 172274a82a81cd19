//go:build conformance

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An inputFunc answers a call from the inputs that the client has given so far.
type inputFunc func(*sdk.CallToolRequest) (*sdk.CallToolResult, error)

// addInputTools adds tools whose result is a request for input, until the client
// has given it.
func addInputTools(s *sdk.Server) {
	for name, do := range map[string]inputFunc{
		"elicitation":     askName,
		"sampling":        askModel,
		"list_roots":      askRoots,
		"request_state":   confirm,
		"tampered_state":  confirm,
		"multiple_inputs": askAll,
		"multi_round":     askTwice,
		"capabilities":    askSupported,
	} {
		tool := &sdk.Tool{Name: "test_input_required_result_" + name, Description: "of the conformance suite",
			InputSchema: json.RawMessage(`{"type":"object"}`)}
		sdk.AddTool(s, tool, func(_ context.Context, r *sdk.CallToolRequest, _ any) (*sdk.CallToolResult, any, error) {
			answer, err := do(r)
			return answer, nil, err
		})
	}
}

func ask(state string, requests sdk.InputRequestMap) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{InputRequests: requests, RequestState: state}, nil
}

func form(message, property, kind string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: message, RequestedSchema: json.RawMessage(
		fmt.Sprintf(`{"type":"object","properties":{%q:{"type":%q}},"required":[%q]}`, property, kind, property))}
}

func question(prompt string) *sdk.CreateMessageParams {
	return &sdk.CreateMessageParams{Messages: []*sdk.SamplingMessage{
		{Role: "user", Content: &sdk.TextContent{Text: prompt}}}, MaxTokens: 100}
}

// given returns a member of an accepted form.
func given(r sdk.InputResponseMap, key, property string) string {
	answer, ok := r[key].(*sdk.ElicitResult)
	if !ok || answer.Action != "accept" {
		return ""
	}
	value, ok := answer.Content[property]
	if !ok {
		return ""
	}
	return fmt.Sprint(value)
}

// said returns the text of a model's answer.
func said(r sdk.InputResponseMap, key string) string {
	answer, ok := r[key].(*sdk.CreateMessageWithToolsResult)
	if !ok {
		return ""
	}
	for _, c := range answer.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			return t.Text
		}
	}
	return ""
}

func askName(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if name := given(r.Params.InputResponses, "user_name", "name"); name != "" {
		return text("Hello, " + name + "!"), nil
	}
	return ask("", sdk.InputRequestMap{"user_name": form("What is your name?", "name", "string")})
}

func askModel(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if answer := said(r.Params.InputResponses, "capital_question"); answer != "" {
		return text(answer), nil
	}
	return ask("", sdk.InputRequestMap{"capital_question": question("What is the capital of France?")})
}

func askRoots(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if answer, ok := r.Params.InputResponses["client_roots"].(*sdk.ListRootsResult); ok {
		return text(fmt.Sprintf("%d roots", len(answer.Roots))), nil
	}
	return ask("", sdk.InputRequestMap{"client_roots": &sdk.ListRootsParams{}})
}

const confirmState = "confirm-1"

func confirm(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	state := r.Params.RequestState
	if state != "" && state != confirmState {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the request state is not one of this server"}
	}
	if state != "" && given(r.Params.InputResponses, "confirm", "ok") != "" {
		return text("state-ok"), nil
	}
	return ask(confirmState, sdk.InputRequestMap{"confirm": form("Continue?", "ok", "boolean")})
}

func askAll(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	in := r.Params.InputResponses
	roots, ok := in["client_roots"].(*sdk.ListRootsResult)
	if name, greeting := given(in, "user_name", "name"), said(in, "greeting"); ok && name != "" && greeting != "" {
		return text(fmt.Sprintf("%s %s, %d roots", greeting, name, len(roots.Roots))), nil
	}
	return ask("all", sdk.InputRequestMap{
		"user_name": form("What is your name?", "name", "string"), "greeting": question("Generate a greeting."),
		"client_roots": &sdk.ListRootsParams{},
	})
}

func askTwice(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	in := r.Params.InputResponses
	if name, second := strings.CutPrefix(r.Params.RequestState, "second "); second {
		return text(name + " likes " + given(in, "step2", "color")), nil
	}
	if r.Params.RequestState == "first" {
		return ask("second "+given(in, "step1", "name"),
			sdk.InputRequestMap{"step2": form("What is your favorite color?", "color", "string")})
	}
	return ask("first", sdk.InputRequestMap{"step1": form("What is your name?", "name", "string")})
}

func askSupported(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if len(r.Params.InputResponses) > 0 {
		return text("complete"), nil
	}
	requests := sdk.InputRequestMap{}
	if c := r.ClientCapabilities(); c != nil {
		if c.Elicitation != nil {
			requests["user_name"] = form("What is your name?", "name", "string")
		}
		if c.Sampling != nil {
			requests["greeting"] = question("Generate a greeting.")
		}
		if c.RootsV2 != nil {
			requests["client_roots"] = &sdk.ListRootsParams{}
		}
	}
	if len(requests) == 0 {
		return text("the client supports no input"), nil
	}
	return ask("", requests)
}

func addFixtureResources(s *sdk.Server) {
	serve := func(mime, text string, blob []byte) sdk.ResourceHandler {
		return func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{
				{URI: r.Params.URI, MIMEType: mime, Text: text, Blob: blob}}}, nil
		}
	}
	s.AddResource(&sdk.Resource{Description: "of the conformance suite", URI: "test://static-text", Name: "static text",
		MIMEType: "text/plain"}, serve("text/plain", "This is the content of the static text resource.", nil))
	s.AddResource(&sdk.Resource{Description: "of the conformance suite", URI: "test://static-binary",
		Name: "static binary", MIMEType: "image/png"}, serve("image/png", "", onePixel))
	s.AddResource(&sdk.Resource{Description: "of the conformance suite", URI: watchedURI, Name: "watched",
		MIMEType: "text/plain"}, serve("text/plain", "watched", nil))
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template",
		MIMEType: "application/json"},
		func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
			return serve("application/json", fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id),
				nil)(context.Background(), r)
		})
}

func addFixturePrompts(s *sdk.Server) {
	user := func(list ...sdk.Content) *sdk.GetPromptResult {
		answer := &sdk.GetPromptResult{}
		for _, c := range list {
			answer.Messages = append(answer.Messages, &sdk.PromptMessage{Role: "user", Content: c})
		}
		return answer
	}
	argument := func(name string) *sdk.PromptArgument { return &sdk.PromptArgument{Name: name, Required: true} }
	s.AddPrompt(&sdk.Prompt{Name: "test_simple_prompt", Description: "of the conformance suite"},
		func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return user(&sdk.TextContent{Text: "This is a simple prompt for testing."}), nil
		})
	s.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_arguments", Description: "of the conformance suite",
		Arguments: []*sdk.PromptArgument{argument("arg1"), argument("arg2")}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			a := r.Params.Arguments
			return user(&sdk.TextContent{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"],
				a["arg2"])}), nil
		})
	s.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_embedded_resource", Description: "of the conformance suite",
		Arguments: []*sdk.PromptArgument{argument("resourceUri")}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return user(embedded(r.Params.Arguments["resourceUri"]), &sdk.TextContent{Text: "Please process it."}), nil
		})
	s.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_image", Description: "of the conformance suite"},
		func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return user(&sdk.ImageContent{Data: onePixel, MIMEType: "image/png"}, &sdk.TextContent{Text: "Please analyze it."}),
				nil
		})
	s.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt", Description: "of the conformance suite"},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			if given := given(r.Params.InputResponses, "user_context", "context"); given != "" {
				return user(&sdk.TextContent{Text: "Context: " + given}), nil
			}
			return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{
				"user_context": form("What is the context?", "context", "string")}}, nil
		})
}
