package find

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/internal/tool/durable"
)

// edited returns a text as the user leaves it in an editor: the command line of VISUAL or EDITOR,
// otherwise vi. An empty text ends the command.
func edited(ctx context.Context, a *cli.App, text string) (string, error) {
	fail := func(err error, hint string) (string, error) {
		return "", handoff.E("edit brief", "", handoff.Unavailable, err, handoff.Advice(hint))
	}
	dir, err := os.MkdirTemp("", "handoff-brief-")
	if err != nil {
		return fail(err, "check the temporary directory")
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "brief.md")
	if err := durable.ReplacePrivate(dir, filepath.Base(file), []byte(text)); err != nil {
		return fail(err, "check the temporary directory")
	}
	editor := cmp.Or(a.Getenv("VISUAL"), a.Getenv("EDITOR"), "vi")
	c := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, editor, file)
	c.Stdin, c.Stderr = os.Stdin, os.Stderr
	c.Stdout = os.Stderr // standard output has the brief
	a.Hold()
	if err := c.Run(); err != nil {
		return fail(errors.New("the editor failed: "+err.Error()), "set VISUAL or EDITOR to an editor")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return fail(err, "save the file under its name")
	}
	if strings.TrimSpace(string(b)) == "" {
		return "", cli.Invalid("edit brief", "", "the text is empty", "leave it as it is to keep the brief")
	}
	return string(b), nil
}
