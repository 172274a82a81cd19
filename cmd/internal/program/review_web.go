package program

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/access"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/reviewweb"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/reviews"
	"github.com/spf13/cobra"
)

// reviewAddress is where the pages of review --web are: only this machine, at any free port.
const reviewAddress = "127.0.0.1:0"

// reviewOnPages is review --web: what is reviewed is chosen on the pages.
func reviewOnPages(c *cobra.Command, a *cli.App, who cli.Identity, r reviews.Draft, args []string) error {
	if len(args) > 0 || r.Decision != "" || slices.ContainsFunc(ofReview, c.Flags().Changed) {
		return cli.Invalid("review", "--web", "can't be used with a ref or a decision", cli.Name()+" review --web")
	}
	r.AllowSecret, r.Via = a.AllowSecret, handoff.ViaCommand
	return a.Writing(func(w *workspace.Workspace) error {
		w, err := who.As(a, w)
		if err != nil {
			return err
		}
		return serveReviews(c.Context(), a, w, byPerson(a, w, r))
	})
}

// serveReviews shows the pages of reviews until ctx ends. A link is only in a file that the
// user can read, which is removed when the link was used.
func serveReviews(ctx context.Context, a *cli.App, w *workspace.Workspace, r reviews.Draft) error {
	l, err := listen(reviewAddress)
	if err != nil {
		return err
	}
	var link redirect
	defer link.remove()
	o := reviewweb.Options{Workspace: w, Threads: thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME")), Now: a.Now,
		Hosts: access.NewHosts(reviewAddress, l.Addr()), Secret: rand.Text, User: r.User, Via: r.Via,
		AllowSecret: r.AllowSecret}
	o.Linked = link.remove
	pages, err := reviewweb.New(o)
	if err != nil {
		return err
	}
	server := access.NewServer(pages.Handler(), a.Now)
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	file, err := link.write(userdir.State(a.Getenv), "http://"+l.Addr().String()+pages.Link())
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "reviewing on http://%s until you press Ctrl-C\nopen %s\n", l.Addr(), file)
	if err := link.start(a.Getenv); err != nil {
		a.Warn("no browser was started (%v): open the file", err)
	}
	return answer(ctx, server, l, func() {})
}
