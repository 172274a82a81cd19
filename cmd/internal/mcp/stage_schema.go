package mcp

import (
	"context"
	"errors"

	"github.com/agent-handoff/handoff"
)

// A StageSchemaInput has the arguments of stage_schema.
type StageSchemaInput struct {
	Common
	Stage   string `json:"stage,omitempty"`
	Issue   string `json:"issue,omitempty" jsonschema:"whose run has the stage"`
	Example bool   `json:"example,omitempty" jsonschema:"an example instead"`
}

var stageSchema = tool[StageSchemaInput]{
	name:        "stage_schema",
	description: "Return the JSON Schema of a stage's artifact.",
	reads:       true,
	do: func(_ context.Context, c *call, in StageSchemaInput) (answer, error) {
		var document any
		var err error
		if contracts := c.Pipelines().Contracts(in.Issue); in.Example {
			document, err = contracts.Example(in.Stage)
		} else {
			document, err = contracts.Schema(in.Stage)
		}
		if err != nil {
			return answer{}, err
		}
		if _, ok := document.(map[string]any); !ok {
			return answer{}, handoff.E("print stage", in.Stage, handoff.Invalid, errors.New("its example is not an object"),
				handoff.Suggest("print the schema", handoff.ActionSchema, in.Stage))
		}
		text, err := handoff.EncodeJSONIndent(document)
		return answer{data: document, text: string(text)}, err
	},
}
