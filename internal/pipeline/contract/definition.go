package contract

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

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

// defaultRetries are the retries of a stage whose definition has none.
const defaultRetries = 2

// maxRetries and maxStages limit a definition.
const (
	maxRetries = 100
	maxStages  = 100
)

// Parse returns the pipelines of a definition by their names; "" is the one at the top
// level of the file, which runs have by default. Schemas are inline or files in files.
// Nothing in a definition is executed. The kind of an error is Invalid; it is a Mistakes.
func Parse(file string, b []byte, files fs.FS) (map[string]*Pipeline, error) {
	d := newDefinition(file, projectFolder, files)
	pipelines := map[string]*Pipeline{}
	root := d.document(b)
	if root == nil && len(d.mistakes) == 0 {
		d.mistakes = append(d.mistakes, place{file, 1, 1}.wrong("write a list of stages", "has no stages"))
	}
	if root == nil {
		return nil, d.mistakes.err()
	}
	top, k := d.pipeline("")
	k["name"] = func(n *yaml.Node) { top.Name = d.text(n, "name") }
	k["pipelines"] = func(n *yaml.Node) { d.named(n, pipelines) }
	before := len(d.mistakes)
	d.mapping(root, "a definition", k)
	if top.stages != nil || top.preset != "" || len(pipelines) == 0 && len(d.mistakes) == before {
		d.finish(top, root)
		if pipelines[top.Name] != nil {
			d.mistakes = append(d.mistakes,
				top.place.wrong("give each its own name", "two pipelines have the name %q", top.Name))
		}
		pipelines[""] = top
	}
	return pipelines, d.mistakes.err()
}

// ParseRun returns the pipeline of the definition that a run has in its folder. Its kind
// is Invalid.
func ParseRun(file string, b []byte) (*Pipeline, error) {
	all, err := Parse(file, b, nil)
	if p := all[""]; p != nil && err == nil {
		return p, nil
	}
	if err == nil {
		err = Mistakes{place{file, 1, 1}.wrong("write stages at the top level", "has no stages")}.err()
	}
	return nil, err
}

// named reads pipelines by their names.
func (d *definition) named(n *yaml.Node, pipelines map[string]*Pipeline) {
	k := keys{}
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i]
			k[name.Value] = func(n *yaml.Node) {
				if !isPlain(name.Value) || slices.Contains([]string{PresetNone, PresetJG}, name.Value) {
					d.wrong(name, "use letters, digits, \".\", \"-\" and \"_\"; jg and none are reserved",
						"%q is not the name of a pipeline", name.Value)
				}
				p, k := d.pipeline(name.Value)
				d.mapping(n, "a pipeline", k)
				d.finish(p, n)
				pipelines[name.Value] = p
			}
		}
	}
	d.mapping(n, "pipelines", k)
}

// A definition reads pipelines.
type definition struct {
	reader
	loader loader
	folder string // where its schemas are: builtin or project
}

func newDefinition(file, folder string, files fs.FS) *definition {
	return &definition{reader: reader{file: file}, loader: newLoader(files), folder: folder}
}

// pipeline returns an empty pipeline and what reads its keys.
func (d *definition) pipeline(name string) (*Pipeline, keys) {
	p := &Pipeline{Name: name, Folder: Folder}
	return p, keys{
		"stages": func(n *yaml.Node) { p.stages = n },
		"preset": func(n *yaml.Node) {
			if p.preset = d.text(n, "preset"); p.preset != PresetNone && p.preset != PresetJG {
				d.wrong(n, "use jg, the built-in pipeline, or none", "unknown preset %q", n.Value)
			}
		},
		"folder": func(n *yaml.Node) {
			p.Folder = path.Clean(d.text(n, "folder"))
			if why := pathMistake(n.Value, false); why != "" {
				d.wrong(n, "name a directory of the repository, relative to its root", "folder %s", why)
			}
		},
		"self_assessment": func(n *yaml.Node) {
			p.SelfAssessment = Requirement(d.text(n, "self_assessment"))
			if p.SelfAssessment != Optional && p.SelfAssessment != Required {
				d.wrong(n, "use optional or required", "self_assessment is %q, must be optional or required", n.Value)
			}
		},
		"planner":      func(n *yaml.Node) { p.Planner = d.text(n, "planner") },
		"agent_prefix": func(n *yaml.Node) { p.AgentPrefix = d.text(n, "agent_prefix") },
	}
}

// finish completes a pipeline that was read from n: its stages change those of its preset
// and are added to them, and what they say about each other is checked.
func (d *definition) finish(p *Pipeline, n *yaml.Node) {
	p.place = d.place(n)
	if p.preset == PresetJG {
		*p = *preset().changedBy(p)
	}
	p.SelfAssessment = cmp.Or(p.SelfAssessment, Optional)
	if p.stages != nil {
		d.list(p.stages, "stages", func(n *yaml.Node) {
			if len(p.Stages) == maxStages {
				d.wrong(n, "split the pipeline", "more than %d stages", maxStages)
			}
			if len(p.Stages) < maxStages {
				d.change(p, n)
			}
		})
	}
	if p.IsPreset() {
		p.sequence()
	}
	for _, s := range p.Stages {
		s.assess = p.SelfAssessment == Required
	}
	if len(d.mistakes) == 0 { // otherwise a key may be missing because its value is wrong
		d.mistakes = p.check()
	}
	if len(d.mistakes) == 0 {
		if p.source = source(p.Name, n); len(p.source) > MaxFile { // a run could not read it
			d.wrong(n, "shorten its schemas, or split it into several pipelines",
				"has %d bytes together with its schemas, more than %d", len(p.source), MaxFile)
		}
	}
	p.stages = nil
}

// changedBy gives a preset what a definition has beside stages, and returns it.
func (p *Pipeline) changedBy(own *Pipeline) *Pipeline {
	p.Name = own.Name
	p.Folder = own.Folder
	p.SelfAssessment = cmp.Or(own.SelfAssessment, p.SelfAssessment)
	p.Planner = cmp.Or(own.Planner, p.Planner)
	p.AgentPrefix = cmp.Or(own.AgentPrefix, p.AgentPrefix)
	p.place = own.place
	p.stages = own.stages
	return p
}

// source returns a definition as the run that has it keeps it. Its top level has the name.
func source(name string, n *yaml.Node) []byte {
	own := yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	text := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
	if name != "" {
		own.Content = append(own.Content, text("name"), text(name))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i].Value; key != "pipelines" && key != "name" {
			own.Content = append(own.Content, n.Content[i:i+2]...)
		}
	}
	b, err := yaml.Dump(&own)
	if err != nil {
		panic(err) // unreachable: it was read
	}
	return b
}

// stage returns what reads the keys of a stage.
func (d *definition) stage(s *Stage) keys {
	k := keys{
		"id":       func(n *yaml.Node) { s.Name = d.text(n, "id") },
		"purpose":  func(n *yaml.Node) { s.Purpose = d.text(n, "purpose") },
		"by":       func(n *yaml.Node) { s.Writer = d.text(n, "by") },
		"writes":   func(n *yaml.Node) { s.Artifact = d.text(n, "writes") },
		"aliases":  func(n *yaml.Node) { s.Aliases = d.texts(n, "aliases") },
		"format":   func(n *yaml.Node) { d.format(s, n) },
		"needs":    func(n *yaml.Node) { s.Needs = d.texts(n, "needs") },
		"readers":  func(n *yaml.Node) { s.Readers = d.texts(n, "readers") },
		"gate":     func(n *yaml.Node) { d.gate(s, n) },
		"on":       func(n *yaml.Node) { d.routes(s, n) },
		"checks":   func(n *yaml.Node) { d.checks(s, n) },
		"retries":  func(n *yaml.Node) { s.Retries = d.retries(n) },
		"optional": func(n *yaml.Node) { s.Optional = d.flag(n, "optional") },
		"detour":   func(n *yaml.Node) { s.Detour = d.flag(n, "detour") },
		"skip":     func(n *yaml.Node) { s.Skip = d.text(n, "skip") },
	}
	for name, read := range k {
		k[name] = func(n *yaml.Node) {
			s.at[name] = d.place(n)
			read(n)
		}
	}
	return k
}

// retries reads a number of retries.
func (d *definition) retries(n *yaml.Node) int {
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || v < 0 || v > maxRetries {
		d.wrong(n, "use a number from 0 to "+strconv.Itoa(maxRetries), "retries must be a number from 0, not %s", kindOf(n))
	}
	return v
}

func (d *definition) checks(s *Stage, n *yaml.Node) {
	s.Checks = nil
	d.list(n, "checks", func(n *yaml.Node) {
		c := Check(d.text(n, "checks"))
		if !slices.Contains(checks, c) {
			d.wrong(n, "use plan, changes, tests, review or merge", "unknown check %q (use %v)", c, checks)
		}
		s.Checks = append(s.Checks, c)
	})
}

// format reads what an artifact must look like.
func (d *definition) format(s *Stage, n *yaml.Node) {
	s.Headings, s.schema, s.document = nil, nil, nil
	if n.Kind == yaml.ScalarNode {
		if n.Value != "any" {
			d.wrong(n, "use any, {headings: [A, B]} or {schema: FILE}", "unknown format %q", n.Value)
		}
		return
	}
	d.mapping(n, "format", keys{
		"headings": func(n *yaml.Node) {
			if s.Headings = d.texts(n, "headings"); n.Kind == yaml.SequenceNode && len(s.Headings) == 0 {
				d.wrong(n, "name a heading, or use format: any", "headings is empty")
			}
		},
		"schema": func(n *yaml.Node) { d.schema(s, n) },
	})
	if n.Kind == yaml.MappingNode && len(n.Content) != 2 {
		d.wrong(n, "use any, {headings: [A, B]} or {schema: FILE}", "format must have one key: headings or schema")
	}
}

// schema reads a JSON Schema, or the name of its file. A file of a project becomes part of
// the definition, so that it refers to no other file of the project.
func (d *definition) schema(s *Stage, n *yaml.Node) {
	const hint = "use a JSON Schema (2020-12) or the path of a file with one, relative to the definition"
	if n.Kind == yaml.ScalarNode && d.folder == projectFolder {
		b, err := d.loader.read(projectFolder, n.Value)
		var doc yaml.Node
		if err == nil {
			err = yaml.Load(b, &doc)
		}
		if err != nil || len(doc.Content) == 0 {
			d.wrong(n, hint, "schema: %s is not a readable file with a schema", n.Value)
			return
		}
		own := reader{file: n.Value}
		if own.refuseAliases(&doc); len(own.mistakes) > 0 {
			d.mistakes = append(d.mistakes, own.mistakes...)
			return
		}
		doc.Content[0].Line, doc.Content[0].Column = n.Line, n.Column
		*n = *doc.Content[0]
	}
	var given any = n.Value
	if n.Kind != yaml.ScalarNode {
		given = d.value(n, "schema")
	}
	name := d.file + "/" + s.Name
	compiled, err := d.loader.compile(d.folder, name, given)
	if err != nil {
		d.wrong(n, hint, "schema: %v", err)
		return
	}
	s.schema = compiled
	s.document = func() (map[string]any, error) { return d.loader.bundle(d.folder, name, given) }
}

func (d *definition) gate(s *Stage, n *yaml.Node) {
	s.Gate = Gate{}
	k := keys{
		"approved": func(n *yaml.Node) { s.Gate.Approved = d.relations(n) },
		"verified": func(n *yaml.Node) {
			s.Requires = nil
			d.list(n, "verified", func(n *yaml.Node) { d.command(s, n) })
			if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
				d.wrong(n, "name a command, or leave the key out", "verified is empty")
			}
		},
	}
	d.mapping(n, "gate", k)
}

// relations reads who may approve: true, a relation or a list of them.
func (d *definition) relations(n *yaml.Node) []handoff.Relation {
	const hint = "use true, human, other or lead, or a list of them"
	list := []handoff.Relation{}
	one := func(n *yaml.Node) {
		relation := handoff.Relation(d.text(n, "approved"))
		known := []handoff.Relation{handoff.RelationHuman, handoff.RelationOther, handoff.RelationLead}
		if !slices.Contains(known, relation) {
			d.wrong(n, hint, "gate: approved by %q is none of human, other and lead", relation)
		}
		list = append(list, relation)
	}
	switch {
	case n.Tag == "!!bool" && n.Value == "true":
	case n.Tag == "!!bool":
		d.wrong(n, "leave the key out: a stage needs no approval without it", "approved must be true or a list")
	case n.Kind == yaml.ScalarNode:
		one(n)
	default:
		d.list(n, "approved", one)
	}
	return list
}

// shellCharacters are those for which a shell is needed: handoff starts no shell, and
// compares the arguments of commands.
const shellCharacters = "\"'`$&|;<>(){}*\\~#!"

// command reads a command that must be verified: its words, the list of its arguments, or
// a mapping with a directory.
func (d *definition) command(s *Stage, n *yaml.Node) {
	var need Need
	words := func(n *yaml.Node) {
		if n.Kind == yaml.SequenceNode {
			for _, item := range n.Content {
				need.Verified = append(need.Verified, d.text(item, "an argument"))
			}
		} else if text := d.text(n, "a command"); strings.ContainsAny(text, shellCharacters) {
			d.wrong(n, "write the list of its arguments, as given to handoff attest", "a command with characters of a shell: %q",
				text)
		} else {
			need.Verified = strings.Fields(text)
		}
		if len(need.Verified) == 0 || need.Verified[0] == "" {
			d.wrong(n, "write it as [go, test, ./...]", "command must name the arguments of a command")
		}
	}
	if n.Kind != yaml.MappingNode {
		words(n)
	} else {
		d.mapping(n, "a command", keys{"command": words, "dir": func(n *yaml.Node) {
			if need.Dir = d.text(n, "dir"); !isLocal(need.Dir) {
				d.wrong(n, "use a directory of the workspace, relative to it", "requires: directory %q leaves the workspace",
					need.Dir)
			}
		}})
		if n.Kind == yaml.MappingNode && need.Verified == nil {
			d.wrong(n, "write it as [go, test, ./...]", "command must name the arguments of a command")
		}
	}
	s.Requires = append(s.Requires, need)
}

// routes reads what follows an outcome: a mapping from outcomes to stages, or a list of
// conditions on the fields of the artifact.
func (d *definition) routes(s *Stage, n *yaml.Node) {
	s.Routes = nil
	if n.Kind == yaml.SequenceNode {
		for _, n := range n.Content {
			d.route(s, n)
		}
		return
	}
	if n.Kind != yaml.MappingNode {
		d.wrong(n, "write on: {OUTCOME: STAGE}, or a list of conditions", "on must be a mapping, not %s", kindOf(n))
		return
	}
	k := keys{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		outcome := n.Content[i].Value
		k[outcome] = func(n *yaml.Node) {
			to := d.text(n, "the target of "+strconv.Quote(outcome))
			r := Route{When: map[string]any{OutcomeField: outcome}, To: to, at: d.place(n)}
			if to == Human {
				r.To, r.Ask = "", Human
			}
			s.Routes = append(s.Routes, r)
		}
		if !isPlain(outcome) || len(outcome) > maxOutcome {
			d.wrong(n.Content[i], "use one word of at most 40 letters, digits, \".\", \"-\" and \"_\"", "%q is not an outcome",
				outcome)
		}
	}
	d.mapping(n, "on", k)
}

func (d *definition) route(s *Stage, n *yaml.Node) {
	r := Route{at: d.place(n)}
	d.mapping(n, "a route", keys{
		"when": func(n *yaml.Node) {
			v, ok := d.value(n, "when").(map[string]any)
			if r.When = v; !ok {
				d.wrong(n, "write when: {FIELD: VALUE}", "when must be a mapping, not %s", kindOf(n))
			}
		},
		"to":       func(n *yaml.Node) { r.To = d.text(n, "to") },
		"ask":      func(n *yaml.Node) { r.Ask = d.text(n, "ask") },
		"reason":   func(n *yaml.Node) { r.Reason = d.text(n, "reason") },
		"escalate": func(n *yaml.Node) { r.Escalate = d.flag(n, "escalate") },
	})
	s.Routes = append(s.Routes, r)
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

// maxPath is the maximum length of a path in a definition, in bytes.
const maxPath = 200
