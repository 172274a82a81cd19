package pullrequest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// root is the directory of the action.
const root = "../../.."

// expression is an expression of a workflow, which is replaced before a script runs.
var expression = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)

// TestActionFile checks that the action is one step without another action, that nothing of
// a pull request but its number gets into it, and only as a variable.
func TestActionFile(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Name, Description string
		Inputs            map[string]struct{ Description, Default string }
		Runs              struct {
			Using string
			Steps []struct {
				Shell, Run string
				Env        map[string]string
			}
		}
	}
	if err := yaml.Load(b, &action, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	if action.Runs.Using != "composite" || len(action.Runs.Steps) != 1 ||
		action.Inputs["token"].Default != "${{ github.token }}" {
		t.Fatalf("action.yml has %+v", action)
	}
	step := action.Runs.Steps[0]
	if step.Shell != "bash" || step.Run != `bash "$GITHUB_ACTION_PATH/.github/comment.sh"` {
		t.Errorf("the step runs %q", step.Run)
	}
	allowed := []string{"inputs.token", "inputs.log", "inputs.log-token", "inputs.version", "inputs.build",
		"inputs.fail-on", "inputs.require", "inputs.allowed-signers",
		"github.repository", "github.event.pull_request.number"}
	for name, value := range step.Env {
		if m := expression.FindStringSubmatch(value); m == nil || m[0] != value || !slices.Contains(allowed, m[1]) {
			t.Errorf("%s is %q", name, value)
		}
	}
	script, err := os.ReadFile(filepath.Join(root, ".github", "comment.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, banned := range []string{"${{", "git clone", "git checkout", "git fetch", "gh pr checkout", "eval",
		"GITHUB_HEAD_REF", "set -x"} {
		if strings.Contains(string(script), banned) {
			t.Errorf("comment.sh has %q", banned)
		}
	}
	if !strings.Contains(string(script), "marker='"+Marker+"'") {
		t.Errorf("comment.sh looks for another marker than %s", Marker)
	}
}

// TestWorkflow checks the workflow that docs/machines.md proposes.
func TestWorkflow(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "docs", "machines.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(b), "```yaml\n# .github/workflows/handoff.yml\n")
	text, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("docs/machines.md has no workflow")
	}
	var workflow struct {
		On          map[string]any
		Permissions map[string]string
		Jobs        map[string]struct {
			RunsOn string `yaml:"runs-on"`
			Steps  []struct {
				Uses string
				With map[string]string
			}
		}
	}
	if err := yaml.Load([]byte(text), &workflow, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	if _, ok := workflow.On["pull_request_target"]; !ok || len(workflow.On) != 1 {
		t.Errorf("it runs on %v", workflow.On)
	}
	if len(workflow.Permissions) != 1 || workflow.Permissions["pull-requests"] != "write" {
		t.Errorf("its permissions are %v", workflow.Permissions)
	}
	for _, job := range workflow.Jobs {
		if len(job.Steps) != 1 || !strings.HasPrefix(job.Steps[0].Uses, "agent-handoff/handoff@") {
			t.Errorf("its steps are %+v", job.Steps)
		}
	}
}

// TestReleasedProgram runs the script that loads a release with a program in place of gh:
// an archive with another checksum, or of another origin, is not unpacked.
func TestReleasedProgram(t *testing.T) {
	script, err := filepath.Abs(filepath.Join(root, ".github", "program.sh"))
	if err != nil {
		t.Fatal(err)
	}
	const gh = `#!/bin/bash
case "$1 $2" in
"attestation verify") [[ -f $3 && $ORIGIN = ours ]] ;;
"release download")
  name=$(echo "$*" | sed 's/.*--pattern \(agent-handoff-.*\)\.tar\.gz$/\1/')
  mkdir -p "$name/bin"
  touch "$name/bin/agent-handoff"
  tar -czf "$name.tar.gz" "$name"
  rm -r "$name"
  shasum -a 256 "$name.tar.gz" >SHA256SUMS
  case $CHANGED in
  archive) echo >>"$name.tar.gz" ;;
  sums) echo >SHA256SUMS ;;
  esac ;;
*) exit 1 ;;
esac
`
	for _, tt := range []struct {
		version, changed, origin string
		want                     bool
	}{
		{"v0.1.0", "", "ours", true},
		{"v0.1.0", "archive", "ours", false},
		{"v0.1.0", "sums", "ours", false},
		{"v0.1.0", "", "another", false},
		{"v0.1.0; touch x", "", "ours", false},
		{"", "", "ours", false},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "gh"), []byte(gh), 0o755); err != nil {
			t.Fatal(err)
		}
		c := exec.Command("bash", script, tt.version, dir)
		c.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "CHANGED=" + tt.changed, "ORIGIN=" + tt.origin}
		out, err := c.CombinedOutput()
		_, missing := os.Stat(filepath.Join(dir, "agent-handoff"))
		if (err == nil) != tt.want || (missing == nil) != tt.want {
			t.Errorf("%+v: %v, %v\n%s", tt, err, missing, out)
		}
	}
}
