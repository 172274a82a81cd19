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

// TestAction checks that the action is one step without another action, that nothing of
// a pull request but its number gets into it, and only as a variable.
func TestAction(t *testing.T) {
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

// TestScript runs the script of the action with programs in place of gh and go. The
// first run posts a comment, the second updates it, also with the token of an app. The
// comment of another user that starts with the marker is left alone.
func TestScript(t *testing.T) {
	for _, program := range []string{"bash", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("needs " + program)
		}
	}
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"handoff", "agent-handoff"} { // of a PATH that others can change
		write(name, "#!/bin/bash\necho called >\"${0%/*}/foreign\"\n", 0o755)
	}
	// go build -tags s3 -o FILE ./cmd/agent-handoff
	write("go", "#!/bin/bash\ncat >\"$5\" <<'END'\n#!/bin/bash\nprintf '%s\\n' '"+Marker+
		"' \"token=${GH_TOKEN-none} log=$HANDOFF_LOG args=$*\"\njq -c -s length\nEND\nchmod +x \"$5\"\n", 0o755)
	write("gh", `#!/bin/bash
shift
method=GET filter=. body= path=
while (($#)); do
  case $1 in
    --paginate) ;;
    --method) method=$2; shift ;;
    --jq) filter=$2; shift ;;
    -f) shift ;;
    -F) body=${2#body=@}; shift ;;
    *) path=$1 ;;
  esac
  shift
done
echo "$method $path" >>"$LOG"
case "$method $path" in
  *graphql) [[ -n $VIEWER ]] || exit 1; jq -nr "{data: {viewer: {login: env.VIEWER}}} | $filter" ;;
  *comments) if [[ $method = GET ]]; then jq -r "$filter" "$COMMENTS" | while read -r line; do echo "$line"; sleep 0.2; done; else cp "$body" "$POSTED"; fi ;;
  PATCH*) cp "$body" "$POSTED" ;;
  *) echo '{"number": 7}' ;;
esac
`, 0o755)
	foreign := `{"id": 1, "user": {"login": "mallory"}, "body": "` + Marker + ` evil"}`
	viewer := "" // cannot be asked for
	run := func(number, comments string) (log, posted string) {
		t.Helper()
		write("comments.json", comments, 0o644)
		_ = os.Remove(filepath.Join(dir, "log"))
		_ = os.Remove(filepath.Join(dir, "posted"))
		c := exec.Command("bash", filepath.Join(root, ".github", "comment.sh"))
		c.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "LOG=" + filepath.Join(dir, "log"),
			"COMMENTS=" + filepath.Join(dir, "comments.json"), "POSTED=" + filepath.Join(dir, "posted"),
			"VIEWER=" + viewer, "GITHUB_ACTION_PATH=" + dir, "REPOSITORY=o/r", "NUMBER=" + number, "GH_TOKEN=secret",
			"BUILD=source",
			"HANDOFF_LOG=s3://b/p", "HOME=" + dir}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		b, _ := os.ReadFile(filepath.Join(dir, "log")) // neither exists if nothing was asked
		p, _ := os.ReadFile(filepath.Join(dir, "posted"))
		return string(b), string(p)
	}
	log, posted := run("7", "["+foreign+"]")
	if !strings.HasSuffix(log, "POST repos/o/r/issues/7/comments\n") ||
		posted != Marker+"\ntoken=none log=s3://b/p args=export comment\n3\n" {
		t.Errorf("the first run asks\n%sand posts\n%s", log, posted)
	}
	log, posted = run("7", "["+foreign+`, {"id": 2, "user": {"login": "github-actions[bot]"}, "body": "`+Marker+` old"}]`)
	if !strings.HasSuffix(log, "PATCH repos/o/r/issues/comments/2\n") || posted == "" {
		t.Errorf("the second run asks\n%sand posts\n%s", log, posted)
	}
	viewer = "team[bot]"
	log, _ = run("7", "["+foreign+`, {"id": 3, "user": {"login": "team[bot]"}, "body": "`+Marker+` old"}]`)
	if !strings.HasSuffix(log, "PATCH repos/o/r/issues/comments/3\n") {
		t.Errorf("the run of an app asks\n%s", log)
	}
	log, _ = run("7", "["+foreign+`, {"id": 4, "user": {"login": "team[bot]"}, "body": "`+Marker+
		`"}, {"id": 5, "user": {"login": "team[bot]"}, "body": "`+Marker+`"}]`)
	if !strings.HasSuffix(log, "PATCH repos/o/r/issues/comments/4\n") {
		t.Errorf("the run with two comments of its own asks\n%s", log)
	}
	if _, err := os.Stat(filepath.Join(dir, "foreign")); err == nil {
		t.Error("it runs a program that it finds in PATH instead of the one that it builds")
	}
	for _, number := range []string{"", "7; echo x", "../1"} {
		if log, posted := run(number, "[]"); log != "" || posted != "" {
			t.Errorf("number %q: it asks %s and posts %s", number, log, posted)
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
  touch "$name/bin/agent-handoff" "$name/bin/agent-handoff-s3"
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
		_, missing := os.Stat(filepath.Join(dir, "agent-handoff-s3"))
		if (err == nil) != tt.want || (missing == nil) != tt.want {
			t.Errorf("%+v: %v, %v\n%s", tt, err, missing, out)
		}
	}
}
