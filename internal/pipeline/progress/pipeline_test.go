package progress_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
	"github.com/agent-handoff/handoff/internal/tool/testdir"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // the tests lack time, not memory
	os.Exit(testdir.Run(m.Run))
}

// builtin is the built-in pipeline.
var builtin = contract.Preset

// changed returns the built-in pipeline with the changes of a definition.
func changed(text string) (*contract.Pipeline, error) {
	all, err := contract.Parse(contract.Definition, []byte("preset: jg\n"+text), nil)
	return all[""], err
}

// valid are artifacts of a successful run.
var valid = map[string]string{
	"plan":      `{"affected_files":["a.go"],"steps":[{"order":1,"file":"a.go"}],"acceptance_mapping":{"AC1":"a_test.go"}}`,
	"implement": `{"status":"completed","files_changed":["a.go"],"blockers":[],"summary":"s"}`,
	"test":      `{"verdict":"PASS","phase_1":{"unit":{"result":"PASS"}}}`,
	"debug":     `{"failure_source":"unit","failure_description":"d","root_cause":"r","root_cause_file":"a.go","root_cause_line":1,"classification":"fix_target"}`,
	"review":    `{"verdict":"PASS","blockers":[],"concerns":[],"nits":[]}`,
	"git":       `{"branch":"b","commit_sha":"s","commit_message":"m"}`,
}

const fail = `"verdict":"FAIL","phase_1":{"unit":{"result":"FAIL"}}`

// change returns an artifact with some fields replaced.
func change(t testing.TB, artifact, fields string) string {
	t.Helper()
	var a, b map[string]any
	if err := json.Unmarshal([]byte(artifact), &a); err != nil {
		t.Fatal(artifact, err)
	}
	if err := json.Unmarshal([]byte("{"+fields+"}"), &b); err != nil {
		t.Fatal(fields, err)
	}
	maps.Copy(a, b)
	out, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// newFiles returns a directory with the files of run 42.
func newFiles(t testing.TB, files map[string]string) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	run := filepath.Join(dir, ".pipeline", "42")
	if err := os.MkdirAll(run, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(run, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

// read returns the state of run 42 with some files, by name or by stage.
func read(t testing.TB, p *contract.Pipeline, files map[string]string) progress.State {
	t.Helper()
	named := map[string]string{}
	for name, content := range files {
		if s, err := p.Stage(name); err == nil && name == s.Name {
			name = s.Artifact
		}
		if _, ok := named[name]; ok {
			t.Fatalf("%s is given twice", name)
		}
		named[name] = content
	}
	root, _ := newFiles(t, named)
	s, err := progress.Read(root, p, "42")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// done are the valid artifacts of some stages, others in their place.
func done(stages string, others ...string) map[string]string {
	files := map[string]string{}
	for _, stage := range strings.Fields(stages) {
		files[stage] = valid[stage]
	}
	for i := 0; i < len(others); i += 2 {
		files[others[i]] = others[i+1]
	}
	return files
}
