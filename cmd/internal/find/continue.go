package find

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/internal/transcript/brief"
	"github.com/agent-handoff/handoff/internal/transcript/converse"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/threads"
	"github.com/spf13/cobra"
)

// continueFlags are the flags of continue.
type continueFlags struct {
	program              string
	tokens               int
	edit, dryRun, anyway bool
}

// ContinueCommand returns the command continue.
func ContinueCommand(a *cli.App) *cobra.Command {
	var o continueFlags
	c := &cobra.Command{
		Use:   "continue [THREAD]",
		Short: "Continue a thread in another program, with a brief of it",
		Long: `Continue prints a brief with which another agent continues the work of a
thread: the newest prompts and the first one, the hand-over of the agent or the
last compaction summary, the plan, the files that it changed, the tree now,
artifacts with their verdicts, commands that failed, what was in flight, and the
last message. The brief has only facts from the transcript, the log and git,
secrets are redacted, and texts of the thread are quoted.

Without a thread, it is the newest one of this branch with a prompt, not the
caller's own, and not one that another thread states to continue: the newest of
these is named after the others. The first characters of an ID are enough in
this repository.

With --in it starts that program in the directory of the thread, with the
brief as the first prompt, and with no other option. The brief is in a file in
the user's state directory, which the prompt names. PATH, or a variable such as
HANDOFF_CODEX_BIN, names the program; one in the workspace is refused. A thread
that is running is refused.`,
		Example: "  handoff continue --in codex\n" +
			"  handoff continue claude/2823d1df-720a-4c31-ac55-ae8ba726721f --tokens 4000\n" +
			"  handoff continue 2823d1df --in gemini --dry-run",
		Args: cli.Between(0, 1, "at most one thread"),
	}
	f := c.Flags()
	f.StringVar(&o.program, "in", "", "start this `program` with the brief: "+strings.Join(converse.Starters(), ", "))
	f.IntVar(&o.tokens, "tokens", threads.DefaultTokens, "maximum `number` of tokens of the brief, estimated")
	f.BoolVar(&o.edit, "edit", false, "open the brief in an editor first: that of VISUAL or EDITOR")
	f.BoolVar(&o.dryRun, "dry-run", false, "with --in, print the command of the program and do not run it")
	f.BoolVar(&o.anyway, "anyway", false, "with --in, continue a thread that is running, or whose directory is gone")
	c.MarkFlagsMutuallyExclusive("edit", "dry-run")
	c.RegisterFlagCompletionFunc("in", cobra.FixedCompletions(converse.Starters(), cobra.ShellCompDirectiveNoFileComp))
	a.JSONFlag(c, "print JSON", cli.Prints(continuation{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := o.check(a); err != nil {
			return err
		}
		return o.run(c.Context(), a, strings.Join(args, ""))
	}
	return c
}

// check returns an error for flags that do not go together.
func (o *continueFlags) check(a *cli.App) error {
	switch {
	case o.tokens < threads.MinTokens || o.tokens > threads.MaxTokens:
		return cli.Invalid("continue", "--tokens", fmt.Sprintf("%d is not from %d to %d", o.tokens, threads.MinTokens,
			threads.MaxTokens), "use "+strconv.Itoa(threads.DefaultTokens))
	case o.program == "" && (o.dryRun || o.anyway):
		return cli.Invalid("continue", "", "--dry-run and --anyway need --in", "name a program with --in")
	case o.program != "" && a.AsJSON && !o.dryRun:
		return cli.Invalid("continue", "", "--json does not start a program", "leave out --in, or add --dry-run")
	}
	if o.program == "" {
		return nil
	}
	_, err := converse.Start(o.program, "", "")
	return err
}

// A continuation is the answer with --json.
type continuation struct {
	transcript.Brief
	Others  []continuable `json:"others,omitempty"` // what else could be continued
	Command []string      `json:"command,omitempty"`
	Dir     string        `json:"directory,omitempty"` // where the command runs
	DryRun  bool          `json:"dryRun,omitempty"`
}

// A continuable is a thread that could be continued.
type continuable struct {
	URI         thread.URI     `json:"uri"`
	Title       string         `json:"title,omitempty"`
	End         transcript.End `json:"end"`
	At          time.Time      `json:"activeAt,omitzero"`
	ContinuedBy []thread.URI   `json:"continuedBy,omitempty"` // as these threads state
}

func (t continuable) line(a *cli.App) string {
	text := textfmt.OneLine(t.URI.String())
	if t.Title != "" {
		text += fmt.Sprintf(" %q", t.Title)
	}
	text += ": " + textfmt.OneLine(t.End.Text)
	switch {
	case t.End.Resets != "":
		text += ", resets " + textfmt.OneLine(t.End.Resets)
	case t.End.Reason != "":
		text += ", " + textfmt.OneLine(t.End.Reason)
	}
	if len(t.ContinuedBy) > 0 {
		text += ", continued by " + textfmt.OneLine(t.ContinuedBy[0].String())
	}
	if !t.At.IsZero() {
		text += " (" + a.Age(t.At) + ")"
	}
	return text
}

// maxOthers is how many other threads are named that none continues.
const maxOthers = 3

// run prints a brief, or starts a program with it. The workspace is closed before that.
func (o *continueFlags) run(ctx context.Context, a *cli.App, name string) error {
	var r continuation
	var start func() error
	err := a.Reading(func(w *workspace.Workspace) (err error) {
		v, others, err := o.choose(ctx, a, w, name)
		if err != nil {
			return err
		}
		if v.URI.Agent != "" || v.URI.From > 0 {
			return cli.Invalid("continue", name, "only a thread can be continued, not a subagent or a message",
				"name the thread itself")
		}
		if r.Brief, err = o.brief(ctx, a, w, v); err != nil {
			return err
		}
		// which are known once it was read
		chosen := continuable{URI: v.URI, Title: v.Thread.Title, End: r.End, At: v.Thread.Seen()}
		if len(others) > 0 {
			chosen.Title, r.Others = cmp.Or(chosen.Title, others[0].Title), others[1:]
		}
		if o.program != "" {
			if start, err = o.prepare(a, v.Thread, &r); err != nil {
				return err
			}
		}
		fmt.Fprintln(a.Err, chosen.line(a))
		for _, other := range r.Others {
			fmt.Fprintln(a.Err, "or "+other.line(a))
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case start != nil:
		return start()
	case a.AsJSON:
		return a.JSON(r)
	case o.dryRun:
		_, err := fmt.Fprintln(a.Out, textfmt.OneLine(quoted(r.Command)))
		return err
	}
	_, err = fmt.Fprint(a.Out, r.Text)
	return err
}

// choose opens the thread that a name means. Without one, it is the first of several.
func (o *continueFlags) choose(ctx context.Context, a *cli.App, w *workspace.Workspace, name string) (*thread.View,
	[]continuable, error) {
	in := w.Threads(thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME")))
	if name != "" {
		v, err := in.Find(ctx, name)
		return v, nil, err
	}
	list, warnings, err := in.Continuable(ctx)
	if a.Warnings(warnings); err != nil {
		return nil, nil, err
	}
	var several, continued []continuable
	for _, i := range list {
		one := continuable{i.URI, i.Name(), threads.EndOf(i.Thread), i.Thread.Seen(), i.ContinuedBy}
		switch {
		case len(one.ContinuedBy) == 0 && len(several) <= maxOthers:
			several = append(several, one)
		case len(one.ContinuedBy) > 0 && len(continued) == 0: // what states that may be forged
			continued = append(continued, one)
		}
	}
	if len(several) == 0 {
		return nil, nil, handoff.E("continue", "", handoff.NotFound,
			errors.New("no thread of this branch has a prompt and was not continued"),
			handoff.Suggest("list the threads of this repository", handoff.ActionThread))
	}
	v, err := in.Find(ctx, several[0].URI.String())
	return v, append(several, continued...), err
}

// brief returns the brief of a thread, edited if that is asked for. The log is that of the directory
// of the thread.
func (o *continueFlags) brief(ctx context.Context, a *cli.App, w *workspace.Workspace, v *thread.View) (
	b transcript.Brief, err error) {
	set := thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
	if in := w.Threads(set); !in.InRepository(v.Thread.Cwd) && isDir(v.Thread.Cwd) {
		other, err := workspace.Open(v.Thread.Cwd, a.Options())
		if err != nil {
			return b, err
		}
		defer other.Close()
		w = other
	}
	if b, err = w.Threads(set).Brief(ctx, v, o.tokens); err != nil || !o.edit {
		return b, err
	}
	b.Text, err = edited(ctx, a, b.Text)
	b.Tokens = brief.Tokens(b.Text)
	return b, err
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir() && filepath.IsAbs(name)
}

// prepare sets the command that starts the program, and returns what runs it.
func (o *continueFlags) prepare(a *cli.App, t *thread.Thread, r *continuation) (start func() error, err error) {
	fail := func(kind handoff.Kind, reason, hint string) (func() error, error) {
		return nil, handoff.E("continue", r.URI.String(), kind, errors.New(reason), handoff.Advice(hint))
	}
	if r.End.Status == thread.Running && !o.anyway {
		return fail(handoff.Conflict, "the thread is running", "end it first, or pass --anyway")
	}
	if r.Dir = t.Cwd; !isDir(r.Dir) {
		if r.Dir = a.Dir; !o.anyway {
			return fail(handoff.Unavailable, "its directory no longer exists: "+t.Cwd,
				"pass --anyway to start the program in the current directory")
		}
	}
	dir := briefs(a)
	if dir == "" {
		return fail(handoff.Unavailable, "the user's state directory is not known", "set HOME or XDG_STATE_HOME")
	}
	file := filepath.Join(dir, fmt.Sprintf("%.16x.md", sha256.Sum256([]byte(r.Text))))
	command, err := converse.Start(o.program, file, brief.Prompt(r.URI, file))
	if err != nil {
		return nil, err
	}
	path, code, err := program(a, "start", r.Dir, command)
	if err != nil {
		return nil, cli.Coded{Code: code, Err: err}
	}
	r.Command = append([]string{path}, command.Args[1:]...)
	if r.DryRun = o.dryRun; o.dryRun {
		return nil, nil
	}
	if err := saveBrief(file, []byte(r.Text), a.Now()); err != nil {
		return nil, err
	}
	return func() error { return replace(a, *r) }, nil
}

// replace runs a command in place of this process, so that it has its terminal and signals.
func replace(a *cli.App, r continuation) error {
	err := a.Flush()
	if err == nil {
		err = os.Chdir(r.Dir)
	}
	if err == nil {
		err = syscall.Exec(r.Command[0], r.Command, (&exec.Cmd{Dir: r.Dir}).Environ())
	}
	return cli.Coded{Code: cli.ExitNotRunnable, Err: handoff.E("start", r.Command[0], handoff.Unsupported, err,
		handoff.Advice("check that the file is a program for this system"))}
}

// briefs returns the directory of the files with briefs, "" if it is not known.
func briefs(a *cli.App) string {
	state := userdir.State(a.Getenv)
	if state == "" {
		return ""
	}
	return filepath.Join(state, "briefs")
}

// oldBrief is the age at which the file of a brief is removed.
const oldBrief = 7 * 24 * time.Hour

// saveBrief writes the file of a brief, and removes old ones.
func saveBrief(file string, text []byte, now time.Time) error {
	dir := filepath.Dir(file)
	if err := durable.ReplacePrivate(dir, filepath.Base(file), text); err != nil {
		return handoff.E("write brief", file, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("check the permissions of the directory"))
	}
	list, _ := os.ReadDir(dir) // what can't be read is left for the next time
	for _, entry := range list {
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) > oldBrief {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
	return nil
}
