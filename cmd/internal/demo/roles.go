package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
)

// names are the four agents.
var names = []string{"architect", "builder", "reviewer", "lead"}

var roles = map[string]func(*agent){
	"architect": (*agent).architect, "builder": (*agent).builder,
	"reviewer": (*agent).reviewer, "lead": (*agent).lead,
}

// Play runs one agent in its directory. Error kind: Invalid if there is
// no such role.
func (s Stage) Play(ctx context.Context, role string) error {
	play, ok := roles[role]
	if !ok {
		return handoff.E("demo", role, handoff.Invalid, errors.New("no such role"),
			handoff.Advice("use one of "+strings.Join(names, ", ")))
	}
	a := &agent{Stage: s, ctx: ctx}
	play(a)
	return a.err
}

// An agent is one agent of the demo. It finds the files that it reads with the
// commands that any agent would use. After an error it does nothing.
type agent struct {
	Stage
	ctx context.Context
	err error
}

// patience is how long an agent waits for another.
const patience = "60s"

// architect publishes a design, and a revision of it when the tests pass.
func (a *agent) architect() {
	design := a.publish("design.md", embedded("design.md"), "design", "Slugs: one dash between words")
	passed := a.wait("--channel", "verification", "--tag", "pass")
	text := embedded("design.md") + "\nLearned: letters beyond a to z are separators too. That is a limit, not a goal.\n"
	a.publish("design-limits.md", text, "design", "Slugs, with their limits", "--tag", "revision", "--replaces", design.ID,
		"--from", passed.ID)
}

// builder publishes a patch, and a second one when the tests of the first fail.
func (a *agent) builder() {
	design := a.wait("--channel", "design")
	a.read(design)
	first := a.patch("attempt1.sh", "fix-1.diff", "Join words with one dash", "--from", design.ID)
	failed := a.wait("--channel", "verification", "--tag", "fail")
	a.read(failed)
	a.patch("attempt2.sh", "fix-2.diff", "Words are letters and digits", "--replaces", first.ID, "--from", design.ID,
		"--from", failed.ID)
}

// patch changes the program and publishes the diff.
func (a *agent) patch(attempt, name, title string, flags ...string) handoff.Artifact {
	file := filepath.Join(a.Dir, "src", "slug.sh")
	before, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(embedded(attempt)), 0o666)
	}
	a.err = cmp.Or(a.err, err)
	return a.publish("patches/"+name, unified("src/slug.sh", string(before), embedded(attempt)), "patch", title, flags...)
}

// unified returns a unified diff that replaces every line of a file.
func unified(name, before, after string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n@@ -1,%d +1,%d @@\n", name, name, strings.Count(before, "\n"),
		strings.Count(after, "\n"))
	for line := range strings.Lines(before) {
		b.WriteString("-" + line)
	}
	for line := range strings.Lines(after) {
		b.WriteString("+" + line)
	}
	return b.String()
}

// patched returns the file after a diff that unified returned.
func patched(diff string) string {
	var b strings.Builder
	for line := range strings.Lines(diff) {
		if added, ok := strings.CutPrefix(line, "+"); ok && !strings.HasPrefix(line, "+++ ") {
			b.WriteString(added)
		}
	}
	return b.String()
}

// ours limits a command to the artifacts of this demo, in a log that has others.
func (a *agent) ours(args ...string) []string {
	if a.Log == "" {
		return args
	}
	for _, variable := range a.Environ {
		if id, ok := strings.CutPrefix(variable, "HANDOFF_SESSION="); ok && id != "" {
			args = append(args, "--session", id)
			break
		}
	}
	return args
}

// reviewer tests each patch and adds what is tested to the design.
func (a *agent) reviewer() {
	first := a.wait("--channel", "patch")
	failed := a.verify(first, "test-1.log")
	second := a.wait("--channel", "patch", "--after", fmt.Sprint(failed.Seq))
	passed := a.verify(second, "test-2.log", "--replaces", failed.ID)
	var page handoff.ArtifactPage
	a.handoff("", &page, a.ours("list", "--all", "--channel", "design", "--agent", "architect", "--limit", "2")...)
	if a.err != nil {
		return
	}
	design := page.Artifacts[len(page.Artifacts)-1]
	text := a.read(design) + "\nTested: spaces, punctuation, and a title without words. See src/slug_test.sh.\n"
	a.publish("design-tests.md", text, "design", "Slugs, with test coverage", "--tag", "revision", "--replaces", design.ID,
		"--from", passed.ID)
}

// verify runs the program's tests and publishes their output.
func (a *agent) verify(patch handoff.Artifact, name string, flags ...string) handoff.Artifact {
	text := a.read(patch)
	if a.Log != "" && a.err == nil {
		a.err = writeFile(filepath.Join(a.Dir, "src", "slug.sh"), patched(text))
	}
	if a.err != nil {
		return handoff.Artifact{}
	}
	a.print("$ sh slug_test.sh")
	cmd := exec.CommandContext(a.ctx, "sh", "slug_test.sh")
	cmd.Dir = filepath.Join(a.Dir, "src")
	log, err := cmd.CombinedOutput()
	title, tag := "Tests pass", "pass"
	if err != nil {
		title, tag = "Tests fail", "fail"
	}
	return a.publish("reports/"+name, string(log), "verification", title,
		append(flags, "--tag", tag, "--from", patch.ID)...)
}

// lead merges the two designs and publishes a summary.
func (a *agent) lead() {
	passed := a.wait("--channel", "verification", "--tag", "pass")
	limits := a.wait("--channel", "design", "--agent", "architect", "--tag", "revision")
	tests := a.wait("--channel", "design", "--agent", "reviewer", "--tag", "revision")
	a.handoff("", &limits, "show", limits.ID)
	a.print(fmt.Sprintf("%s competes with %s: merge them", limits.ID, strings.Join(limits.Competing, " ")))
	text := strings.TrimSpace(a.read(limits)) + "\n" + strings.TrimPrefix(a.read(tests), embedded("design.md"))
	design := a.publish("design-final.md", text, "design", "Slugs, merged", "--replaces", limits.ID, "--replaces",
		tests.ID)
	var patches handoff.ArtifactPage
	a.handoff("", &patches, a.ours("list", "--channel", "patch")...)
	if a.err != nil {
		return
	}
	summary := "# Done: slugs\n\n"
	args := []string{"publish", "-", "--channel", "handoff", "--title", "Slugs are fixed", "--filename", "summary.md"}
	for _, from := range []handoff.Artifact{design, patches.Artifacts[0], passed} {
		summary += fmt.Sprintf("- %s: %s (%s)\n", from.Channel, from.Title, from.ID)
		args = append(args, "--from", from.ID)
	}
	a.handoff(summary, new(handoff.Artifact), args...)
}

// publish writes a file and publishes it.
func (a *agent) publish(name, text, channel, title string, flags ...string) (published handoff.Artifact) {
	if a.err == nil {
		a.err = writeFile(filepath.Join(a.Dir, filepath.FromSlash(name)), text)
	}
	a.handoff("", &published, append([]string{"publish", name, "--channel", channel, "--title", title}, flags...)...)
	return published
}

// wait waits for an artifact of another agent.
func (a *agent) wait(flags ...string) (found handoff.Artifact) {
	a.handoff("", &found, append(a.ours(append([]string{"wait"}, flags...)...), "--timeout", patience)...)
	return found
}

// read reads what an artifact published: the file that it points at or, on another
// machine, what handoff returns.
func (a *agent) read(from handoff.Artifact) string {
	if a.err != nil {
		return ""
	}
	if a.Log != "" {
		a.print("$ " + a.Name + " read " + from.ID)
		return string(a.run("", "read", from.ID))
	}
	a.print("reads " + from.Path)
	b, err := os.ReadFile(filepath.Join(a.Dir, filepath.FromSlash(from.Path)))
	a.err = err
	return string(b)
}

func (a *agent) print(line string) {
	if a.err != nil {
		return
	}
	fmt.Fprintln(a.Out, line)
	a.Flush()
}

// handoff runs a command of this program as a process, with some standard input,
// and decodes its answer.
func (a *agent) handoff(in string, answer any, args ...string) {
	if a.err != nil {
		return
	}
	shown := make([]string, len(args))
	for i, arg := range args {
		if shown[i] = arg; strings.Contains(arg, " ") {
			shown[i] = "'" + arg + "'"
		}
	}
	a.print("$ " + a.Name + " " + strings.Join(shown, " "))
	if out := a.run(in, append(args, "--json")...); a.err == nil {
		a.err = json.Unmarshal(out, answer)
	}
}

// run runs a command of this program and returns what it prints.
func (a *agent) run(in string, args ...string) []byte {
	cmd := exec.CommandContext(a.ctx, a.Program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = a.Dir, a.Environ, strings.NewReader(in)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		a.err = fmt.Errorf("%s %s: %s", a.Name, args[0],
			cmp.Or(strings.Join(strings.Fields(stderr.String()), " "), err.Error()))
	}
	return out
}
