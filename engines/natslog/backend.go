package natslog

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/storage"
	"github.com/nats-io/nats.go"
)

// Backend opens logs in NATS JetStream: nats://host:4222/workspace. The query can
// have servers, further host:port separated by commas; replicas, storage (file or
// memory), max_bytes and max_body_bytes, which apply when the log is created; poll
// and timeout, durations; and tls=off. Credentials are taken from the URL or from the
// variables of the NATS tools.
var Backend = storage.Backend{Scheme: "nats", Open: open, Remote: true,
	Settings: []string{"servers", "replicas", "storage", "max_bytes", "max_body_bytes", "poll", "timeout", "tls"}}

// defaultPoll is how often Wait asks when it gets no message about a new record.
const defaultPoll = 2 * time.Second

func open(b storage.BackendOptions) (handoff.Log, handoff.Bodies, error) {
	o, err := options(b.Location, b.Getenv)
	if err != nil {
		return nil, nil, handoff.E("open log", "nats://"+b.Location.Host+b.Location.Path, handoff.Invalid, err,
			handoff.Advice(
				"use nats://host:4222/workspace, with servers=HOST:PORT in the query for further servers of a cluster"))
	}
	o.Runtime = b.Runtime
	o.Rand = b.Rand
	o.Warn = b.Warn
	l := Open(o)
	return l, l.Bodies(), nil
}

// nameForm is the form of the names of workspaces, which are parts of names of
// streams and of subjects.
var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`) })

// options returns the options that a location and the environment state.
func options(location *url.URL, getenv func(string) string) (o Options, err error) {
	o = Options{Name: strings.Trim(location.Path, "/"), Servers: []string{location.Host}, Poll: defaultPoll}
	if location.Host == "" || location.Fragment != "" || !nameForm().MatchString(o.Name) {
		return o, errors.New("not a host and the name of a workspace (letters, digits, dash, underscore)")
	}
	for key, values := range location.Query() {
		switch value := values[0]; key {
		case "servers":
			o.Servers = append(o.Servers, strings.Split(value, ",")...)
		case "replicas":
			o.Replicas, err = strconv.Atoi(value)
		case "storage":
			if o.Memory = value == "memory"; value != "memory" && value != "file" {
				err = errors.New("must be file or memory")
			}
		case "max_bytes":
			o.MaxBytes, err = strconv.ParseInt(value, 10, 64)
		case "max_body_bytes":
			o.MaxBodyBytes, err = strconv.ParseInt(value, 10, 64)
		case "poll":
			o.Poll, err = time.ParseDuration(value)
		case "timeout":
			o.Timeout, err = time.ParseDuration(value)
		case "tls":
			if o.Insecure = value == "off"; !o.Insecure {
				err = errors.New("can only be off")
			}
		default:
			err = errors.New("is not a setting")
		}
		if len(values) > 1 {
			err = errors.New("is repeated")
		}
		if err != nil || o.Poll < 0 || o.Timeout < 0 || o.Replicas < 0 || o.Replicas > 5 || o.MaxBytes < 0 ||
			o.MaxBodyBytes < 0 {
			return o, fmt.Errorf("invalid setting %s", key)
		}
	}
	for i, server := range o.Servers {
		u, err := url.Parse("nats://" + server)
		if err != nil || u.Hostname() == "" || u.Path != "" || u.User != nil {
			return o, errors.New("invalid server")
		}
		o.Servers[i] = "nats://" + net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "4222"))
	}
	o.Connect, o.System = credentials(location.User, getenv)
	return o, nil
}

// credentials returns the options for a connection, and those for one as a user of
// the system account, nil without such a user.
func credentials(user *url.Userinfo, getenv func(string) string) (own, system []nats.Option) {
	password, hasPassword := user.Password()
	switch {
	case hasPassword:
		own = append(own, nats.UserInfo(user.Username(), password))
	case user.Username() != "":
		own = append(own, nats.Token(user.Username()))
	case getenv("NATS_CREDS") != "":
		own = append(own, nats.UserCredentials(getenv("NATS_CREDS")))
	case getenv("NATS_NKEY") != "":
		own = append(own, nkey(getenv("NATS_NKEY")))
	case getenv("NATS_USER") != "":
		own = append(own, nats.UserInfo(getenv("NATS_USER"), getenv("NATS_PASSWORD")))
	}
	var common []nats.Option
	if ca := getenv("NATS_CA"); ca != "" {
		common = append(common, nats.RootCAs(ca))
	}
	if cert := getenv("NATS_CERT"); cert != "" {
		common = append(common, nats.ClientCert(cert, getenv("NATS_KEY")))
	}
	switch {
	case getenv("HANDOFF_NATS_SYSTEM_CREDS") != "":
		system = append(common[:len(common):len(common)], nats.UserCredentials(getenv("HANDOFF_NATS_SYSTEM_CREDS")))
	case getenv("HANDOFF_NATS_SYSTEM_USER") != "":
		system = append(common[:len(common):len(common)],
			nats.UserInfo(getenv("HANDOFF_NATS_SYSTEM_USER"), getenv("HANDOFF_NATS_SYSTEM_PASSWORD")))
	}
	return append(own, common...), system
}

// nkey reads the seed of a key when the connection is opened.
func nkey(file string) nats.Option {
	return func(o *nats.Options) error {
		read, err := nats.NkeyOptionFromSeed(file)
		if err != nil {
			return err
		}
		return read(o)
	}
}

// secure returns the option that requires TLS, unless every server is on this
// machine or TLS was switched off.
func (o Options) secure() nats.Option {
	local := true
	for _, server := range o.Servers {
		u, err := url.Parse(server)
		local = local && err == nil && isLoopback(u.Hostname())
	}
	if local || o.Insecure {
		return func(*nats.Options) error { return nil }
	}
	return nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12})
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
