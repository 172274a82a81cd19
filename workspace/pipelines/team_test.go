package pipelines_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/candidates"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/agent-handoff/handoff/workspace/reviews"
)

// A team is the agents of one run, each in a linked worktree of its own.
type team struct {
	*testing.T
	dir     string // has main and the worktrees
	issue   string
	mu      sync.Mutex
	members map[string]*workspace.Workspace
	tickets map[string]string // of the stages that are next
	made    int               // the attempts that were accepted
}

func newTeam(t *testing.T, definition string) *team {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	m := &team{T: t, dir: t.TempDir(), issue: "r1", members: map[string]*workspace.Workspace{}}
	m.write("main/handoff.pipeline.yaml", definition)
	m.write("main/ok.sh", "exit 0\n")
	m.git("init", "-q", "-b", "main")
	m.git("add", ".")
	m.git("-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-q", "-m", "one")
	_, err := m.member("lead").Pipelines().Init(m.Context(), m.issue, pipelines.InitOptions{})
	m.must(err)
	return m
}

func (m *team) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m *team) write(name, text string) {
	m.Helper()
	name = filepath.Join(m.dir, name)
	m.must(os.MkdirAll(filepath.Dir(name), 0o777))
	m.must(os.WriteFile(name, []byte(text), 0o666))
}

func (m *team) git(args ...string) {
	m.Helper()
	c := exec.CommandContext(m.Context(), "git", append([]string{"-C", filepath.Join(m.dir, "main")}, args...)...)
	if out, err := c.CombinedOutput(); err != nil {
		m.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// member returns the workspace of an agent, in its own worktree. A name such as writer/2 is
// another session of writer.
func (m *team) member(name string) *workspace.Workspace {
	m.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.members[name] == nil {
		dir := filepath.Join(m.dir, strings.ReplaceAll(name, "/", "-"))
		m.git("worktree", "add", "-q", dir)
		w, err := workspace.Open(dir, workspace.Options{})
		m.must(err)
		m.Cleanup(func() { w.Close() })
		agent, _, _ := strings.Cut(name, "/")
		m.members[name] = w.As(workspace.Caller{Dir: dir, Producer: handoff.Producer{Agent: agent, RunID: name}})
	}
	return m.members[name]
}

// next checks who can act now: each as stage:agent, or as agent if there is nothing to write.
func (m *team) next(want string) pipeline.Step {
	m.Helper()
	step, err := m.member("lead").Pipelines().Next(m.Context(), m.issue, false)
	m.must(err)
	var got []string
	m.tickets = map[string]string{}
	for _, s := range append([]pipeline.Step{step}, step.Parallel...) {
		one := strings.TrimPrefix(s.Stage+":"+s.Agent, ":")
		if s.Done {
			one = "done"
		}
		if got = append(got, one); s.Stage != "" {
			m.tickets[s.Stage] = s.Ticket
		}
	}
	slices.Sort(got)
	if text := strings.Join(got, " "); text != want {
		m.Fatalf("after %d attempts: next is %q, want %q; %s", m.made, text, want, step.Reason)
	}
	return step
}

// put submits an artifact with the ticket that was current when next was called: a text, or
// the files of a directory. The text may start with OUTCOME! of an artifact that is not JSON.
func (m *team) put(who, stage, text string) func() {
	m.Helper()
	w, ticket := m.member(who), m.tickets[stage]
	return func() {
		sub := pipelines.Submission{Issue: m.issue, Stage: stage, Ticket: ticket}
		outcome, rest, has := strings.Cut(text, "!")
		if has {
			sub.Outcome, text = outcome, rest
		}
		if dir, ok := strings.CutPrefix(text, "dir:"); ok {
			sub.Path = filepath.Join(m.dir, dir)
		} else {
			sub.Body = strings.NewReader(text)
		}
		done, err := w.Pipelines().Put(m.Context(), sub)
		if err != nil {
			m.Errorf("%s puts %s: %v", who, stage, err)
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.made++; done.Existing {
			m.Errorf("%s puts %s: nothing was recorded", who, stage)
		}
	}
}

// together lets agents act at the same time.
func (m *team) together(acts ...func()) {
	var all sync.WaitGroup
	for _, act := range acts {
		all.Go(act)
	}
	all.Wait()
}

// refused checks that an artifact is refused.
func (m *team) refused(who, stage, text, why string) {
	m.Helper()
	_, err := m.member(who).Pipelines().Put(m.Context(), pipelines.Submission{Issue: m.issue, Stage: stage,
		Body: strings.NewReader(text)})
	var e *handoff.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error()+strings.Join(e.Details, " "), why) {
		m.Errorf("%s puts %s: got %v, want that it %s", who, stage, err, why)
	}
}

// review records the decision of a person.
func (m *team) review(name string, d handoff.Decision) {
	m.Helper()
	person := m.member("lead").As(workspace.Caller{Dir: filepath.Join(m.dir, "main")})
	_, err := person.Reviews().Review(m.Context(), m.issue+"/"+name, reviews.Draft{Decision: d, Text: "x", User: "ann",
		Via: handoff.ViaTerminal})
	m.must(err)
}

// attest records the exit status of a command in the worktree of an agent.
func (m *team) attest(who string, code int, argv ...string) {
	m.Helper()
	_, err := m.member(who).Claims(nil).Attest(m.Context(), argv, false, func(io.Writer) (session.Exit, error) {
		return session.Exit{Code: code}, nil
	})
	m.must(err)
}

// attempts checks that every attempt that was accepted is listed, also a rejected one.
func (m *team) attempts() {
	m.Helper()
	o, err := m.member("lead").Pipelines().Overview(m.Context(), m.issue)
	if m.must(err); len(o.Attempts) != m.made {
		m.Errorf("%d attempts are listed, want %d: %+v", len(o.Attempts), m.made, o.Attempts)
	}
}

// Two stages at the same time and a merge: a wrong file, two agents on one stage, and a failure
// that leads back to one of the stages.
func TestTeamResearch(t *testing.T) {
	m := newTeam(t, `stages:
- {id: web, by: searcher, writes: "web/**/*.md"}
- {id: code, by: reader, writes: code.md, format: {headings: [Calls]}}
- {id: merge, by: writer, needs: [web, code], writes: report.md, on: {FAIL: web}}
`)
	m.write("found/a.md", "a")
	m.write("found/b.md", "b")
	m.next("code:reader web:searcher")
	m.refused("reader", "code", "# None", `has no heading "Calls"`)
	m.refused("writer", "code", "# Calls", "must be written by reader")
	m.together(m.put("searcher", "web", "dir:found"), m.put("reader", "code", "# Calls"))
	m.next("merge:writer")
	m.together(m.put("writer/1", "merge", "FAIL!one"), m.put("writer/2", "merge", "two"))
	step := m.next("human")
	for _, a := range step.Decide {
		if a.Outcome == "" {
			_, err := m.member("lead").Withdraw(t.Context(), a.ID, "")
			m.must(err)
		}
	}
	m.next("web:searcher")
	m.write("found/a.md", "more")
	m.put("searcher", "web", "dir:found")()
	m.next("merge:writer")
	m.put("writer/2", "merge", "three")()
	m.next("done")
	m.attempts()
}

// A design that a person reviews, and then a build with an attested command: changes that are
// requested, retries that are used up, and a failure that leads back to the design.
func TestTeamDesign(t *testing.T) {
	m := newTeam(t, `stages:
- {id: design, by: architect, writes: design.md, format: {headings: [Goal]}, gate: {approved: true}, retries: 2}
- {id: build, by: builder, needs: [design], writes: fix.diff, gate: {verified: [sh ok.sh]}, on: {FAIL: design}}
`)
	m.next("design:architect")
	m.put("architect", "design", "# Goal")()
	m.next("human")
	m.review("design.md", handoff.ChangesRequested)
	m.next("design:architect")
	m.put("architect", "design", "# Goal 2\n# Goal")()
	m.next("human")
	m.review("design.md", handoff.Approved)
	m.next("build:builder")
	m.put("builder", "build", "FAIL!-")()
	m.next("design:architect")
	m.put("architect", "design", "# Goal\nthree")()
	m.next("human")
	m.review("design.md", handoff.Approved)
	m.next("build:builder")
	m.put("builder", "build", "+")()
	m.next("builder") // the command is not verified
	m.attest("builder", 1, "sh", "ok.sh")
	m.next("builder")
	m.attest("builder", 0, "sh", "other.sh")
	m.next("builder")
	m.attest("builder", 0, "sh", "ok.sh")
	m.nextIn("builder", "done")
	m.attempts()
}

// nextIn checks that a run is done or not in the worktree of an agent.
func (m *team) nextIn(who, want string) {
	m.Helper()
	step, err := m.member(who).Pipelines().Next(m.Context(), m.issue, false)
	if m.must(err); step.Done != (want == "done") {
		m.Errorf("next in the worktree of %s: %q, want %s", who, step.Reason, want)
	}
}

// A report of every night: data that is blocked, a report that is done again until its retries
// are used up, and a second night.
func TestTeamNightly(t *testing.T) {
	m := newTeam(t, `stages:
- {id: collect, by: collector, writes: data.json, format: {schema: {type: object, required: [status]}}, on: {retry: collect}}
- {id: report, by: reporter, needs: [collect], writes: report.md, retries: 1, on: {redo: report}}
- {id: mail, by: sender, needs: [report], writes: mail.txt}
- {id: chart, by: reporter, needs: [report], writes: chart.svg, optional: true}
`)
	m.next("collect:collector")
	m.refused("collector", "collect", `{"n":1}`, "/status: is missing")
	m.put("collector", "collect", `{"status":"blocked"}`)()
	m.next("human")
	m.put("collector", "collect", `{"status":"retry"}`)()
	m.next("collect:collector")
	m.put("collector", "collect", `{"status":"ok"}`)()
	m.next("report:reporter")
	m.put("reporter", "report", "redo!one")()
	m.next("report:reporter")
	m.put("reporter", "report", "redo!two")()
	m.next("human") // one retry
	m.put("reporter", "report", "three")()
	m.next("mail:sender")
	m.attempts()
	_, err := m.member("lead").Pipelines().Archive(t.Context(), m.issue, pipeline.ArchiveOptions{Force: true})
	m.must(err)
	_, err = m.member("lead").Pipelines().Init(m.Context(), m.issue, pipelines.InitOptions{})
	m.must(err)
	m.made = 0
	m.next("collect:collector")
	m.put("collector", "collect", `{"status":"ok"}`)()
	m.next("report:reporter")
	m.put("reporter", "report", "one")()
	m.next("mail:sender")
	m.put("sender", "mail", "sent")()
	m.next("done")
	m.attempts()
}

// A checklist: stages that need attested commands and an approval at the same time, before one
// that needs them all.
func TestTeamRelease(t *testing.T) {
	m := newTeam(t, `stages:
- {id: tests, by: tester, writes: tests.md, gate: {verified: [sh ok.sh, {command: [sh, more.sh], dir: .}]}}
- {id: notes, by: author, writes: NOTES.md, gate: {approved: [human]}}
- {id: tag, by: releaser, needs: [tests, notes], writes: tag.txt}
`)
	m.next("notes:author tests:tester")
	m.together(m.put("tester", "tests", "passed"), m.put("author", "notes", "# 1.0"))
	m.next("human tester")
	m.review("NOTES.md", handoff.Approved)
	m.next("tester")
	m.attest("tester", 0, "sh", "ok.sh")
	m.nextIn("tester", "not done")
	m.attest("tester", 0, "sh", "more.sh")
	m.together(m.put("tester", "tests", "passed again"))
	m.next("tag:releaser")
	m.put("author", "notes", "# 1.0.1")()
	m.next("human") // other bytes need another approval
	m.review("NOTES.md", handoff.Approved)
	m.next("tag:releaser")
	m.put("releaser", "tag", "v1.0.1")()
	m.next("done")
	m.attempts()
}

// Texts only, started at a later stage: a file that was written by hand, one that is missing,
// and three agents on one stage of which a person accepts one.
func TestTeamMarkdown(t *testing.T) {
	m := newTeam(t, `stages:
- {id: outline, by: editor, writes: outline.md, format: {headings: [Parts]}}
- {id: draft, by: author, needs: [outline], writes: "parts/*.md", format: {headings: [Part]}}
- {id: final, by: editor, needs: [outline, draft], writes: final.md, on: {redo: draft}}
`)
	m.next("outline:editor")
	m.write("main/.pipeline/r1/outline.md", "# Parts\n") // by hand
	m.made++
	m.next("draft:author")
	m.write("x/1.md", "# Part\n")
	m.write("y/1.md", "# Part\ny\n")
	m.write("z/1.md", "# Part\nz\n")
	m.together(m.put("author/1", "draft", "dir:x"), m.put("author/2", "draft", "dir:y"),
		m.put("author/3", "draft", "dir:z"))
	step := m.next("human")
	if len(step.Decide) != 3 {
		t.Fatalf("a person decides between %d results, want 3", len(step.Decide))
	}
	_, err := m.member("lead").Reviews().Candidates(nil).Accept(t.Context(), step.Decide[1].ID, candidates.Choice{})
	m.must(err)
	m.next("final:editor")
	m.put("editor", "final", "redo!f")()
	m.next("draft:author")
	m.write("x/2.md", "no heading\n")
	_, err = m.member("author/1").Pipelines().Put(t.Context(),
		pipelines.Submission{Issue: m.issue, Stage: "draft", Path: filepath.Join(m.dir, "x")})
	if !errors.Is(err, handoff.Invalid) {
		t.Errorf("a file without its heading: got %v", err)
	}
	m.write("x/2.md", "# Part\n")
	m.put("author/1", "draft", "dir:x")()
	m.next("final:editor")
	m.put("editor", "final", "f2")()
	m.next("done")
}
