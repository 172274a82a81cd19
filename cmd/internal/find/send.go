package find

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/tool/printable"
	"github.com/agent-handoff/handoff/internal/transcript/converse"
	"github.com/agent-handoff/handoff/thread"
	"github.com/spf13/cobra"
)

// sendFlags are the flags for writing to a thread.
type sendFlags struct {
	data   []string
	dryRun bool
}

// add adds the flags to a command.
func (f *sendFlags) add(c *cobra.Command) {
	c.Flags().StringArrayVarP(&f.data, "data", "d", nil,
		"send `text` with the agent's program: to a thread, or to a new one of a provider; @FILE reads a file, @- "+
			"standard input; repeated texts are lines")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false,
		"with --data, print the command of the agent's program and do not run it")
}

// given reports whether something is to be written.
func (f *sendFlags) given(c *cobra.Command) bool {
	return c.Flags().Changed("data") || c.Flags().Changed("dry-run")
}

// A reply is the answer with --json.
type reply struct {
	URI      string   `json:"uri,omitempty"`
	Created  bool     `json:"created"`
	ExitCode int      `json:"exitCode"`
	Text     string   `json:"text"`
	Command  []string `json:"command"`
	DryRun   bool     `json:"dryRun,omitempty"`
}

// run sends the text. The exit code is that of the program, as of handoff run.
func (f *sendFlags) run(ctx context.Context, a *cli.App, set *thread.Set, uri string) error {
	switch {
	case f.data == nil:
		return cli.Invalid("thread", uri, "--dry-run needs --data", "give the text with --data")
	case uri == "":
		return cli.Invalid("thread", "", "missing thread or provider",
			"name a thread, or a provider such as codex")
	}
	target, dir, parameters, err := resolve(ctx, set, uri)
	if err != nil {
		return err
	}
	text, err := f.text(a)
	if err != nil {
		return err
	}
	command, err := converse.New(target, text, parameters)
	if err != nil {
		return err
	}
	path, code, err := program(a, "write to thread", dir, command)
	if err != nil {
		return cli.Coded{Code: code, Err: err}
	}
	command.Args[0] = path
	r := reply{Created: target.ID == "", Command: command.Args, DryRun: f.dryRun}
	if target.ID != "" {
		r.URI = thread.URI{Provider: target.Provider, Thread: target.ID}.String()
	}
	if f.dryRun {
		if a.AsJSON {
			return a.JSON(r)
		}
		_, err := fmt.Fprintln(a.Out, printable.Line(quoted(command.Args)))
		return err
	}
	s := sending{App: a, command: command, provider: target.Provider, dir: dir, result: r}
	return s.run(ctx)
}

// resolve returns what a URI names: a provider, to start a thread, or one of its
// threads with its directory. The query has the parameters of the program.
func resolve(ctx context.Context, set *thread.Set, uri string) (t converse.Target, dir string,
	parameters []converse.Parameter, err error) {
	base, query, _ := strings.Cut(uri, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err1 := url.PathUnescape(name)
		value, err2 := url.PathUnescape(value)
		if err := errors.Join(err1, err2); err != nil {
			return t, "", nil, cli.Invalid("thread", uri, "invalid percent encoding", "write %25 for a percent sign")
		}
		parameters = append(parameters, converse.Parameter{Name: name, Value: value})
	}
	name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(base, "agents://"), "://"), "/")
	if slices.Contains(set.Names(), name) {
		return converse.Target{Provider: name}, "", parameters, nil
	}
	u, err := thread.ParseURI(base)
	if err != nil {
		return t, "", nil, err
	}
	if u.Agent != "" || u.From > 0 {
		return t, "", nil, cli.Invalid("thread", uri, "only a thread can be written to, not a subagent or a message",
			"write to the thread itself")
	}
	v, err := set.Open(ctx, u)
	if err != nil {
		return t, "", nil, err
	}
	return converse.Target{Provider: v.URI.Provider, ID: v.Thread.ID, Source: v.Thread.Source}, v.Thread.Cwd, parameters,
		nil
}

// maxText is the maximum length of a text, which becomes an argument of a program.
const maxText = 100 << 10

// text returns the texts as lines.
func (f *sendFlags) text(a *cli.App) (string, error) {
	var lines []string
	for _, d := range f.data {
		name, file := strings.CutPrefix(d, "@")
		if !file {
			lines = append(lines, d)
			continue
		}
		src := a.In
		if name != "-" {
			opened, err := os.Open(cli.Absolute(a.Dir, name))
			if err != nil {
				return "", cli.Invalid("thread", name, "read text: "+err.Error(), "name a readable file after @")
			}
			defer opened.Close()
			src = opened
		}
		b, err := io.ReadAll(io.LimitReader(src, maxText+1))
		if err != nil {
			return "", err
		}
		lines = append(lines, strings.TrimRight(string(b), "\n"))
	}
	text := strings.Join(lines, "\n")
	if len(text) > maxText {
		return "", cli.Invalid("thread", "", fmt.Sprintf("the text is longer than %d KiB", maxText>>10),
			"write the text to a file, and send the name of the file")
	}
	return text, nil
}

// program returns the path of the program for an operation in a directory, "" for the current one:
// that of its variable, or the one in PATH. A program in the workspace, or in that of the directory,
// is refused: a cloned repository must not choose it.
func program(a *cli.App, op, dir string, c converse.Command) (path string, code int, err error) {
	fail := func(code int, kind handoff.Kind, reason, hint string) (string, int, error) {
		return "", code, handoff.E(op, c.Args[0], kind, errors.New(reason), handoff.Advice(hint))
	}
	name := c.Args[0]
	if set := a.Getenv(c.Env); set != "" {
		if name = set; !filepath.IsAbs(name) {
			return fail(cli.ExitNotStarted, handoff.Invalid, c.Env+" is not an absolute path",
				"set "+c.Env+" to the absolute path of the program")
		}
	}
	path, err = exec.LookPath(name)
	switch {
	case err == nil:
	case errors.Is(err, exec.ErrDot):
		return fail(cli.ExitNotStarted, handoff.Invalid, "the program is in the current directory",
			"remove relative directories from PATH")
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return fail(cli.ExitNotFound, handoff.NotFound, "no such command",
			"install the program, or set "+c.Env+" to its absolute path")
	default:
		return fail(cli.ExitNotRunnable, handoff.Unsupported, err.Error(), "check that the file is a program for this system")
	}
	inside := func(real string) bool {
		return inWorkspace(a, a.Dir, path, real) || (dir != "" && inWorkspace(a, dir, path, real))
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && a.Getenv(c.Env) == "" && inside(real) {
		return fail(cli.ExitNotStarted, handoff.Invalid, "the program is in the workspace: "+path,
			"to use it, set "+c.Env+" to its absolute path")
	}
	return path, 0, nil
}

// inWorkspace reports whether one of the paths is in a directory or its repository. The user's
// home directory does not count as a repository.
func inWorkspace(a *cli.App, dir string, paths ...string) bool {
	root := dir
	for ; dir != filepath.Dir(dir) && dir != a.Getenv("HOME"); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			root = dir
			break
		}
	}
	if real, err := filepath.EvalSymlinks(root); err == nil && root != a.Getenv("HOME") {
		for _, p := range paths {
			for _, r := range []string{root, real} {
				if strings.HasPrefix(p, r+string(filepath.Separator)) {
					return true
				}
			}
		}
	}
	return false
}

// quoted returns a command line for a shell.
func quoted(args []string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@,+"
	list := make([]string, len(args))
	for i, arg := range args {
		if list[i] = arg; arg == "" || strings.Trim(arg, plain) != "" {
			list[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(list, " ")
}

// A sending is one run of the agent's program.
type sending struct {
	*cli.App
	command  converse.Command
	provider string
	dir      string // of the thread, "" if it is new or unknown
	result   reply
	heard    converse.Reply
	answer   strings.Builder // with --json
	named    bool            // the thread was printed
}

// run runs the program, without standard input, and prints its answer as it comes. A
// signal that ends handoff is sent on to the program. What the program leaves running is
// waited for a short time only.
func (s *sending) run(ctx context.Context) error {
	const patience = 10 * time.Second
	c := exec.CommandContext(ctx, s.command.Args[0], s.command.Args[1:]...)
	out, in := io.Pipe()
	c.Stdout, c.Stderr, c.Dir, c.WaitDelay = in, s.Err, s.Dir, patience
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	s.Hold()
	if err := c.Start(); err != nil {
		return cli.Coded{Code: cli.ExitNotRunnable, Err: handoff.E("write to thread", s.command.Args[0], handoff.Unsupported,
			err, handoff.Advice("check that the file is a program for this system"))}
	}
	printed := make(chan error, 1)
	go func() { printed <- s.print(out) }()
	code, err := ended(c.Wait())
	in.Close()
	if err = errors.Join(<-printed, err); err != nil {
		return cli.Coded{Code: cli.ExitNotStarted, Err: err}
	}
	s.result.ExitCode = code
	if s.AsJSON {
		s.result.Text = s.answer.String()
		if err := s.JSON(s.result); err != nil {
			return err
		}
	}
	if code == 0 {
		return nil
	}
	if s.dir != "" && s.dir != s.Dir {
		s.Warn("some programs continue a thread only in its directory: %s", printable.Line(s.dir))
	}
	return cli.ExitCode(code)
}

// print prints the answer in the output of the program.
func (s *sending) print(out io.Reader) error {
	rd := jsonl.NewReaderSize(out, 4<<10)
	ends := true // the output ends with a newline
	var failed error
	for rd.Next() {
		text := s.command.Read(&s.heard, rd.Line())
		s.identify()
		switch {
		case text == "" || failed != nil:
		case s.AsJSON:
			s.answer.WriteString(text)
		default:
			_, failed = s.Out.Write(printable.Text([]byte(text)))
			ends = strings.HasSuffix(text, "\n")
		}
	}
	if !ends && failed == nil {
		_, failed = s.Out.Write([]byte("\n"))
	}
	return errors.Join(failed, rd.Err())
}

// identify prints which thread is written to, once it is known.
func (s *sending) identify() {
	if s.heard.ID == "" || s.named {
		return
	}
	s.named = true
	s.result.URI = thread.URI{Provider: s.provider, Thread: thread.LowerUUID(s.heard.ID)}.String()
	word := "updated"
	if s.result.Created {
		word = "created"
	}
	if !s.AsJSON {
		fmt.Fprintf(s.Err, "%s: %s\n", word, printable.Line(s.result.URI))
	}
}

// ended returns the exit code of a program, as handoff run does.
func ended(err error) (int, error) {
	var exit *exec.ExitError
	if errors.Is(err, exec.ErrWaitDelay) {
		return 0, nil // a process that it started has its output
	}
	if !errors.As(err, &exit) {
		return 0, err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return cli.ExitSignalled + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}
