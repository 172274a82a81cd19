package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// decode reads the arguments of a call. Unknown arguments are rejected, because
// one that is ignored would be believed to have had an effect.
func decode(data json.RawMessage, in any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		data = json.RawMessage("{}")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(in)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return errors.New("arguments must be one object")
		}
		return nil
	case errors.As(err, &wrong):
		if wrong.Field == "" {
			return errors.New("arguments must be an object")
		}
		return fmt.Errorf("argument %s must not be a %s", wrong.Field, wrong.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("unknown argument %s", name)
	}
	return errors.New("arguments are not valid JSON")
}
