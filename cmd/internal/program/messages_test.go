package program

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// libraryWords are words of Go and of libraries, which mean nothing to a user.
var libraryWords = regexp.MustCompile(
	`strconv|strings\.|(^|[\s"'(:])(yaml|json): |go-yaml|libyaml|construct|!!\w+|unmarshal|not found in type|\btype [a-z]+\.[A-Z]` +
		`|parsing "|parsing regexp|time: |invalid duration|pflag|cobra|flags in the group|reflect|0x[0-9a-f]{6}|goroutine|panic|\bnil\b|\bstruct\b|\bEOF\b|invalid character|looking for beginning|line \d+: (cannot|could not)|map\[|interface \{`)

// checkMessages reports words of libraries in what a command printed.
func checkMessages(t *testing.T, line, said string) {
	t.Helper()
	if found := libraryWords.FindString(said); found != "" {
		t.Errorf("handoff %s: %q in\n%s", line, found, said)
	}
}

// TestFlagMessages gives wrong values to every flag: each one of them, with HANDOFF_LONG all.
func TestFlagMessages(t *testing.T) {
	t.Parallel()
	values := []string{"xyzzy", "", "-1", "99999999999999999999", "(", "=", "2026-13-45", "\xff", "http://["}
	flags, tried, part := 0, 0, len(values)
	if os.Getenv("HANDOFF_LONG") != "" {
		part = 1
	}
	c := newConsole(t)
	eachCommand(func(path []string, command *cobra.Command) {
		if slices.Contains([]string{"demo", "mcp"}, path[0]) {
			return
		}
		args := validArgs(command)
		command.LocalFlags().VisitAll(func(f *pflag.Flag) {
			flags++
			for i, value := range values {
				if path[0] == "serve" && value == "" || (flags+i)%part > 0 {
					continue // the empty one is the default: it would serve
				}
				line := append(slices.Clone(path), args...)
				if slices.Contains([]string{"watch", "wait"}, path[0]) && f.Name != "timeout" {
					line = append(line, "--timeout=1ms")
				}
				line = append(line, "--"+f.Name+"="+value)
				if path[0] == "run" {
					line = []string{"run", "--" + f.Name + "=" + value, "--", "nowhere"}
				}
				before := c.said.Len()
				_, code := c.run("", line...)
				checkMessages(t, strings.Join(line, " "), string(c.said.Bytes()[before:]))
				if code == 70 {
					t.Errorf("handoff %s exits 70: %s", strings.Join(line, " "), string(c.said.Bytes()[before:]))
				}
				tried++
			}
		})
	})
	if tried < 1500/part {
		t.Errorf("tried %d values, which can't be all", tried)
	}
}

// validArgs returns the least number of arguments that a command accepts.
func validArgs(c *cobra.Command) (args []string) {
	for range 4 {
		if c.Args == nil || c.Args(c, args) == nil {
			break
		}
		args = append(args, "nowhere")
	}
	return args
}

// brokenYAML are files that are not what they should be.
var brokenYAML = []string{
	"a", "- a", "[", "{a", "a: b: c", "\ta: b", "a: &x *x", "a: *x", "a: 'b", "%YAML 9", "a: b\na: c", "? [a]\n: b",
	"!!binary x", "a: !x y", "--- a\n--- b", "\xff\xfe", "bogus: 1",
}

// keysOf returns files with a wrong value for each key.
func keysOf(keys ...string) (files []string) {
	for _, key := range keys {
		for _, value := range []string{"xyzzy", "[a]", "{a: b}", "-1", "1.5", "true", "2026-01-02", "null", "/X"} {
			files = append(files, key+": "+value+"\n")
		}
	}
	return files
}

// TestFileMessages reads wrong files of every kind that a user writes: some of each, with
// HANDOFF_LONG all.
func TestFileMessages(t *testing.T) {
	t.Parallel()
	const brokenJSON = "\x00{\x00{\"a\x00[1,\x00nul\x00{}\x00[]\x00\"a\"\x001\x00{\"a\":1}x\x00{\"a\":1,\"a\":2}\x00\xff\x00{\"session_id\":1}\x00" +
		`{"version":1,"session_id":[],"agent":"x","workflow":{"name":1},"execution":[],"outputs":{},"userSummary":5}` +
		"\x00" +
		`{"affected_files":1,"steps":{},"acceptance_mapping":[]}` + "\x00" +
		`{"affected_files":[1],"steps":[1],"acceptance_mapping":{"a":1}}`
	const session = "docs/agent-outputs/8fd17d3d-5e4d-40c9-811e-63c7ecdcdf1e"
	stage := "name: x\nstages:\n- "
	stages := keysOf("id", "purpose", "by", "writes", "aliases", "format", "needs", "readers", "gate", "on", "checks",
		"retries", "optional", "detour", "skip")
	for i := range stages {
		stages[i] = stage + stages[i]
	}
	for _, tt := range []struct {
		file  string
		texts []string
		lines []string
	}{
		{
			".handoff/config.yaml", append(keysOf("channels", "keep", "limits", "output_folder", "agent_outputs_folder",
				"keep_limit", "limits: {digest: x}", "channels: {a: [b]}"), brokenYAML...),
			[]string{"list", "publish a.md --channel design", "session open --agent a --workflow w"}},
		{"handoff.pipeline.yaml",
			append(append(keysOf("name", "preset", "folder", "planner", "self_assessment", "stages", "pipelines"), stages...),
				brokenYAML...),
			[]string{"pipeline schema plan", "pipeline init 43"}},
		{
			".pipeline/lessons.yaml",
			append(keysOf("lessons", "lessons: [{frequency: x}]", "lessons: [{pattern: [a]}]", "lessons: [{date: x}]"),
				brokenYAML...), []string{"pipeline validate .pipeline/lessons.yaml"}},
		{".pipeline/42/state.yaml", append(keysOf("issue", "status", "stages", "retries", "acceptance_criteria"),
			brokenYAML...), []string{"show 42 --state", "pipeline next 42", "show 42"}},
		{".pipeline/42/plan.json", strings.Split(brokenJSON, "\x00"),
			[]string{"pipeline validate .pipeline/42/plan.json", "pipeline gate 42 plan",
				"pipeline put 42 plan .pipeline/42/plan.json", "pipeline next 42", "show 42"}},
		{".handoff/log/00000000/000000000001.json",
			append(strings.Split(brokenJSON, "\x00"), `{"version":1,"type":"artifact.published","id":"x","createdAt":"y"}`,
				`{"version":1,"type":"artifact.published","id":"x","path":[]}`, `{"version":"1"}`),
			[]string{"list", "check", "show design:latest"}},
		{session + "/manifest.json", strings.Split(brokenJSON, "\x00"),
			[]string{"import " + session, "import " + session + " --lenient"}},
		{
			"workflow.yaml", append(keysOf("name", "description", "context", "output_folder", "session_folder", "variables",
				"default_output_file", "inputs"), brokenYAML...),
			[]string{"config explain session_folder --workflow-file workflow.yaml", "session open --agent a --workflow-file " +
				"workflow.yaml --workflow w", "config explain session_folder --config-file workflow.yaml"}},
		{"agent.md", append(keysOf("name", "title", "bundle"), brokenYAML...),
			[]string{"session open --agent-file agent.md --workflow w"}},
		{"handoff.yaml", append(keysOf("channels", "keep", "log"), brokenYAML...),
			[]string{"list", "publish a.md --channel design"}},
	} {
		c := newConsole(t)
		c.write("a.md", "x")
		c.ok("publish", "a.md", "--channel", "design")
		c.write(".pipeline/42/plan.json", `{}`)
		for _, text := range some(tt.texts) {
			c.write(tt.file, text)
			for _, line := range tt.lines {
				before := c.said.Len()
				_, code := c.run("", strings.Fields(line)...)
				said := string(c.said.Bytes()[before:])
				checkMessages(t, line+" with "+tt.file+" "+text, said)
				if code == 70 {
					t.Errorf("handoff %s with %s %q exits 70: %s", line, tt.file, text, said)
				}
			}
		}
	}
}
