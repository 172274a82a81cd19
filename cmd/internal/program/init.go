package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/setup"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
)

// initFlags are what the user wants to set up.
type initFlags struct {
	agents                      []string
	user, project, dryRun, undo bool
	everywhere                  bool
	remove                      []string // kinds of leftovers, with undo
	status, allow, statusLine   bool
	plans                       bool
}

// initAnswer is the JSON of init.
type initAnswer struct {
	Workspace string         `json:"workspace,omitempty"` // its root, if one was created or registered
	Files     []initFile     `json:"files"`
	Failed    []initFailure  `json:"failed,omitempty"` // programs that could not be set up
	Undone    []setup.Undone `json:"undone,omitempty"`
	Remaining int            `json:"remaining,omitempty"` // files of another scope or repository that undo left

	Left []setup.Leftover `json:"left,omitempty"` // what undo everywhere leaves or removed, and init did not write

	Status []setup.Status `json:"status,omitempty"`
	Binary string         `json:"binary"`
	OnPath string         `json:"onPath,omitempty"` // another program named handoff that is found first
	Todo   []string       `json:"todo,omitempty"`
}

type initFile struct {
	Agent   string `json:"agent"`
	Path    string `json:"path"`
	Changed bool   `json:"changed"`
	Skipped string `json:"skipped,omitempty"` // why it is left as it is
}

// An initFailure is a program that could not be set up.
type initFailure struct {
	Agent string `json:"agent"`
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
	Path  string `json:"path,omitempty"`  // of the file that can't be edited
	Lines string `json:"lines,omitempty"` // that may be added to it by hand
}

func initCommand(a *cli.App) *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use:   "init",
		Short: "Set up handoff in the agent programs that you use",
		Long: `Init registers handoff in the configuration of agent programs: the MCP server,
the hooks and the skill. In a git repository it also creates the workspace. It
changes nothing else in those files, and --undo restores them. A file that can't
be edited so is left, and the lines to add are printed. A skill or an
extension that is not a version of handoff's is reported and left as it is.

Without --agent it sets up every program that it finds. --user, the default,
changes your own configuration only. --project writes files for everybody who
works in the repository; they have no effect where handoff is not installed.

--undo takes back what was set up for the user, with --project what was set up
for this repository, and with --everywhere all of it. Where a file was changed
since, only handoff's entries are removed. With --everywhere it then lists the
caches, the state, the settings, the refs of logs and the workspaces that are
left; docs/uninstall.md describes how they are removed.`,
		Example: "  handoff init --dry-run\n  handoff init --agent claude --agent codex --allow\n  handoff init --status\n " +
			" handoff init --undo --dry-run",
		Args: cli.Exactly(0, ""),
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.agents, "agent", nil, "set up this `program`: "+strings.Join(setup.Names(), ", ")+
		"; may be repeated")
	flags.BoolVar(&f.user, "user", false, "change your own configuration (the default)")
	flags.BoolVar(&f.project, "project", false, "write files for everybody who works in the repository")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the changes without making them")
	flags.BoolVar(&f.undo, "undo", false, "undo what init changed")
	flags.BoolVar(&f.everywhere, "everywhere", false, "with --undo: in both scopes and all repositories")
	flags.StringSliceVar(&f.remove, "remove", nil,
		"with --undo --everywhere: also remove this `kind`, or several with commas: "+strings.Join(removable, ", "))
	flags.BoolVar(&f.status, "status", false, "show where handoff is set up and when it was last called")
	flags.BoolVar(&f.allow, "allow", false, "permit the tools of handoff without asking")
	flags.BoolVar(&f.statusLine, "status-line", false,
		"show the thread and its newest artifact in the status line of Claude Code")
	flags.BoolVar(&f.plans, "review-plans", false, "have the plans of Claude Code reviewed with handoff review")
	a.JSONFlag(c, "print JSON", cli.Prints(initAnswer{}))
	table := a.NewTable(c, statusColumns)
	c.MarkFlagsMutuallyExclusive("user", "project")
	c.MarkFlagsMutuallyExclusive("user", "everywhere")
	c.MarkFlagsMutuallyExclusive("project", "everywhere")
	c.MarkFlagsMutuallyExclusive("undo", "status")
	c.MarkFlagsMutuallyExclusive("dry-run", "status")
	c.RegisterFlagCompletionFunc("agent", cobra.FixedCompletions(setup.Names(), cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := f.checkRemove(c.Flag("workspace").Changed); err != nil {
			return err
		}
		return runInit(c.Context(), a, f, table)
	}
	return c
}

func runInit(ctx context.Context, a *cli.App, f initFlags, table *cli.Table) error {
	t, err := userTarget(a)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(t.Home) {
		return cli.Invalid("init", "HOME", "is not set", "set it to your home directory")
	}
	if t.Allow, t.StatusBar, t.Plans = f.allow, f.statusLine, f.plans; f.project {
		t.Scope = setup.Project
	}
	state := userdir.State(a.Getenv)
	answer := initAnswer{Binary: t.Binary, OnPath: otherOnPath(a), Files: []initFile{}}
	if f.status {
		answer.Status = setup.Statuses(t, state, a.Dir, onPath(a))
		return printStatus(a, answer, table)
	}
	j, err := setup.OpenJournal(state)
	if err != nil {
		return err
	}
	if f.undo {
		return undoInit(ctx, a, j, setup.Undo{Target: t, Names: f.agents, Everywhere: f.everywhere, DryRun: f.dryRun},
			answer, f.remove)
	}
	programs, err := planInit(a, t, j, f.agents)
	if err != nil {
		return err
	}
	if f.dryRun {
		answer.add(programs)
		return printPlan(a, answer, programs)
	}
	for i := range programs {
		p := &programs[i]
		var n int
		if n, err = setup.Apply(j, p.Edits); err != nil {
			p.Edits, p.Todo, p.Err = p.Edits[:n], nil, err
		}
	}
	answer.add(programs)
	if isRepository(t.Root) && len(answer.Files) > 0 {
		created, err := create(ctx, a)
		if created {
			answer.Workspace = t.Root
			err = setup.Register(state, t.Root)
		}
		if err != nil {
			return err
		}
	}
	return printSetUp(a, answer)
}

// userTarget returns how init sets up programs for the user.
func userTarget(a *cli.App) (setup.Target, error) {
	root, runtime, err := workspace.Find(a.Dir, a.Options())
	t := setup.Target{Scope: setup.User, Home: a.Getenv("HOME"), Getenv: a.Getenv, Binary: installed(a.Self), Root: root}
	if rel, err := filepath.Rel(root, runtime); err != nil || !filepath.IsLocal(rel) { // a linked worktree
		t.Runtime = runtime // a sandbox lets an agent write in the worktree only
	}
	return t, err
}

// create creates the workspace, if its .handoff is not that of another program.
func create(ctx context.Context, a *cli.App) (bool, error) {
	w, err := a.Open()
	if err == nil {
		defer w.Close()
		err = w.Store().Create(ctx)
	}
	if e := (*handoff.Error)(nil); errors.As(err, &e) && e.Kind == handoff.Invalid {
		a.Warn("no workspace was created: %v", err)
		a.Warn("%s", cli.HintText(e.Hint))
		return false, nil
	}
	return err == nil, err
}

// add adds what was done in some programs.
func (answer *initAnswer) add(programs []setup.Program) {
	for _, p := range programs {
		for _, e := range p.Edits {
			answer.Files = append(answer.Files, initFile{e.Client, e.File, e.Changed(), e.Skipped})
		}
		answer.Todo = append(answer.Todo, p.Todo...)
		if p.Err == nil {
			continue
		}
		f := initFailure{Agent: p.Name, Error: p.Err.Error(), Path: p.File, Lines: p.Lines}
		var known *handoff.Error
		if errors.As(p.Err, &known) {
			f.Hint = known.Hint.WithVariable(known.Hint.Text)
		}
		answer.Failed = append(answer.Failed, f)
	}
}

// installed returns the program that entries of other programs call: agent-handoff,
// if it is in the directory of this one.
func installed(self string) string {
	named := filepath.Join(filepath.Dir(self), "agent-handoff")
	if info, err := os.Stat(named); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return named
	}
	return self
}

// planInit plans the set-up of some programs, by default of all that are found.
func planInit(a *cli.App, t setup.Target, j *setup.Journal, names []string) ([]setup.Program, error) {
	if len(names) == 0 {
		names = setup.Detect(t, onPath(a))
	}
	if len(names) == 0 {
		return nil, handoff.E("init", "", handoff.NotFound, errors.New("no agent program found"),
			handoff.Advice("name one with --agent: "+strings.Join(setup.Names(), ", ")))
	}
	return setup.Plan(t, j, names)
}

// onPath returns a function that reports whether the caller has a program.
func onPath(a *cli.App) func(string) bool {
	return func(program string) bool { return lookPath(a, program) != "" }
}

// lookPath returns the program that a shell of the caller finds, "" for none.
func lookPath(a *cli.App, program string) string {
	for _, dir := range filepath.SplitList(a.Getenv("PATH")) {
		file := filepath.Join(dir, program)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// otherOnPath returns the program that a shell finds as handoff, if it is not this
// one: other programs have the same name.
func otherOnPath(a *cli.App) string {
	found := lookPath(a, "handoff")
	if found == "" {
		return ""
	}
	first, err1 := os.Stat(found)
	this, err2 := os.Stat(a.Self)
	if err1 == nil && err2 == nil && os.SameFile(first, this) {
		return ""
	}
	return found
}

func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

func printPlan(a *cli.App, answer initAnswer, programs []setup.Program) error {
	if a.AsJSON {
		return exitFailed(a.JSON(answer), answer)
	}
	for _, p := range programs {
		for _, e := range p.Edits {
			printDiff(a, e.File, e.Before, e.After, e.Created, false)
			if e.Skipped != "" {
				a.Warn("%s: %s", e.File, e.Skipped)
			}
		}
	}
	return printFailed(a, answer)
}

// printDiff prints a change of a file as git does: a file that does not exist is
// called /dev/null.
func printDiff(a *cli.App, file string, before, after []byte, created, removed bool) {
	from, to := file, file
	if created {
		from = os.DevNull
	}
	if removed {
		to = os.DevNull
	}
	a.Out.Write(diff.Diff(from, before, to, after))
}

// printFailed prints which programs could not be set up, and what the user can do.
func printFailed(a *cli.App, answer initAnswer) error {
	for _, f := range answer.Failed {
		a.Warn("%s is not set up: %s", f.Agent, f.Error)
		if f.Hint != "" {
			fmt.Fprintf(a.Err, "  hint: %s\n", textfmt.OneLine(f.Hint))
		}
		if f.Lines != "" {
			fmt.Fprintf(a.Err, "  or add these lines to %s yourself:\n%s\n", textfmt.OneLine(f.Path),
				strings.TrimRight(f.Lines, "\n"))
		}
	}
	return exitFailed(nil, answer)
}

// exitFailed returns err, or the exit code if something could not be done.
func exitFailed(err error, answer initAnswer) error {
	failed := func(u setup.Undone) bool { return u.Failed }
	kept := func(l setup.Leftover) bool { return l.Reason != "" }
	if err == nil && (len(answer.Failed) > 0 || slices.ContainsFunc(answer.Undone, failed) ||
		slices.ContainsFunc(answer.Left, kept)) {
		return cli.ExitCode(cli.ExitNo)
	}
	return err
}

func printSetUp(a *cli.App, answer initAnswer) error {
	if a.AsJSON {
		return exitFailed(a.JSON(answer), answer)
	}
	for _, file := range answer.Files {
		verb := "unchanged"
		switch {
		case file.Changed:
			verb = "changed"
		case file.Skipped != "":
			verb = "skipped"
			a.Warn("%s: %s", file.Path, file.Skipped)
		}
		fmt.Fprintf(a.Out, "%-9s  %s\n", verb, textfmt.OneLine(file.Path))
	}
	if answer.Workspace != "" {
		fmt.Fprintf(a.Out, "workspace  %s\n", textfmt.OneLine(answer.Workspace))
	}
	warnOnPath(a, answer)
	if len(answer.Todo) > 0 {
		fmt.Fprintln(a.Out, "\nWhat you must still do:")
	}
	for _, line := range answer.Todo {
		fmt.Fprintf(a.Out, "  %s\n", line)
	}
	if len(answer.Todo) > 0 && len(answer.Files) > 0 {
		fmt.Fprintf(a.Out, "\nTo try it:\n  %s\n", tryLine(answer.Files[0].Agent))
	}
	return printFailed(a, answer)
}

// tryLines make a program publish and hand over one artifact.
var tryLines = map[string]string{
	"claude": "claude -p", "codex": "codex exec", "gemini": "gemini -p", "qwen": "qwen -p", "opencode": "opencode run",
	"kilo": "kilo run", "pi": "pi -p", "copilot": "copilot -p", "cursor": "cursor-agent -p",
	"cline": "cline", "kimi": "kimi -p", "droid": "droid exec",
}

func tryLine(program string) string {
	return tryLines[program] + " 'Publish README.md with handoff in the channel handoff, and print its ID.' && " +
		cli.Name() + " list"
}

func warnOnPath(a *cli.App, answer initAnswer) {
	if answer.OnPath != "" {
		a.Warn("%s is another program named handoff; shells find it first", answer.OnPath)
	}
}

var statusColumns = []cli.Column{{Name: "program"}, {Name: "registered"}, {Name: "trusted", Rank: 1},
	{Name: "last hook", Rank: 2},
	{Name: "last call", Rank: 3}, {Name: "last failure", Rank: 4, Text: true}}

func printStatus(a *cli.App, answer initAnswer, table *cli.Table) error {
	if a.AsJSON {
		return a.JSON(answer)
	}
	var rows [][]string
	for _, s := range answer.Status {
		registered := "yes"
		if !s.Registered {
			registered = "no"
		}
		if !s.Installed && !s.Registered {
			continue
		}
		rows = append(rows, []string{s.Client, registered, s.Trusted, ago(a, s.LastHook), ago(a, s.LastCall), s.Failure})
	}
	warnOnPath(a, answer)
	return table.Print(statusColumns, rows)
}

func ago(a *cli.App, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return a.Now().Sub(t).Round(time.Second).String()
}
