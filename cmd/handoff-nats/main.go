// Handoff-nats is a NATS server for a team that has none: one process with
// JetStream that writes to its disk before it acknowledges a record. It is a module
// of its own, so handoff does not contain a server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `Run a NATS server that stores logs of handoff.

Usage:
  handoff-nats --dir directory [flags]

The server stores records and bodies in the directory, and writes to the disk
before it acknowledges them. It listens on this machine only, unless --listen
states another address; clients then have to use TLS and give a name and a
password. It runs until it gets an interrupt or a termination signal.

There is one copy of the data. For one that outlives a disk, run a NATS cluster
of three servers instead.

Flags:
  --dir directory       where records and bodies are stored
  --listen host:port    address to listen on (default 127.0.0.1:4222)
  --user name           name that clients have to give
  --password-file file  file with the password that clients have to give
  --tls-cert file       certificate of the server, in PEM format
  --tls-key file        key of the certificate
  --max-bytes n         size of all that is stored, in bytes (default: three
                        quarters of the free space)
  -h, --help            show help

Examples:
  handoff-nats --dir ~/handoff-log
  export HANDOFF_LOG=nats://127.0.0.1:4222/team
`

// The exit codes, which are those of handoff.
const (
	exitUsage       = 2
	exitUnavailable = 5
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the server until ctx ends, and returns an exit code.
func run(ctx context.Context, args []string, out, stderr io.Writer) int {
	s, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, usage)
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "handoff-nats: %v\nhint: handoff-nats --help lists the flags\n", err)
		return exitUsage
	}
	if err := s.serve(ctx, out, stderr); err != nil {
		fmt.Fprintf(stderr, "handoff-nats: %v\n", err)
		return exitUnavailable
	}
	return 0
}
