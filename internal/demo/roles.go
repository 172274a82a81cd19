package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/rogpeppe/go-internal/diff"
)

// names are the four agents.
var names = []string{"architect", "builder", "reviewer", "lead"}

var roles = map[string]func(*agent) error{
	"architect": (*agent).architect, "builder": (*agent).builder,
	"reviewer": (*agent).reviewer, "lead": (*agent).lead,
}

// Play runs one agent in the shared directory. Error kind: Invalid if there is
// no such role.
func (s Stage) Play(ctx context.Context, role string) error {
	play, ok := roles[role]
	if !ok {
		return &handoff.Error{Op: "demo", Name: role, Kind: handoff.Invalid, Err: errors.New("no such role"), Hint: handoff.Advice("use one of "+strings.Join(names, ", "))}
	}
	return play(&agent{Stage: s, ctx: ctx, name: role})
}

// An agent is one agent of the demo. It finds the files that it reads with the
// commands that any agent would use.
type agent struct {
	Stage
	ctx  context.Context
	name string
}

// patience is how long an agent waits for another.
const patience = "60s"

// architect publishes a design, and a revision of it when the tests pass.
func (d *agent) architect() error {
	design, err := d.publish("design.md", embedded("design.md"), "design", "Slugs: one dash between words")
	if err != nil {
		return err
	}
	passed, err := d.wait("--channel", "verification", "--tag", "pass")
	if err != nil {
		return err
	}
	text := embedded("design.md") + "\nLearned: letters beyond a to z are separators too. That is a limit, not a goal.\n"
	_, err = d.publish("design-limits.md", text, "design", "Slugs, with their limits", "--tag", "revision", "--replaces", design.ID, "--from", passed.ID)
	return err
}

// builder publishes a patch, and a second one when the tests of the first fail.
func (d *agent) builder() error {
	design, err := d.wait("--channel", "design")
	if err != nil {
		return err
	}
	if _, err := d.read(design); err != nil {
		return err
	}
	first, err := d.patch("attempt1.go", "fix-1.diff", "Join words with one dash", "--from", design.ID)
	if err != nil {
		return err
	}
	failed, err := d.wait("--channel", "verification", "--tag", "fail")
	if err != nil {
		return err
	}
	if _, err := d.read(failed); err != nil {
		return err
	}
	_, err = d.patch("attempt2.go", "fix-2.diff", "Words are letters and digits", "--replaces", first.ID, "--from", design.ID, "--from", failed.ID)
	return err
}

// patch changes the program and publishes the diff.
func (d *agent) patch(attempt, name, title string, flags ...string) (handoff.Artifact, error) {
	file := filepath.Join(d.Dir, "src", "slug.go")
	before, err := os.ReadFile(file)
	if err != nil {
		return handoff.Artifact{}, err
	}
	after := embedded(attempt)
	if err := os.WriteFile(file, []byte(after), 0o666); err != nil {
		return handoff.Artifact{}, err
	}
	text := diff.Diff("a/src/slug.go", before, "b/src/slug.go", []byte(after))
	return d.publish(filepath.Join("patches", name), string(text), "patch", title, flags...)
}

// reviewer tests each patch and adds what is tested to the design.
func (d *agent) reviewer() error {
	first, err := d.wait("--channel", "patch")
	if err != nil {
		return err
	}
	failed, err := d.verify(first, "test-1.log")
	if err != nil {
		return err
	}
	second, err := d.wait("--channel", "patch", "--after", fmt.Sprint(failed.Seq))
	if err != nil {
		return err
	}
	passed, err := d.verify(second, "test-2.log", "--replaces", failed.ID)
	if err != nil {
		return err
	}
	var page handoff.ArtifactPage
	if err := d.handoff(&page, "list", "--all", "--channel", "design", "--agent", "architect", "--limit", "2"); err != nil {
		return err
	}
	design := page.Artifacts[len(page.Artifacts)-1]
	text, err := d.read(design)
	if err != nil {
		return err
	}
	text += "\nTested: spaces, punctuation, and a title without words. See src/slug_test.go.\n"
	_, err = d.publish("design-tests.md", text, "design", "Slugs, with test coverage", "--tag", "revision", "--replaces", design.ID, "--from", passed.ID)
	return err
}

// verify runs the program's tests and publishes their output.
func (d *agent) verify(patch handoff.Artifact, name string, flags ...string) (handoff.Artifact, error) {
	if _, err := d.read(patch); err != nil {
		return handoff.Artifact{}, err
	}
	log, passed := d.test(filepath.Join(d.Dir, "src"))
	title, tag := "Tests fail", "fail"
	if passed {
		title, tag = "Tests pass", "pass"
	}
	return d.publish(filepath.Join("reports", name), log, "verification", title, append(flags, "--tag", tag, "--from", patch.ID)...)
}

// test runs a program's tests or, without a Go toolchain, checks its
// formatting.
func (d *agent) test(dir string) (log string, passed bool) {
	if _, err := exec.LookPath("go"); err != nil {
		return checkForm(dir)
	}
	d.print("$ go test ./...")
	cmd := exec.CommandContext(d.ctx, "go", "test", "-count=1", "./...")
	cmd.Dir = dir
	cmd.Env = append(d.Environ, "GOWORK=off", "GOFLAGS=", "GOTOOLCHAIN=local", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	return "$ go test ./...\n" + string(out), err == nil
}

// checkForm reports the Go files that don't parse or are not formatted.
func checkForm(dir string) (log string, passed bool) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	log, passed = "$ gofmt -l . (there is no Go toolchain to run tests with)\n", len(files) > 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			var formed []byte
			if formed, err = format.Source(text); err == nil && !bytes.Equal(formed, text) {
				err = errors.New("not formatted with gofmt")
			}
		}
		if err != nil {
			log += fmt.Sprintf("%s: %v\n", filepath.Base(file), err)
			passed = false
		}
	}
	return log, passed
}

// lead merges the two designs and publishes a summary.
func (d *agent) lead() error {
	passed, err := d.wait("--channel", "verification", "--tag", "pass")
	if err != nil {
		return err
	}
	limits, err := d.wait("--channel", "design", "--agent", "architect", "--tag", "revision")
	if err != nil {
		return err
	}
	tests, err := d.wait("--channel", "design", "--agent", "reviewer", "--tag", "revision")
	if err != nil {
		return err
	}
	if err := d.handoff(&limits, "show", limits.ID); err != nil {
		return err
	}
	d.print(fmt.Sprintf("%s competes with %s: merge them", limits.ID, strings.Join(limits.Competing, " ")))
	one, err := d.read(limits)
	if err != nil {
		return err
	}
	other, err := d.read(tests)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(one) + "\n" + strings.TrimPrefix(other, embedded("design.md"))
	design, err := d.publish("design-final.md", text, "design", "Slugs, merged", "--replaces", limits.ID, "--replaces", tests.ID)
	if err != nil {
		return err
	}
	var patches handoff.ArtifactPage
	if err := d.handoff(&patches, "list", "--channel", "patch"); err != nil {
		return err
	}
	return d.summarize(design, patches.Artifacts[0], passed)
}

func (d *agent) summarize(design, patch, log handoff.Artifact) error {
	var text strings.Builder
	text.WriteString("# Done: slugs\n\n")
	args := []string{"publish", "-", "--channel", "handoff", "--title", "Slugs are fixed", "--filename", "summary.md"}
	for _, a := range []handoff.Artifact{design, patch, log} {
		fmt.Fprintf(&text, "- %s: %s (%s)\n", a.Channel, a.Title, a.ID)
		args = append(args, "--from", a.ID)
	}
	return d.handoffWith(text.String(), new(handoff.Artifact), args...)
}

// publish writes a file and publishes it.
func (d *agent) publish(name, text, channel, title string, flags ...string) (a handoff.Artifact, err error) {
	if err := writeFile(filepath.Join(d.Dir, name), text); err != nil {
		return a, err
	}
	return a, d.handoff(&a, append([]string{"publish", name, "--channel", channel, "--title", title}, flags...)...)
}

// wait waits for an artifact of another agent.
func (d *agent) wait(flags ...string) (a handoff.Artifact, err error) {
	return a, d.handoff(&a, append(append([]string{"wait"}, flags...), "--timeout", patience)...)
}

// read reads the file that an artifact points at.
func (d *agent) read(a handoff.Artifact) (string, error) {
	d.print("reads " + a.Path)
	b, err := os.ReadFile(filepath.Join(d.Dir, filepath.FromSlash(a.Path)))
	return string(b), err
}

func (d *agent) print(line string) {
	fmt.Fprintln(d.Out, line)
	d.Flush()
}

// handoff runs a command of this program as a process and decodes its answer.
func (d *agent) handoff(answer any, args ...string) error {
	return d.handoffWith("", answer, args...)
}

func (d *agent) handoffWith(in string, answer any, args ...string) error {
	shown := make([]string, len(args))
	for i, arg := range args {
		shown[i] = arg
		if strings.ContainsAny(arg, " ") {
			shown[i] = "'" + arg + "'"
		}
	}
	d.print("$ handoff " + strings.Join(shown, " "))
	cmd := exec.CommandContext(d.ctx, d.Program, append(args, "--json")...)
	cmd.Dir, cmd.Env, cmd.Stdin = d.Dir, d.Environ, strings.NewReader(in)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("handoff %s: %s", args[0], cmp.Or(strings.Join(strings.Fields(stderr.String()), " "), err.Error()))
	}
	return json.Unmarshal(out, answer)
}
