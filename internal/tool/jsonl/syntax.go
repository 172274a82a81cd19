package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// DecodeError returns what is wrong with a document that json.Unmarshal failed to
// decode. It quotes nothing of the document.
func DecodeError(b []byte, err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !json.Valid(b):
		return SyntaxError(b)
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("field %s has the wrong type", wrong.Field)
	}
	return errors.New("has a value of the wrong type")
}

// SyntaxError returns the reason why a document is not JSON, and where. It quotes
// nothing of the document.
func SyntaxError(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	var v any
	err := d.Decode(&v)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		rest := bytes.TrimSpace(b[d.InputOffset():])
		return fmt.Errorf("invalid JSON: trailing data after the value, at %s", position(b, len(b)-len(rest)))
	case len(bytes.TrimSpace(b)) == 0:
		return errors.New("invalid JSON: document is empty")
	case errors.As(err, &syntax):
		return fmt.Errorf("invalid JSON: unexpected character, at %s", position(b, max(0, int(syntax.Offset)-1)))
	}
	return errors.New("invalid JSON: unexpected end of document")
}

func position(b []byte, offset int) string {
	line := 1 + bytes.Count(b[:offset], []byte("\n"))
	return fmt.Sprintf("line %d column %d", line, offset-bytes.LastIndexByte(b[:offset], '\n'))
}
