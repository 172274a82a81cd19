package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// maxPayload is the size of the largest message: a record of 1 MiB with its headers.
	maxPayload = 2 << 20

	startTimeout = 30 * time.Second
)

// serve runs the server until ctx ends.
func (s settings) serve(ctx context.Context, out, stderr io.Writer) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(s.dir, "lock"))
	if err != nil {
		return fmt.Errorf("open %s: %w", s.dir, err)
	}
	defer unlock()
	// The library only logs that it can't listen.
	l, err := net.Listen("tcp", net.JoinHostPort(s.host, strconv.Itoa(s.port)))
	if err != nil {
		return err
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return err
	}
	o := &server.Options{ServerName: "handoff-nats", Host: s.host, Port: port, JetStream: true, StoreDir: s.dir,
		SyncAlways: true,
		MaxPayload: maxPayload, JetStreamMaxStore: s.maxBytes, NoSigs: true, Username: s.user, Password: s.password}
	if s.tls != nil {
		o.TLS, o.TLSConfig, o.TLSTimeout = true, s.tls, 5
	}
	n, err := server.NewServer(o)
	if err != nil {
		return err
	}
	n.SetLogger(logger{stderr}, false, false)
	n.Start()
	defer n.WaitForShutdown()
	defer n.Shutdown()
	if !n.ReadyForConnections(startTimeout) || !n.JetStreamEnabled() {
		return errors.New("the server did not start")
	}
	if err := showSettings(n); err != nil {
		return err
	}
	fmt.Fprintf(out, "listening on nats://%s, storing in %s\n", net.JoinHostPort(s.host, strconv.Itoa(port)), s.dir)
	<-ctx.Done()
	return nil
}

// showSettings lets clients ask for the settings of the server, of which handoff
// shows how often it writes to the disk.
func showSettings(n *server.Server) error {
	const subject = "$SYS.REQ.SERVER.PING.VARZ"
	if err := n.SystemAccount().AddServiceExport(subject, nil); err != nil {
		return err
	}
	return n.GlobalAccount().AddServiceImport(n.SystemAccount(), subject, subject)
}

// plaintext is a warning about passwords in a configuration file. There is none.
const plaintext = "Plaintext passwords detected, use nkeys or bcrypt"

// A logger prints warnings and errors of the server.
type logger struct{ w io.Writer }

func (l logger) print(format string, args ...any) {
	fmt.Fprintf(l.w, "handoff-nats: "+format+"\n", args...)
}

func (l logger) Noticef(string, ...any) {}
func (l logger) Warnf(format string, args ...any) {
	if format != plaintext {
		l.print(format, args...)
	}
}
func (l logger) Fatalf(format string, args ...any) { l.print(format, args...) }
func (l logger) Errorf(format string, args ...any) { l.print(format, args...) }
func (l logger) Debugf(format string, args ...any) {}
func (l logger) Tracef(format string, args ...any) {}
