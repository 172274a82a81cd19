package contract

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/jsonschema"
	"go.yaml.in/yaml/v4"
)

//go:embed builtin
var embedded embed.FS

// MaxFile is the maximum size of a pipeline or schema file, in bytes.
const MaxFile = 1 << 20

// The folders that schemas are in.
const (
	builtinFolder = "builtin"
	projectFolder = "project"
)

// preset returns the built-in pipeline. The caller may change it.
func preset() *Pipeline {
	d := newDefinition("pipeline.yaml", builtinFolder, nil)
	b, err := d.loader.read(builtinFolder, d.file)
	if err != nil {
		panic(err) // unreachable: it is embedded
	}
	p, k := d.pipeline("")
	root := d.document(b)
	d.mapping(root, "a pipeline", k)
	if d.finish(p, root); len(d.mistakes) > 0 {
		panic(d.mistakes) // unreachable: a test reads it
	}
	common, err := d.loader.compile(builtinFolder, "", commonSchema)
	if err != nil {
		panic(err) // unreachable: a test compiles it
	}
	for _, s := range p.Stages {
		s.common = common
	}
	p.preset, p.source = PresetJG, nil
	return p
}

// Load returns the built-in pipeline, changed by the *.yaml files of a project's
// folder in the order of their names, which have the format of earlier versions. In an
// existing stage a file replaces the keys it contains; a new stage names the stage it
// comes after. A schema is inline or a file in the same folder. A nil or missing folder
// changes nothing. Its kinds are Invalid and Unavailable.
func Load(project fs.FS) (*Pipeline, error) {
	p := preset()
	names, err := files(project)
	if err != nil {
		return nil, loadError("", err)
	}
	d := newDefinition("", projectFolder, project)
	for _, name := range names {
		b, err := d.loader.read(projectFolder, name)
		if err != nil {
			return nil, loadError(name, err)
		}
		if d.file = name; len(bytes.TrimSpace(b)) > 0 {
			d.overlay(p, b)
		}
		if len(d.mistakes) > 0 {
			return nil, d.mistakes.err()
		}
	}
	if len(names) > 0 {
		p.sequence()
		d.mistakes = p.check()
	}
	return p, d.mistakes.err()
}

// files returns the names of a project's files, sorted.
func files(project fs.FS) ([]string, error) {
	if project == nil {
		return nil, nil
	}
	entries, err := fs.ReadDir(project, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if path.Ext(e.Name()) == ".yaml" && e.Name()[0] != '.' { // else it is that of an editor
			names = append(names, e.Name())
		}
	}
	return names, err
}

func loadError(name string, err error) error {
	kind := handoff.Invalid
	if errors.Is(err, fs.ErrPermission) {
		kind = handoff.Unavailable
	}
	return handoff.E("read pipeline", name, kind, err, handoff.Advice("see docs/pipeline.md, section Project stages"))
}

// A loader reads the files that schemas refer to, from the builtin and the
// project folder. It does not access the network.
type loader map[string]fs.FS

func newLoader(project fs.FS) loader {
	builtin, err := fs.Sub(embedded, builtinFolder)
	if err != nil {
		panic(err) // unreachable: the folder is embedded
	}
	return loader{builtinFolder: builtin, projectFolder: project}
}

// scheme is the scheme of schema URLs: contract:///builtin/…,
// contract:///project/….
const scheme = "contract"

func (l loader) load(ref string) (any, error) {
	u, err := url.Parse(ref)
	if err != nil || u.Scheme != scheme {
		return nil, fmt.Errorf("%s: schemas must be in the pipeline's folder", ref)
	}
	folder, name, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	b, err := l.read(folder, name)
	if err != nil {
		return nil, err
	}
	return parseSchema(b)
}

func (l loader) read(folder, name string) ([]byte, error) {
	if l[folder] == nil {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	b, err := fs.ReadFile(l[folder], name)
	if err != nil {
		return nil, err
	}
	if len(b) > MaxFile {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", name, len(b), MaxFile)
	}
	return b, nil
}

// overlay applies a file of .handoff/pipelines to p.
func (d *definition) overlay(p *Pipeline, b []byte) {
	root := d.document(b)
	if root == nil {
		return
	}
	d.former = true
	file, k := d.pipeline("")
	file.SelfAssessment = p.SelfAssessment
	file.Planner = p.Planner
	k["stages"] = func(n *yaml.Node) {
		d.list(n, "stages", func(n *yaml.Node) { d.change(p, n) })
	}
	for _, later := range []string{"folder", "preset", "agent_prefix"} {
		delete(k, later)
	}
	d.mapping(root, "a pipeline", k)
	p.SelfAssessment, p.Planner = file.SelfAssessment, file.Planner
	for _, s := range p.Stages {
		s.assess = p.SelfAssessment == Required
	}
}

// change reads a stage, which changes that of the same name or is a new one. In a preset, a
// new one follows the last stage that it needs.
func (d *definition) change(p *Pipeline, n *yaml.Node) {
	s, at, key := &Stage{Retries: defaultRetries}, -1, "id"
	if d.former {
		s.Retries, key = 0, formerKeys[key]
	}
	for i := 0; n.Kind == yaml.MappingNode && p.IsPreset() && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			at = slices.Index(p.names(), n.Content[i+1].Value)
		}
	}
	if at >= 0 {
		*s = *p.Stages[at]
	}
	s.given = given{at: map[string]place{"": d.place(n)}}
	d.mapping(n, "a stage", d.stage(s))
	if d.former && s.Readers == nil {
		s.Readers = []string{}
	}
	if p.IsPreset() && !d.former && at < 0 && len(s.Needs) > 0 {
		s.after = s.Needs[len(s.Needs)-1]
	}
	switch {
	case at >= 0 && s.after == "":
		p.Stages[at] = s
		return
	case at >= 0:
		p.Stages = slices.Delete(p.Stages, at, at+1)
	case !p.IsPreset():
		p.Stages = append(p.Stages, s)
		return
	}
	d.insert(p, s)
}

// insert inserts a stage of a project after another one of a preset.
func (d *definition) insert(p *Pipeline, s *Stage) {
	at := slices.Index(p.names(), s.after)
	if at < 0 {
		key := "needs"
		if d.former {
			key = formerKeys[key]
		}
		d.mistakes = append(d.mistakes, s.wrong(key, "use "+strings.Join(p.names(), ", "),
			"stage %s: %s: unknown stage %q", s.Name, key, s.after))
		return
	}
	for at+1 < len(p.Stages) && p.Stages[at+1].after == s.after {
		at++ // files that come earlier are inserted first
	}
	s.common = p.Stages[0].common
	p.Stages = slices.Insert(p.Stages, at+1, s)
}

// compile returns a schema, which is given inline or as a file name. Built-in
// schemas are compiled on first use, those of a project at once, to report
// mistakes.
func (l loader) compile(folder, name string, given any) (func() *jsonschema.Schema, error) {
	if file, ok := given.(string); ok && !fs.ValidPath(file) {
		return nil, fmt.Errorf("%s: not a file in the pipeline's folder", file)
	}
	compiled := func() (*jsonschema.Schema, error) {
		at, doc, err := l.schema(folder, name, given)
		if err != nil {
			return nil, err
		}
		return jsonschema.Compile(at, doc, l.load)
	}
	if folder == builtinFolder {
		return sync.OnceValue(func() *jsonschema.Schema {
			s, err := compiled()
			if err != nil {
				panic(err) // unreachable: a test compiles it
			}
			return s
		}), nil
	}
	s, err := compiled()
	return func() *jsonschema.Schema { return s }, err
}

// schema returns the document of a schema and its URL.
func (l loader) schema(folder, name string, given any) (at string, doc any, err error) {
	if file, ok := given.(string); ok {
		at = address(folder, file)
		doc, err = l.load(at)
		return at, doc, err
	}
	doc, err = asJSON(given)
	return address(folder, name+".schema.json"), doc, err
}

func address(folder, name string) string {
	return (&url.URL{Scheme: scheme, Path: path.Join("/", folder, name)}).String()
}

// asJSON converts a value from YAML to one from JSON.
func asJSON(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return parseSchema(b)
}

func parseSchema(b []byte) (any, error) {
	doc, problems := decode(b)
	if len(problems) > 0 {
		return nil, errors.New(problems[0].String())
	}
	return doc, nil
}
