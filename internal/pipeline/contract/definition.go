package contract

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/safepath"
	"go.yaml.in/yaml/v4"
)

// Definition is the name of the file with the pipelines of a repository, and that of the
// definition that a run has in its folder.
const (
	Definition    = "handoff.pipeline.yaml"
	RunDefinition = "pipeline.yaml"
)

// IsDefinition reports whether a file name is that of a definition.
func IsDefinition(name string) bool { return name == Definition || name == RunDefinition }

// The presets.
const (
	PresetNone = "none"
	PresetJG   = "jg" // the built-in pipeline
)

// The limits of a definition. A stage whose definition has no retries has the default.
const (
	MaxFile        = 1 << 20 // bytes of a pipeline or schema file
	maxPath        = 200     // bytes of a path
	maxRetries     = 100
	maxStages      = 100
	defaultRetries = 2
)

//go:embed builtin
var embedded embed.FS

// Preset returns the built-in pipeline, which nobody changes.
var Preset = sync.OnceValue(preset)

// preset returns the built-in pipeline. The caller may change it.
func preset() *Pipeline {
	all, err := parseBuiltin("pipeline.yaml")
	if err != nil {
		panic(err) // unreachable: a test reads it
	}
	p := all[""]
	common := newSchema(schema{at: builtinURL + commonSchema}).compiled
	for _, s := range p.Stages {
		s.common = common
	}
	p.Preset, p.source = PresetJG, nil
	return p
}

// Tools returns the pipelines of other tools, which keep the files of their runs in folders
// of their own.
func Tools() (map[string]*Pipeline, error) { return parseBuiltin("tools.yaml") }

// parseBuiltin reads a definition that is part of the program.
func parseBuiltin(file string) (map[string]*Pipeline, error) {
	b, err := embedded.ReadFile("builtin/" + file)
	if err != nil {
		return nil, err
	}
	return (&loader{file: file, builtin: true}).parse(b)
}

// Parse returns the pipelines of a definition by their names; "" is the one at the top
// level of the file, which runs have by default. Schemas are inline or files in files.
// Nothing in a definition is executed. The kind of an error is Invalid; it is a Mistakes.
func Parse(file string, b []byte, files fs.FS) (map[string]*Pipeline, error) {
	return (&loader{file: file, files: files}).parse(b)
}

// ParseRun returns the pipeline of the definition that a run has. Its kind is Invalid.
func ParseRun(file string, b []byte) (*Pipeline, error) {
	all, err := Parse(file, b, nil)
	if p := all[""]; p != nil && err == nil {
		return p, nil
	}
	if err == nil {
		err = Mistakes{{File: file, Line: 1, Column: 1, Text: "has no stages", Hint: "write stages at the top level"}}.err()
	}
	return nil, err
}

// A loader reads the pipelines of one file and collects the mistakes in it.
type loader struct {
	file     string
	files    fs.FS // with schemas
	builtin  bool  // the schemas are part of the program
	root     *yaml.Node
	mistakes Mistakes
}

// A definition has the keys of one pipeline.
type definition struct {
	Pipeline `yaml:",inline"`
	List     []yaml.Node `yaml:"stages"`
}

// A definitions has the keys of a file: a pipeline, and others by their names.
type definitions struct {
	definition `yaml:",inline"`
	TopName    string    `yaml:"name"`
	Pipelines  yaml.Node `yaml:"pipelines"`
}

func (l *loader) parse(b []byte) (map[string]*Pipeline, error) {
	root := l.document(b)
	if root == nil {
		return nil, l.mistakes.err()
	}
	top := definitions{definition: start(root)}
	pipelines := map[string]*Pipeline{}
	l.load(root, &top)
	if l.load(&top.Pipelines, &map[string]yaml.Node{}) {
		l.named(&top.Pipelines, pipelines)
	}
	if top.List != nil || top.Preset != "" || len(pipelines) == 0 && len(l.mistakes) == 0 {
		top.Name = top.TopName
		p := l.finish(&top.definition)
		if pipelines[p.Name] != nil {
			l.wrong(root, "give each its own name", "two pipelines have the name %q", p.Name)
		}
		pipelines[""] = p
	}
	return pipelines, l.mistakes.err()
}

// named reads pipelines by their names.
func (l *loader) named(n *yaml.Node, pipelines map[string]*Pipeline) {
	for name, n := range pairs(n) {
		if !isPlain(name.Value) || slices.Contains([]string{PresetNone, PresetJG}, name.Value) {
			l.wrong(name, "use letters, digits, \".\", \"-\" and \"_\"; jg and none are reserved",
				"%q is not the name of a pipeline", name.Value)
		}
		d := start(n)
		l.load(n, &d)
		d.Name = name.Value
		pipelines[name.Value] = l.finish(&d)
	}
}

// start returns the definition that a node changes: of nothing, or of its preset.
func start(n *yaml.Node) definition {
	d := definition{Pipeline: Pipeline{Folder: Folder, SelfAssessment: Optional}}
	if valueOf(n, "preset").Value == PresetJG {
		d.Pipeline = *preset()
	}
	d.node = n
	return d
}

// finish reads the stages of a pipeline, which change those of its preset and are added to
// them, and checks what they say about each other.
func (l *loader) finish(d *definition) *Pipeline {
	p := &d.Pipeline
	if len(d.List) > maxStages {
		l.wrong(&d.List[maxStages], "split the pipeline", "more than %d stages", maxStages)
	}
	for i := range d.List[:min(len(d.List), maxStages)] {
		l.change(p, &d.List[i])
	}
	if p.IsPreset() {
		p.sequence()
	}
	for _, s := range p.Stages {
		s.assess = p.SelfAssessment == Required
	}
	if len(l.mistakes) > 0 {
		return p // a key may be missing because its value is wrong
	}
	if l.check(p); len(l.mistakes) > 0 {
		return p
	}
	if p.source = source(p.Name, d.node); len(p.source) > MaxFile { // a run could not read it
		l.wrong(d.node, "shorten its schemas, or split it into several pipelines",
			"has %d bytes together with its schemas, more than %d", len(p.source), MaxFile)
	}
	return p
}

// change reads a stage, which changes that of the same name or is a new one. In a preset, a
// new one follows the last stage that it needs.
func (l *loader) change(p *Pipeline, n *yaml.Node) {
	s := &Stage{Retries: defaultRetries}
	at := -1
	if p.IsPreset() {
		at = slices.Index(p.names(), valueOf(n, "id").Value)
	}
	if at >= 0 {
		*s = *p.Stages[at]
	}
	s.node = n
	if !l.load(n, s) {
		return
	}
	if valueOf(n, "format") != n {
		s.schema = l.schema(s, valueOf(valueOf(n, "format"), "schema"))
	}
	switch {
	case at >= 0:
		p.Stages[at] = s
	case !p.IsPreset():
		p.Stages = append(p.Stages, s)
	default:
		l.insert(p, s)
	}
}

// insert inserts a stage of a project after another one of a preset.
func (l *loader) insert(p *Pipeline, s *Stage) {
	if len(s.Needs) > 0 {
		s.after = s.Needs[len(s.Needs)-1]
	}
	at := slices.Index(p.names(), s.after)
	if at < 0 {
		l.wrong(valueOf(s.node, "needs"), "use "+strings.Join(p.names(), ", "), "stage %s: needs: unknown stage %q", s.Name,
			s.after)
		return
	}
	for at+1 < len(p.Stages) && p.Stages[at+1].after == s.after {
		at++ // those that come earlier in the file are inserted first
	}
	s.common = p.Stages[0].common
	p.Stages = slices.Insert(p.Stages, at+1, s)
}

// schema returns the schema of a stage. A file of a project becomes part of the definition, so
// that it refers to no other file of the project.
func (l *loader) schema(s *Stage, n *yaml.Node) *schema {
	const hint = "use a JSON Schema (2020-12) or the path of a file with one, relative to the definition"
	if s.Format.Schema.IsZero() {
		return nil
	}
	if l.builtin {
		return newSchema(schema{at: builtinURL + n.Value})
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		own := &loader{file: n.Value}
		b, err := readIn(l.files, n.Value)
		var doc *yaml.Node
		if err == nil {
			doc = own.document(b)
		}
		switch {
		case len(own.mistakes) > 0 && own.mistakes[0].Line > 1:
			l.mistakes = append(l.mistakes, own.mistakes...)
			return nil
		case doc == nil:
			l.wrong(n, hint, "schema: %s is not a readable file with a schema", n.Value)
			return nil
		}
		doc.Line, doc.Column = n.Line, n.Column
		*n = *doc
	}
	var v any
	err := n.Decode(&v)
	if err == nil {
		v, err = asJSON(v)
	}
	compiled := schema{at: projectURL + l.file + "/" + s.Name + ".schema.json", doc: v}
	if err == nil {
		_, err = compiled.compile()
	}
	if err != nil {
		l.wrong(n, hint, "schema: %v", err)
		return nil
	}
	return newSchema(compiled)
}

// readIn reads a file of limited size, if there are files.
func readIn(files fs.FS, name string) ([]byte, error) {
	if files == nil {
		return nil, fs.ErrNotExist
	}
	b, err := fs.ReadFile(files, name)
	if err == nil && len(b) > MaxFile {
		err = fmt.Errorf("%s has %d bytes, more than %d", name, len(b), MaxFile)
	}
	return b, err
}

// source returns a definition as the run that has it keeps it. Its top level has the name.
func source(name string, n *yaml.Node) []byte {
	own := yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	text := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
	if name != "" {
		own.Content = append(own.Content, text("name"), text(name))
	}
	for key, value := range pairs(n) {
		if key.Value != "pipelines" && key.Value != "name" {
			own.Content = append(own.Content, key, value)
		}
	}
	b, err := yaml.Dump(&own)
	if err != nil {
		panic(err) // unreachable: it was read
	}
	return b
}

// UnmarshalYAML reads any, the headings of a Markdown text, or a JSON Schema.
func (f *Format) UnmarshalYAML(n *yaml.Node) error {
	const hint = "use any, {headings: [A, B]} or {schema: FILE}"
	type format Format
	*f = Format{}
	switch {
	case n.Kind == yaml.ScalarNode && n.Value == "any":
		return nil
	case n.Kind == yaml.ScalarNode:
		return wrong(n, hint, "unknown format %q", n.Value)
	}
	if err := strictly(n, (*format)(f)); err != nil {
		return err
	}
	switch {
	case len(n.Content) != 2:
		return wrong(n, hint, "format must have one key: headings or schema")
	case f.Schema.IsZero() && len(f.Headings) == 0:
		return wrong(n.Content[1], "name a heading, or use format: any", "headings is empty")
	}
	return nil
}

// UnmarshalYAML reads who may approve: true, a relation or a list of them.
func (r *Relations) UnmarshalYAML(n *yaml.Node) error {
	list := []*yaml.Node{n}
	switch *r = (Relations{}); {
	case n.Tag == "!!bool" && n.Value == "true":
		return nil
	case n.Tag == "!!bool":
		return wrong(n, "leave the key out: a stage needs no approval without it", "approved must be true or a list")
	case n.Kind == yaml.SequenceNode:
		list = n.Content
	}
	for _, item := range list {
		relation := handoff.Relation(item.Value)
		known := []handoff.Relation{handoff.RelationHuman, handoff.RelationOther, handoff.RelationLead}
		if !slices.Contains(known, relation) {
			return wrong(item, "use true, human, other or lead, or a list of them",
				"gate: approved by %q is none of human, other and lead", relation)
		}
		*r = append(*r, relation)
	}
	return nil
}

// UnmarshalYAML reads a command: its words, the list of its arguments, or a mapping with a
// directory.
func (c *Command) UnmarshalYAML(n *yaml.Node) error {
	type command Command
	if n.Kind != yaml.MappingNode {
		return strictly(n, &c.Argv)
	}
	switch err := strictly(n, (*command)(c)); {
	case err != nil:
		return err
	case c.Argv == nil:
		return wrong(n, commandHint, "command must name the arguments of a command")
	case c.Dir != "" && !isLocal(c.Dir):
		return wrong(valueOf(n, "dir"), "use a directory of the workspace, relative to it",
			"gate: directory %q leaves the workspace", c.Dir)
	}
	return nil
}

const commandHint = "write it as [go, test, ./...]"

// words are the arguments of a command.
type words []string

// shellCharacters are those for which a shell is needed: handoff starts no shell, and
// compares the arguments of commands.
const shellCharacters = "\"'`$&|;<>(){}*\\~#!"

// UnmarshalYAML reads words that are separated by spaces, or a list.
func (w *words) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		if *w = strings.Fields(n.Value); strings.ContainsAny(n.Value, shellCharacters) {
			return wrong(n, "write the list of its arguments, as given to handoff attest",
				"a command with characters of a shell: %q", n.Value)
		}
	} else if err := strictly(n, (*[]string)(w)); err != nil {
		return err
	}
	if len(*w) == 0 || (*w)[0] == "" {
		return wrong(n, commandHint, "command must name the arguments of a command")
	}
	return nil
}

// UnmarshalYAML reads what follows an outcome: a mapping from outcomes to stages, or a list of
// conditions on the fields of the artifact.
func (r *Routes) UnmarshalYAML(n *yaml.Node) error {
	if *r = nil; n.Kind == yaml.SequenceNode {
		return strictly(n, (*[]Route)(r))
	}
	var to map[string]string
	if err := strictly(n, &to); err != nil {
		return err
	}
	for key, value := range pairs(n) {
		if !isPlain(key.Value) || len(key.Value) > maxOutcome {
			return wrong(key, "use one word of at most 40 letters, digits, \".\", \"-\" and \"_\"", "%q is not an outcome",
				key.Value)
		}
		one := Route{When: map[string]any{OutcomeField: key.Value}, To: value.Value, node: value}
		if one.To == Human {
			one.To, one.Ask = "", Human
		}
		*r = append(*r, one)
	}
	return nil
}

// UnmarshalYAML reads a route with a condition.
func (r *Route) UnmarshalYAML(n *yaml.Node) error {
	type route Route
	if err := strictly(n, (*route)(r)); err != nil {
		return err
	}
	when, err := asJSON(r.When)
	if err != nil {
		return wrong(valueOf(n, "when"), "write when: {FIELD: VALUE}", "when: %v", err)
	}
	r.When, r.node = Object(when), n
	return nil
}

// pathMistake returns what is wrong with a path of a definition, "" if nothing is.
func pathMistake(name string, pattern bool) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxPath:
		return "is longer than " + strconv.Itoa(maxPath) + " bytes"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }):
		return strconv.Quote(name) + " has a backslash or a control character"
	case !isLocal(name) || path.Clean(name) != strings.TrimSuffix(name, "/"):
		return strconv.Quote(name) + " is not a path inside, without . and .."
	case !pattern && IsPattern(name):
		return strconv.Quote(name) + " is a pattern"
	case safepath.Check(name) != nil:
		return strconv.Quote(name) + " is in a directory of git or handoff"
	}
	if _, err := path.Match(name, ""); err != nil {
		return strconv.Quote(name) + " is not a valid pattern"
	}
	return ""
}

// asJSON converts a value from YAML to one from JSON.
func asJSON(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return parseSchema(b)
}
