package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/mcp"
	"github.com/agent-handoff/handoff/internal/plainfile"
	"github.com/spf13/cobra"
)

// shutdownTime is how long open requests may take when the server ends.
const shutdownTime = 5 * time.Second

func serveCommand(a *cli.App) *cobra.Command {
	var listen, tokenFile string
	c := &cobra.Command{
		Use:     "serve [DIR...]",
		Short:   "Serve agents over HTTP",
		GroupID: cli.Setup,
		Long: `Serve offers the Model Context Protocol over streamable HTTP, at /mcp, for the
workspaces of the given directories, by default the current one. Every request
needs a bearer token. It is printed on standard error, and is a new one each
time unless --token-file names a file that contains one.`,
		Example: "  handoff serve --listen 127.0.0.1:7420",
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "listen on this `address`; port 0 is any free one")
	c.Flags().StringVar(&tokenFile, "token-file", "", "`file` with the token")
	c.RunE = func(c *cobra.Command, dirs []string) error {
		token, err := serverToken(a, tokenFile)
		if err != nil {
			return err
		}
		if len(dirs) == 0 {
			dirs = []string{a.Dir}
		}
		for i, dir := range dirs {
			dirs[i] = cli.Absolute(a.Dir, dir)
		}
		return serve(c.Context(), a, listen, token, dirs)
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
		return "", &handoff.Error{Op: "serve", Name: file, Kind: handoff.Unavailable, Err: err, Hint: handoff.Advice("name a file that contains the token")}
	}
	token := strings.TrimSpace(string(b))
	if len(token) < 16 || strings.ContainsAny(token, " \t\r\n") {
		return "", cli.Invalid("serve", file, "does not contain a token", "write at least 16 characters without spaces into it")
	}
	return token, nil
}

func serve(ctx context.Context, a *cli.App, address, token string, dirs []string) error {
	s := mcp.New(mcpOptions(a, dirs))
	defer s.Close()
	if err := s.Check(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return &handoff.Error{Op: "serve", Name: address, Kind: handoff.Unavailable, Err: errors.Unwrap(err), Hint: handoff.Advice("choose another address with --listen")}
	}
	host, _, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.Handler(token, []string{host, "localhost"}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	fmt.Fprintf(a.Err, "serving http://%s/mcp\ntoken: %s\n", l.Addr(), token)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if server.Shutdown(closing) != nil { // a client holds a stream open
		return server.Close()
	}
	return nil
}
