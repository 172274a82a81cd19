package handoff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/tool/secret"
)

// A Replacement says which part of a text of a record is a secret, without the
// secret.
type Replacement struct {
	Field string `json:"field"`           // JSON pointer (RFC 6901) to a value of the record
	Start int    `json:"start,omitempty"` // in bytes of the string
	End   int    `json:"end,omitempty"`   // 0 for the whole value; -1 in a copy that has the replacement already
	Kind  string `json:"kind"`            // what the secret looks like, such as "GitHub token"
}

// findSecrets returns what looks like a secret in the texts of a JSON value. A value
// that has a secret in the name of a member is replaced as a whole, because a pointer
// into it would contain the secret.
func findSecrets(b []byte) ([]Replacement, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	var found []Replacement
	findIn(v, "", "", &found)
	return found, nil
}

// findIn finds the secrets of a value. name is what precedes the value, as that of a
// password does.
func findIn(v any, at, name string, found *[]Replacement) {
	switch v := v.(type) {
	case string:
		*found = append(*found, findNamed(v, at, name)...)
	case []any:
		before := name
		for i, e := range v {
			findIn(e, at+"/"+strconv.Itoa(i), before, found)
			before = name
			if option, ok := e.(string); ok && strings.HasPrefix(option, "-") {
				before = strings.TrimLeft(option, "-") // of an argument vector
			}
		}
	case map[string]any:
		for key := range v {
			if list := secret.Find(key); len(list) > 0 {
				*found = append(*found, Replacement{Field: at, Kind: list[0].Kind})
				return
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			findIn(v[key], at+"/"+pointerEscaper.Replace(key), key, found)
		}
	}
}

// findNamed finds the secrets of a text that follows a name.
func findNamed(text, at, name string) (found []Replacement) {
	prefix := name + "="
	if name == "" || strings.Contains(name, "=") {
		prefix = ""
	}
	for _, m := range secret.Find(prefix + text) {
		if start, end := max(0, m.Start-len(prefix)), m.End-len(prefix); end > 0 {
			found = append(found, Replacement{at, start, end, m.Kind})
		}
	}
	return found
}

var (
	pointerEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// RedactStrings returns the texts of a list, such as an argument vector, with what
// looks like a secret replaced, and whether there was any.
func RedactStrings(list []string) (redacted []string, any bool) {
	redacted = slices.Clone(list)
	before := ""
	for i, text := range list {
		redacted[i] = replaceIn(text, findNamed(text, "", before))
		any = any || redacted[i] != text
		if before = ""; strings.HasPrefix(text, "-") {
			before = strings.TrimLeft(text, "-")
		}
	}
	return redacted, any
}

// RedactText is RedactStrings for one text.
func RedactText(text string) (redacted string, any bool) {
	list, any := RedactStrings([]string{text})
	return list[0], any
}

// replaceIn replaces parts of a text. Parts that are not in it are ignored.
func replaceIn(text string, list []Replacement) string {
	list = order.Sort(slices.Clone(list), func(a, b Replacement) int {
		return cmp.Compare(a.Start, b.Start)
	})
	var b strings.Builder
	done := 0
	for _, r := range list {
		if r.End == 0 {
			return redactedText(r)
		}
		if r.Start < 0 || r.End < r.Start || r.End > len(text) {
			continue
		}
		if r.Start < done { // two searches found parts of the same secret
			done = max(done, r.End)
			continue
		}
		b.WriteString(text[done:r.Start])
		b.WriteString(redactedText(r))
		done = r.End
	}
	b.WriteString(text[done:])
	return b.String()
}

// redactedText is the text that replaces a secret, everywhere.
func redactedText(r Replacement) string {
	const longest = 40
	kind := r.Kind
	if len(kind) > longest || strings.ContainsFunc(kind, func(c rune) bool { return c < ' ' || c > '~' || c == ']' }) {
		kind = "secret" // of a record that something else wrote
	}
	return secret.Redacted(cmp.Or(kind, "secret"))
}

// texts are the texts of a fact that its author writes, as members of a JSON object.
func texts(f Fact) map[string]any {
	switch f := f.(type) {
	case *ArtifactPublished:
		claims := make([]string, len(f.Claims))
		for i, c := range f.Claims {
			claims[i] = c.Text
		}
		return map[string]any{"title": f.Title, "summary": f.Summary, "kind": f.Kind, "tags": f.Tags,
			"metadata": f.Metadata, "claims": claims}
	case *ArtifactWithdrawn:
		return map[string]any{"reason": f.Reason}
	case *ArtifactAccepted:
		return map[string]any{"reason": f.Reason}
	case *SessionOpened:
		return map[string]any{"title": f.Title, "agent": f.Agent.Title, "workflow": f.Workflow.Description,
			"inputs": f.Inputs}
	case *SessionNoted:
		return map[string]any{"tags": f.Tags, "name": f.Name, "summary": f.UserSummary, "metadata": f.Metadata}
	case *SessionClosed:
		return map[string]any{"reason": f.Reason}
	case *WorkStarted:
		return map[string]any{"name": f.Name}
	}
	return nil
}

// checkSecrets returns an error of kind Invalid if a text of a fact looks like a secret.
// The error names the field and the position, not the secret. If secrets are allowed,
// it returns warnings instead.
func checkSecrets(f Fact, allowed bool) (warnings []string, err error) {
	fields := texts(f)
	if fields == nil {
		return nil, nil
	}
	b, err := EncodeJSON(fields)
	if err != nil {
		return nil, err
	}
	found, err := findSecrets(b)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if !allowed {
		r := found[0]
		return nil, E(fieldName(r.Field), "", Invalid,
			fmt.Errorf("has what looks like a secret (%s)%s", r.Kind, position(b, r)),
			Suggest("leave it out: records are permanent and every agent sees them", ActionAllowSecret))
	}
	for _, r := range found {
		text := "the " + fieldName(r.Field) + " may contain a secret; records are permanent and visible to every agent"
		if !slices.Contains(warnings, text) {
			warnings = append(warnings, text)
		}
	}
	return warnings, nil
}

// fieldName returns the field that a pointer names, in words: tags 2.
func fieldName(pointer string) string {
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, part := range parts {
		if n, err := strconv.Atoi(part); err == nil {
			part = strconv.Itoa(n + 1)
		}
		parts[i] = pointerUnescaper.Replace(part)
	}
	return strings.Join(parts, " ")
}

// position returns where in its text a secret starts, in words.
func position(b []byte, r Replacement) string {
	if r.End == 0 {
		return " as the name of a member"
	}
	text, err := stringAt(b, r.Field)
	if err != nil || r.Start > len(text) {
		return ""
	}
	return fmt.Sprintf(" at character %d", utf8.RuneCountInString(text[:r.Start])+1)
}

// stringAt returns the string that a pointer names.
func stringAt(b []byte, pointer string) (string, error) {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return "", err
	}
	for _, part := range strings.Split(pointer, "/")[1:] {
		switch of := v.(type) {
		case map[string]any:
			v = of[pointerUnescaper.Replace(part)]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(of) {
				return "", errors.New("no such element")
			}
			v = of[i]
		}
	}
	text, ok := v.(string)
	if !ok {
		return "", errors.New("not a string")
	}
	return text, nil
}
