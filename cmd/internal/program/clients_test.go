package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// clientAnswers are the answers that the clients in clients have types of.
var clientAnswers = []string{"Error", "Artifact", "PublishedArtifact", "ShownArtifact", "ArtifactPage",
	"RecordedReview", "Verification", "VerificationList", "Continuation"}

// A form is a schema as help prints it, with the members of an object in their order.
type form struct {
	Ref      string `json:"$ref"`
	Type     string
	Items    *form
	AnyOf    []*form
	Values   *form `json:"additionalProperties"`
	Required []string
	Members  formMembers `json:"properties"`
}

type formMembers []namedForm

type namedForm struct {
	name string
	of   *form
}

func (f *form) UnmarshalJSON(b []byte) error {
	type plain form
	if string(b) == "true" {
		return nil // anything
	}
	return json.Unmarshal(b, (*plain)(f))
}

func (m *formMembers) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		member := namedForm{name.(string), new(form)}
		if err := d.Decode(member.of); err != nil {
			return err
		}
		*m = append(*m, member)
	}
	return nil
}

// A language has the notation of the types of a client.
type language struct {
	scalar  map[string]string
	list    string
	mapping string
	object  func(name, base string, own formMembers, f *form, notation func(*form) string) string
}

// TestClientTypes checks that the types of the clients are those of the schemas.
func TestClientTypes(t *testing.T) {
	var doc struct {
		Defs map[string]*form `json:"$defs"`
	}
	out := newConsole(t).ok("help", "--format", "schema")
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	for path, l := range map[string]language{
		"../../../clients/python/agent_handoff/__init__.py": python,
		"../../../clients/typescript/src/types.ts":          typescript,
	} {
		const begin, end = "BEGIN GENERATED TYPES\n", "END GENERATED TYPES"
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		head, rest, _ := strings.Cut(string(text), begin)
		_, tail, found := strings.Cut(rest, end)
		if !found {
			t.Fatalf("%s has no generated types", path)
		}
		comment := head[strings.LastIndex(head, "\n")+1:]
		want := head + begin + l.types(doc.Defs) + comment + end + tail
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if string(text) != want {
			t.Errorf("%s differs from the schemas; run go test ./cmd/internal/program -run TestClientTypes -update", path)
		}
	}
}

// types returns the types of clientAnswers and of what is in them. A type comes after
// those that it has.
func (l language) types(defs map[string]*form) string {
	var b strings.Builder
	seen := map[string]bool{}
	var add func(name string)
	var visit func(f *form)
	visit = func(f *form) {
		if f == nil {
			return
		}
		if f.Ref != "" {
			add(refName(f))
		}
		visit(f.Items)
		visit(f.Values)
		for _, m := range f.Members {
			visit(m.of)
		}
		for _, one := range f.AnyOf {
			visit(one)
		}
	}
	add = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		f := defs[name]
		visit(f)
		base, own := "", f.Members
		if artifact := defs["Artifact"]; name != "Artifact" && extends(f, artifact) {
			base = "Artifact"
			own = slices.DeleteFunc(slices.Clone(own), func(m namedForm) bool { return artifact.Members.has(m.name) })
		}
		b.WriteString(l.object(clientName(name), base, own, f, l.notation))
	}
	for _, name := range clientAnswers {
		add(name)
	}
	return b.String()
}

func (m formMembers) has(name string) bool {
	return slices.ContainsFunc(m, func(n namedForm) bool { return n.name == name })
}

// extends reports whether an object has all members of another.
func extends(f, base *form) bool {
	for _, m := range base.Members {
		if !f.Members.has(m.name) || slices.Contains(f.Required, m.name) != slices.Contains(base.Required, m.name) {
			return false
		}
	}
	return true
}

func refName(f *form) string { return strings.TrimPrefix(f.Ref, "#/$defs/") }

// clientName is the name of a type: Error is one of the languages themselves.
func clientName(name string) string {
	if name == "Error" {
		return "ErrorObject"
	}
	return name
}

func (l language) notation(f *form) string {
	switch {
	case f.Ref != "":
		return clientName(refName(f))
	case f.Items != nil:
		return fmt.Sprintf(l.list, l.notation(f.Items))
	case f.Values != nil:
		return fmt.Sprintf(l.mapping, l.notation(f.Values))
	case len(f.AnyOf) == 2: // and null
		return l.notation(f.AnyOf[0]) + " | " + l.scalar["null"]
	}
	return l.scalar[f.Type]
}

var typescript = language{
	scalar: map[string]string{"string": "string", "boolean": "boolean", "integer": "number", "number": "number",
		"": "unknown", "null": "null"},
	list: "%s[]", mapping: "Record<string, %s>",
	object: func(name, base string, own formMembers, f *form, notation func(*form) string) string {
		var b strings.Builder
		if base != "" {
			base = " extends " + base
		}
		fmt.Fprintf(&b, "export interface %s%s {\n", name, base)
		for _, m := range own {
			mark := "?"
			if slices.Contains(f.Required, m.name) {
				mark = ""
			}
			fmt.Fprintf(&b, "  %s%s: %s\n", m.name, mark, notation(m.of))
		}
		return b.String() + "}\n\n"
	},
}

var python = language{
	scalar: map[string]string{"string": "str", "boolean": "bool", "integer": "int", "number": "float",
		"": "Any", "null": "None"},
	list: "tuple[%s, ...]", mapping: "Mapping[str, %s]",
	object: func(name, base string, own formMembers, f *form, notation func(*form) string) string {
		var b strings.Builder
		if base == "" {
			base = "Object"
		}
		fmt.Fprintf(&b, "\n\n@dataclass(frozen=True, kw_only=True)\nclass %s(%s):\n", name, base)
		for _, m := range own {
			kind := notation(m.of)
			if !slices.Contains(f.Required, m.name) {
				switch {
				case m.of.Items != nil:
					kind += " = ()"
				case kind == "Any":
					kind += " = None"
				default:
					kind += " | None = None"
				}
			}
			fmt.Fprintf(&b, "    %s: %s\n", snake(m.name), kind)
		}
		return b.String()
	},
}

// snake returns the name of an attribute in Python.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	if b.String() == "import" {
		return "import_"
	}
	return b.String()
}
