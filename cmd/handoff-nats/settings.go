package main

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
)

// settings are what the flags state.
type settings struct {
	dir            string
	host           string
	port           int
	user, password string
	tls            *tls.Config // nil without TLS
	maxBytes       int64       // 0 without a limit
}

// parse returns the settings, or flag.ErrHelp.
func parse(args []string) (s settings, err error) {
	f := flag.NewFlagSet("handoff-nats", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	listen := f.String("listen", "127.0.0.1:4222", "")
	passwordFile, cert, key := f.String("password-file", "", ""), f.String("tls-cert", "", ""), f.String("tls-key", "", "")
	f.StringVar(&s.dir, "dir", "", "")
	f.StringVar(&s.user, "user", "", "")
	f.Int64Var(&s.maxBytes, "max-bytes", 0, "")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	switch {
	case f.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case s.dir == "":
		return s, errors.New("--dir is required")
	case s.maxBytes < 0:
		return s, errors.New("--max-bytes must not be negative")
	case (*cert == "") != (*key == ""):
		return s, errors.New("--tls-cert and --tls-key are only valid together")
	}
	host, port, err := net.SplitHostPort(*listen)
	if err == nil {
		s.port, err = strconv.Atoi(port)
	}
	if err != nil || s.port < 0 || s.port > 1<<16-1 {
		return s, fmt.Errorf("--listen: invalid address %q", *listen)
	}
	s.host = host
	if *cert != "" {
		pair, err := tls.LoadX509KeyPair(*cert, *key)
		if err != nil {
			return s, fmt.Errorf("--tls-cert: %w", err)
		}
		s.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	if *passwordFile != "" {
		b, err := os.ReadFile(*passwordFile)
		if err != nil {
			return s, fmt.Errorf("--password-file: %w", err)
		}
		s.password = strings.TrimRight(string(b), "\r\n")
	}
	return s, s.check()
}

// check returns an error for settings that would let others in.
func (s settings) check() error {
	switch {
	case (s.user == "") != (s.password == ""):
		return errors.New("a name and a password are only valid together: set --user and --password-file")
	case isLoopback(s.host):
		return nil
	case s.user == "":
		return fmt.Errorf("--listen %s: other machines can connect, so --user and a password are required", s.host)
	case s.tls == nil:
		return fmt.Errorf("--listen %s: other machines can connect, so --tls-cert and --tls-key are required", s.host)
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
