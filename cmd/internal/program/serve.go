package program

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/access"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/mcp"
	"github.com/agent-handoff/handoff/cmd/internal/web"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// shutdownTime is how long open requests may take when the server ends.
const shutdownTime = patience / 2

// serveFlags are how to serve.
type serveFlags struct {
	listen, tokenFile      string
	open, noToken, threads bool
}

func serveCommand(a *cli.App) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve [DIR...]",
		Short: "Show the workspace in a browser, and serve agents over HTTP",
		Long: `Serve shows the workspace of the first given directory, by default the current
one, as pages that update while agents work. The pages are read-only. The
printed link opens them in a browser; each link works once. When it is
used, serve prints the next one.

At /mcp it offers the Model Context Protocol over streamable HTTP, for the
workspaces of all given directories. Every request there needs a bearer token,
which is printed on standard error. The token is new each time, unless
--token-file names a file that contains one.

Beyond loopback, threads are shown only with --threads.`,
		Example: "  handoff serve --open\n  handoff serve --listen 127.0.0.1:7500 ~/project",
	}
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:7420", "listen on this `address`; port 0 is any free one")
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "`file` with the token")
	c.Flags().BoolVar(&f.open, "open", false, "open the pages in the browser")
	c.Flags().BoolVar(&f.noToken, "no-token", false, "show the pages to every program that can connect")
	c.Flags().BoolVar(&f.threads, "threads", false, "show threads also beyond loopback")
	c.RunE = func(c *cobra.Command, dirs []string) error {
		token, err := serverToken(a, f.tokenFile)
		if err != nil {
			return err
		}
		if len(dirs) == 0 {
			dirs = []string{a.Dir}
		}
		for i, dir := range dirs {
			dirs[i] = cli.Absolute(a.Dir, dir)
		}
		return serve(c.Context(), a, f, token, dirs)
	}
	return c
}

// serverToken returns the token in a file, or a new one.
func serverToken(a *cli.App, file string) (string, error) {
	if file == "" {
		return rand.Text(), nil
	}
	const limit = 4 << 10
	b, err := plainfile.Read(cli.Absolute(a.Dir, file), limit)
	if err != nil {
		kind := handoff.Unavailable
		if errors.Is(err, fs.ErrNotExist) {
			kind = handoff.NotFound
		}
		return "", handoff.E("read token", file, kind, durable.Reason(err),
			handoff.Advice("name a file that contains the token"))
	}
	token := strings.TrimSpace(string(b))
	if len(token) < 16 || strings.ContainsAny(token, " \t\r\n") {
		return "", cli.Invalid("serve", file, "does not contain a token",
			"write at least 16 characters without spaces into it")
	}
	return token, nil
}

func serve(ctx context.Context, a *cli.App, f serveFlags, token string, dirs []string) error {
	w, err := workspace.Open(dirs[0], a.Options())
	if err != nil {
		return err
	}
	defer w.Close()
	s := mcp.New(mcpOptions(a, dirs))
	defer s.Close()
	if err := s.Check(); err != nil {
		return err
	}
	l, err := listen(f.listen)
	if err != nil {
		return err
	}
	hosts := access.NewHosts(f.listen, l.Addr())
	var opened redirect
	defer opened.remove()
	options := pageOptions(a, w, f, token, hosts, l.Addr().String())
	if linked := options.Linked; linked != nil {
		options.Linked = func(path string) { opened.remove(); linked(path) }
	}
	pages, err := web.New(options)
	if err != nil {
		return err
	}
	server := access.NewServer(split(s.Handler(token, hosts), pages.Handler()), a.Now)
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	link := "http://" + l.Addr().String() + pages.Link()
	fmt.Fprintf(a.Err, "serving http://%s/mcp\ntoken: %s\nviewer: %s\n", l.Addr(), token, link)
	if f.open {
		if err := opened.open(a.Getenv, link); err != nil {
			a.Warn("no browser was started (%v): open the link of the viewer", err)
		}
	}
	return answer(ctx, server, l, pages.Close)
}

// answer answers requests until ctx ends; then it calls end, which ends streams.
func answer(ctx context.Context, server *http.Server, l net.Listener, end func()) error {
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(access.LimitConnections(l)) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	end()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if server.Shutdown(closing) != nil { // a client holds a stream open
		return server.Close()
	}
	return nil
}

// split passes requests for /mcp to one handler and all others to another. It is
// no ServeMux, which answers paths that are not clean itself.
func split(mcp, pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			mcp.ServeHTTP(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	})
}

func pageOptions(a *cli.App, w *workspace.Workspace, f serveFlags, token string, hosts access.Hosts,
	address string) web.Options {
	o := web.Options{Now: a.Now, Hosts: hosts, Token: token}
	var threads *thread.Set
	if f.threads || !hosts.Remote() {
		threads = thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
	}
	o.Source = web.NewSource(w, threads)
	if !f.noToken {
		o.Secret = rand.Text
		o.Linked = func(path string) { fmt.Fprintf(a.Err, "viewer: http://%s%s\n", address, path) }
	}
	return o
}

// listen listens on an address. If its port is in use, the error names the next
// free one.
func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	e := handoff.E("serve", address, handoff.Unavailable, errors.Unwrap(err),
		handoff.Advice("choose another address with --listen"))
	if _, invalid := errors.AsType[*net.AddrError](err); invalid {
		e.Kind, e.Hint = handoff.Invalid, handoff.Advice("use HOST:PORT, such as 127.0.0.1:7420")
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		e.Err = errors.New("the port is in use")
		if free := nextFree(address); free != "" {
			e.Hint = handoff.Advice("another server may run already; the next free port is that of --listen " + free)
		}
	}
	return nil, e
}

// nextFree returns the address with the next port on which nothing listens, "" if
// none of the next hundred is free.
func nextFree(address string) string {
	host, port, err := net.SplitHostPort(address)
	n, numberErr := strconv.Atoi(port)
	if err != nil || numberErr != nil {
		return ""
	}
	for i := n + 1; i <= n+100 && i < 1<<16; i++ {
		next := net.JoinHostPort(host, strconv.Itoa(i))
		if l, err := net.Listen("tcp", next); err == nil {
			l.Close()
			return next
		}
	}
	return ""
}
