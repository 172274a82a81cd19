package manifest

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/jsonschema"
)

// schemaText is the JSON Schema of a manifest, draft 2020-12.
//
//go:embed manifest.schema.json
var schemaText []byte

var schema = sync.OnceValue(func() *jsonschema.Schema {
	doc, err := decodeValue(schemaText)
	if err != nil {
		panic(err) // the schema is embedded
	}
	s, err := jsonschema.Compile("manifest.schema.json", doc, func(string) (any, error) { return nil, fs.ErrNotExist })
	if err != nil {
		panic(err)
	}
	return s
})

// MaxSize is the maximum size of a manifest in bytes: it must fit into a
// record.
const MaxSize = 900 << 10

// Parse decodes the manifest of another engine and returns all its
// violations of the specification. Fields of the wrong type are left empty. It
// returns an error if b is not a JSON object or is too large.
func Parse(b []byte) (Document, []jsonschema.Problem, error) {
	var d Document
	if len(b) > MaxSize {
		return d, nil, fmt.Errorf("size is %d bytes, more than the maximum of %d", len(b), MaxSize)
	}
	doc, err := decodeValue(b)
	if err != nil {
		return d, nil, err
	}
	if _, ok := doc.(map[string]any); !ok {
		return d, nil, errors.New("not a JSON object")
	}
	problems := schema().Check(doc)
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(b, &d); err != nil && !errors.As(err, &wrong) {
		return d, nil, err
	}
	problems = append(problems, d.problems()...)
	return d, jsonschema.Sort(problems), nil
}

// decodeValue decodes b, a single JSON value, and keeps numbers as written.
func decodeValue(b []byte) (any, error) {
	if !json.Valid(b) {
		return nil, jsonl.SyntaxError(b)
	}
	var v any
	return v, decode(b, &v)
}

// problems returns the violations that a JSON Schema cannot express.
func (d Document) problems() []jsonschema.Problem {
	var list []jsonschema.Problem
	add := func(pointer, text string) { list = append(list, jsonschema.Problem{Pointer: pointer, Text: text}) }
	started, errStarted := time.Parse(time.RFC3339, d.Execution.StartedAt)
	completed, errCompleted := time.Parse(time.RFC3339, d.Execution.CompletedAt)
	if d.Execution.CompletedAt != "" && d.Execution.Status == "running" {
		add("/execution/completed_at", "is set while the status is running")
	}
	if errStarted == nil && errCompleted == nil && completed.Before(started) {
		add("/execution/completed_at", "is earlier than started_at")
	}
	seen := map[string]int{}
	for i, o := range d.Outputs {
		if first, twice := seen[o.File]; twice {
			add("/outputs/"+strconv.Itoa(i)+"/file", "is already listed as output "+strconv.Itoa(first))
			continue
		}
		seen[o.File] = i
	}
	if i := slices.Index(d.Related, d.SessionID); i >= 0 {
		add("/related_sessions/"+strconv.Itoa(i), "refers to the session itself")
	}
	return list
}
