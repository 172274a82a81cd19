package contract

import (
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

// Preset returns the built-in pipeline, which nobody changes.
var Preset = sync.OnceValue(preset)

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

// A loader reads the files of the builtin and the project folder. It does not access the
// network.
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

// load reads a schema that another one refers to, which is a built-in one.
func (l loader) load(ref string) (any, error) {
	u, err := url.Parse(ref)
	if err != nil {
		return nil, err
	}
	folder, name, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if u.Scheme != scheme || folder != builtinFolder {
		return nil, fmt.Errorf("%s: a schema refers to itself and to built-in schemas only", ref)
	}
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

// change reads a stage, which changes that of the same name or is a new one. In a preset, a
// new one follows the last stage that it needs.
func (d *definition) change(p *Pipeline, n *yaml.Node) {
	s := &Stage{Retries: defaultRetries}
	at := -1
	for i := 0; n.Kind == yaml.MappingNode && p.IsPreset() && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "id" {
			at = slices.Index(p.names(), n.Content[i+1].Value)
		}
	}
	if at >= 0 {
		*s = *p.Stages[at]
	}
	s.given = given{at: map[string]place{"": d.place(n)}}
	d.mapping(n, "a stage", d.stage(s))
	if p.IsPreset() && at < 0 && len(s.Needs) > 0 {
		s.after = s.Needs[len(s.Needs)-1]
	}
	switch {
	case at >= 0:
		p.Stages[at] = s
	case !p.IsPreset():
		p.Stages = append(p.Stages, s)
	default:
		d.insert(p, s)
	}
}

// insert inserts a stage of a project after another one of a preset.
func (d *definition) insert(p *Pipeline, s *Stage) {
	at := slices.Index(p.names(), s.after)
	if at < 0 {
		d.mistakes = append(d.mistakes, s.wrong("needs", "use "+strings.Join(p.names(), ", "),
			"stage %s: needs: unknown stage %q", s.Name, s.after))
		return
	}
	for at+1 < len(p.Stages) && p.Stages[at+1].after == s.after {
		at++ // those that come earlier in the file are inserted first
	}
	s.common = p.Stages[0].common
	p.Stages = slices.Insert(p.Stages, at+1, s)
}

// compile returns a schema, which is given inline or as a file name. Built-in
// schemas are compiled on first use, those of a project at once, to report
// mistakes.
func (l loader) compile(folder, name string, given any) (func() *jsonschema.Schema, error) {
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
