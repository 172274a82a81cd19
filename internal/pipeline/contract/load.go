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
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/jsonschema"
	"go.yaml.in/yaml/v4"
)

//go:embed builtin
var embedded embed.FS

// MaxFile is the maximum size of a pipeline or schema file, in bytes.
const MaxFile = 1 << 20

// Load returns the built-in pipeline, changed by the *.yaml files of a project's
// folder in the order of their names. In an existing stage a file replaces the
// keys it contains; a new stage names the stage it comes after. A schema is
// inline or a file in the same folder. A nil or missing folder changes nothing.
// Its kinds are Invalid and Unavailable.
func Load(project fs.FS) (*Pipeline, error) {
	builtin, err := fs.Sub(embedded, "builtin")
	if err != nil {
		return nil, err
	}
	p := &Pipeline{}
	l := loader{"builtin": builtin, "project": project}
	if err := l.overlay(p, "builtin", "pipeline.yaml"); err != nil {
		return nil, err
	}
	names, err := files(project)
	if err != nil {
		return nil, loadError("", err)
	}
	for _, name := range names {
		if err := l.overlay(p, "project", name); err != nil {
			return nil, loadError(name, err)
		}
	}
	if err := p.check(); err != nil {
		return nil, loadError(strings.Join(names, ", "), err)
	}
	common, err := l.compile("builtin", "", commonSchema)
	if err != nil {
		return nil, err
	}
	for _, s := range p.Stages {
		s.assess, s.common = p.SelfAssessment == Required, common
	}
	return p, nil
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

// overlay applies one file to p.
func (l loader) overlay(p *Pipeline, folder, name string) error {
	b, err := l.read(folder, name)
	if err != nil {
		return err
	}
	var file struct {
		SelfAssessment Requirement `yaml:"self_assessment"`
		Planner        string      `yaml:"planner"`
		Stages         []yaml.Node `yaml:"stages"`
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil
	}
	if err := yaml.Load(b, &file, yaml.WithKnownFields()); err != nil {
		return plainfile.InvalidAt(err)
	}
	if file.SelfAssessment != "" {
		p.SelfAssessment = file.SelfAssessment
	}
	if file.Planner != "" {
		p.Planner = file.Planner
	}
	for i := range file.Stages {
		if err := l.stage(p, folder, name, &file.Stages[i]); err != nil {
			return err
		}
	}
	return nil
}

// A stageEntry is a stage in a YAML file.
type stageEntry struct {
	Stage  `yaml:",inline"`
	After  string `yaml:"after"`
	Schema any    `yaml:"schema"`
}

func (l loader) stage(p *Pipeline, folder, file string, n *yaml.Node) error {
	var named struct {
		Name string `yaml:"name"`
	}
	if err := n.Decode(&named); err != nil {
		return plainfile.InvalidAt(err)
	}
	at := slices.IndexFunc(p.Stages, func(s *Stage) bool { return s.Name == named.Name })
	var given stageEntry
	if at >= 0 {
		given.Stage = *p.Stages[at]
	}
	if err := n.Load(&given, yaml.WithKnownFields()); err != nil {
		return fmt.Errorf("stage %s: %w", named.Name, plainfile.InvalidAt(err))
	}
	s := given.Stage
	if given.Schema != nil {
		schema, err := l.compile(folder, file+"/"+s.Name, given.Schema)
		if err != nil {
			return fmt.Errorf("stage %s: %w", s.Name, err)
		}
		s.schema, s.document = schema, func() (map[string]any, error) {
			return l.bundle(folder, file+"/"+s.Name, given.Schema)
		}
	}
	if at >= 0 && given.After == "" {
		p.Stages[at] = &s
		return nil
	}
	if at >= 0 {
		p.Stages = slices.Delete(p.Stages, at, at+1)
	}
	return p.insert(&s, given.After, folder == "project")
}

// insert inserts a stage after another. Stages of the built-in file are appended.
func (p *Pipeline) insert(s *Stage, after string, project bool) error {
	if !project {
		p.Stages = append(p.Stages, s)
		return nil
	}
	at := slices.IndexFunc(p.Stages, func(other *Stage) bool { return other.Name == after })
	if at < 0 {
		return fmt.Errorf("stage %s: after: unknown stage %q (use %s)", s.Name, after, strings.Join(p.names(), ", "))
	}
	for at+1 < len(p.Stages) && p.Stages[at+1].after == after {
		at++ // files that come earlier are inserted first
	}
	s.after = after
	p.Stages = slices.Insert(p.Stages, at+1, s)
	return nil
}

// compile returns a schema, which is given inline or as a file name. Built-in
// schemas are compiled on first use, those of a project at once, to report
// mistakes.
func (l loader) compile(folder, name string, given any) (func() *jsonschema.Schema, error) {
	if file, ok := given.(string); ok && !fs.ValidPath(file) {
		return nil, fmt.Errorf("schema %s: not a file in the pipeline's folder", file)
	}
	compiled := func() (*jsonschema.Schema, error) {
		at, doc, err := l.schema(folder, name, given)
		if err != nil {
			return nil, err
		}
		return jsonschema.Compile(at, doc, l.load)
	}
	if folder == "builtin" {
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
