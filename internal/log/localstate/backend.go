package localstate

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/storage"
)

// Identity returns a location without user name, password and settings. Locations
// with the same one name the same log.
func Identity(b storage.Backend, location string) string {
	u, err := url.Parse(config.Redact(location))
	if err != nil {
		return ""
	}
	query := u.Query()
	for _, name := range b.Settings {
		query.Del(name)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// fileBackend is the built-in backend: a directory of numbered files in the
// runtime directory.
var fileBackend = storage.Backend{Scheme: "file", Open: func(o storage.BackendOptions) (handoff.Log, handoff.Bodies,
	error) {
	if o.Location.Opaque+o.Location.Host+o.Location.Path != "" {
		return nil, nil, handoff.E("open log", config.Redact(o.Location.String()), handoff.Invalid,
			errors.New("file: takes no path"),
			handoff.Hint{}.OrSet("HANDOFF_DIR to move the runtime directory"))
	}
	log := filelog.Open(o.Runtime, o.Rand)
	return log, log.Bodies(), nil
}}

// An Opened is the log and body store that a backend opened.
type Opened struct {
	Log     handoff.Log
	Bodies  handoff.Bodies
	Backend storage.Backend
}

// OpenBackend opens the log and body store that a setting names, by default the
// built-in one. Nothing of it is opened before trusted has accepted its destinations; if
// trusted is nil, all are accepted.
//
// Kinds: Invalid (the location), and those of the backend.
func OpenBackend(c config.Config, backends []storage.Backend, trusted func(destinations []string) error,
	o storage.BackendOptions) (opened Opened, err error) {
	b, err := findBackend(c, backends, &o)
	if err != nil {
		return opened, err
	}
	destinations, err := destinationsOf(b, o)
	if err == nil && trusted != nil {
		err = trusted(destinations)
	} else if !c.NamesLog() {
		err = nil // the log reports it when it is used
	}
	if err != nil {
		return opened, err
	}
	if c.NamesLog() {
		o.Destinations = destinations
	}
	log, bodies, err := b.Open(o)
	return Opened{log, bodies, b}, err
}

// Destinations returns what the log that a setting names leads to, as
// Backend.Destinations does. It opens no log.
func Destinations(c config.Config, backends []storage.Backend, o storage.BackendOptions) ([]string, error) {
	b, err := findBackend(c, backends, &o)
	if err != nil {
		return nil, err
	}
	return destinationsOf(b, o)
}

func destinationsOf(b storage.Backend, o storage.BackendOptions) ([]string, error) {
	if b.Destinations == nil {
		return nil, nil
	}
	return b.Destinations(o)
}

// findBackend returns the backend of the log that a setting names, and sets its
// location. Kind: Invalid.
func findBackend(c config.Config, backends []storage.Backend, o *storage.BackendOptions) (found storage.Backend,
	err error) {
	backends = append([]storage.Backend{fileBackend}, backends...)
	location := cmp.Or(c.Log, fileBackend.Scheme+":")
	if o.Location, err = url.Parse(location); err != nil || o.Location.Scheme == "" {
		// A URL that can't be parsed may contain a password, so it is not shown.
		return found, badLocation(c, "not a URL of the form scheme:location", backends)
	}
	for _, b := range backends {
		if b.Scheme == o.Location.Scheme {
			return b, nil
		}
	}
	return found, badLocation(c, fmt.Sprintf("unknown scheme %q", o.Location.Scheme), backends)
}

func badLocation(c config.Config, reason string, backends []storage.Backend) error {
	var known []string
	for _, b := range backends {
		known = append(known, b.Scheme+":")
	}
	slices.Sort(known)
	schemes := "a URL with one of the schemes " + strings.Join(known, " ")
	hint := "use " + schemes
	if source := c.Source("log"); source != "" {
		reason, hint = source+": "+reason, "set "+config.LogVariable+" to "+schemes+", or unset it"
	}
	return handoff.E("open log", config.Redact(c.Log), handoff.Invalid, errors.New(reason), handoff.Advice(hint))
}
