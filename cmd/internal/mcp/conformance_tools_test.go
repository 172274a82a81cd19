//go:build conformance

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	onePixel = []byte(
		"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\nIDATx\x9cc`\x00\x00\x00\x02\x00\x01H\xaf\xa4q\x00\x00\x00\x00IEND\xaeB`\x82")
	silence = []byte("RIFF$\x00\x00\x00WAVEfmt " +
		"\x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00@\x1f\x00\x00\x01\x00\x08\x00data\x00\x00\x00\x00")
)

func embedded(uri string) sdk.Content {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{
		URI: uri, MIMEType: "text/plain", Text: "an embedded resource"}}
}

// addContentTools adds a tool for each kind of content.
func addContentTools(s *sdk.Server) {
	image := &sdk.ImageContent{Data: onePixel, MIMEType: "image/png"}
	for name, content := range map[string][]sdk.Content{
		"test_simple_text":       {&sdk.TextContent{Text: "This is a simple text response for testing."}},
		"test_image_content":     {image},
		"test_audio_content":     {&sdk.AudioContent{Data: silence, MIMEType: "audio/wav"}},
		"test_embedded_resource": {embedded("test://embedded-resource")},
		"test_multiple_content_types": {&sdk.TextContent{Text: "Multiple content types test:"}, image,
			embedded("test://mixed-content-resource")},
		"test_streaming_elicitation": {&sdk.TextContent{Text: "a result without requests"}},
	} {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: "of the conformance suite"},
			func(context.Context, *sdk.CallToolRequest, any) (*sdk.CallToolResult, any, error) {
				return &sdk.CallToolResult{Content: content}, nil, nil
			})
	}
	for name, schema := range map[string]string{"json_schema_2020_12_tool": schema2020,
		"test_x_mcp_header": schemaWithHeader} {
		s.AddTool(&sdk.Tool{Name: name, Description: "of the conformance suite", InputSchema: json.RawMessage(schema)},
			func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return text(string(r.Params.Arguments)), nil
			})
	}
}

const schemaWithHeader = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`

const schema2020 = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
	"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {
		"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"}, "email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]}, "else": {"required": ["email"]}
}`

// addRequestTools adds tools that send something to the client during the call.
func addRequestTools(s *sdk.Server) {
	type toolFunc = func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, any, error)
	for name, do := range map[string]toolFunc{
		"test_tool_with_logging": logged("Tool execution started", "Tool processing data",
			"Tool execution completed"),
		"test_logging_tool":       logged("a message"),
		"test_tool_with_progress": progressed,
		"test_sampling":           sampled,
		"test_elicitation": elicited(
			`{"type":"object","properties":{"username":{"type":"string"},"email":{"type":"string"}},"required":["username","email"]}`),
		"test_elicitation_sep1034_defaults": elicited(schemaDefaults),
		"test_elicitation_sep1330_enums":    elicited(schemaEnums),
		"test_missing_capability":           needsSampling,
		"test_error_handling": func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, any, error) {
			return nil, nil, errors.New("This tool intentionally returns an error for testing")
		},
		"test_reconnection": func(_ context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, any,
			error) {
			if r.Extra != nil && r.Extra.CloseSSEStream != nil {
				r.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
			}
			time.Sleep(100 * time.Millisecond)
			return text("reconnected"), nil, nil
		},
	} {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: "of the conformance suite",
			InputSchema: json.RawMessage(`{"type":"object"}`)}, do)
	}
}

const schemaDefaults = `{"type":"object","properties":{
	"name":{"type":"string","default":"John Doe"}, "age":{"type":"integer","default":30}, "score":{"type":"number","default":95.5},
	"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"}, "verified":{"type":"boolean","default":true}}}`

const schemaEnums = `{"type":"object","properties":{
	"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
	"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"},{"const":"value3","title":"Third"}]},
	"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["One","Two","Three"]},
	"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},
	"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"},{"const":"value3","title":"Third"}]}}}}`

func logged(messages ...string) func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, any,
	error) {
	return func(ctx context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, any, error) {
		for _, m := range messages {
			_ = r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: m})
			time.Sleep(50 * time.Millisecond)
		}
		return text("logged"), nil, nil
	}
}

func progressed(ctx context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, any, error) {
	token := r.Params.GetProgressToken()
	for _, p := range []float64{0, 50, 100} {
		if err := r.Session.NotifyProgress(ctx,
			&sdk.ProgressNotificationParams{ProgressToken: token, Progress: p, Total: 100}); err != nil {
			return nil, nil, err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return text(fmt.Sprint(token)), nil, nil
}

func sampled(ctx context.Context, r *sdk.CallToolRequest, in map[string]any) (*sdk.CallToolResult, any, error) {
	answer, err := r.Session.CreateMessage(ctx, question(fmt.Sprint(in["prompt"])))
	if err != nil {
		return nil, nil, err
	}
	said, _ := answer.Content.(*sdk.TextContent)
	return text("LLM response: " + said.Text), nil, nil
}

func elicited(schema string) func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, any,
	error) {
	return func(ctx context.Context, r *sdk.CallToolRequest, in map[string]any) (*sdk.CallToolResult, any, error) {
		message, _ := in["message"].(string)
		answer, err := r.Session.Elicit(ctx, &sdk.ElicitParams{
			Message: message + ".", RequestedSchema: json.RawMessage(schema)})
		if err != nil {
			return nil, nil, err
		}
		return text(fmt.Sprintf("User response: action=%s, content=%v", answer.Action, answer.Content)), nil, nil
	}
}

func needsSampling(_ context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, any, error) {
	if c := r.ClientCapabilities(); c != nil && c.Sampling != nil {
		return text("the client has sampling"), nil, nil
	}
	data, err := json.Marshal(sdk.MissingRequiredClientCapabilityData{
		RequiredCapabilities: &sdk.ClientCapabilities{Sampling: &sdk.SamplingCapabilities{}}})
	if err != nil {
		return nil, nil, err
	}
	return nil, nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "sampling is required",
		Data: data}
}
