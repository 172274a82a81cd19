package localstate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/log/filelog"
)

// A Backend stores the log and the bodies of a workspace. HANDOFF_LOG, or the
// setting log, selects it by the scheme of its URL.
//
// A backend implements the optional interfaces of package handoff as far as it
// can: without handoff.Identifier the index is in memory, without the others
// check, repair and collect do less. A log that implements io.Closer is closed
// with the workspace.
type Backend struct {
	Scheme string

	// Open returns the log and its body store. It creates nothing and opens no
	// connection: a workspace that is only opened leaves nothing behind.
	Open func(BackendOptions) (handoff.Log, handoff.Bodies, error)

	// Destinations returns what a location leads to, if that is decided by files that
	// a repository can bring: URLs, and absolute paths without symbolic links. It may
	// be nil. Kinds: NotFound, Unavailable.
	Destinations func(BackendOptions) ([]string, error)

	// Remote is set if several machines, or directories, may use the log at once.
	Remote bool

	// Queue is set if records are queued on this machine by default while the log
	// can't be reached.
	Queue bool

	// Settings are the names in the query of a location that do not change which log
	// it names.
	Settings []string
}

// Identity returns a location without user name, password and settings. Locations
// with the same one name the same log.
func (b Backend) Identity(location string) string {
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

// BackendOptions are what a Backend gets to open a log.
type BackendOptions struct {
	Location *url.URL  // the value of HANDOFF_LOG or of the setting log
	Root     string    // the directory of the workspace
	Runtime  string    // the runtime directory, which exists before the first write
	Rand     io.Reader // for the log's ID

	Getenv func(string) string // a variable of the environment

	Destinations []string // that the user has accepted, and that are used; nil if the user named the log

	Warn func(string) // called with what the user should know about the log; may be nil
}

// fileBackend is the built-in backend: a directory of numbered files in the
// runtime directory.
var fileBackend = Backend{Scheme: "file", Open: func(o BackendOptions) (handoff.Log, handoff.Bodies, error) {
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
	Backend Backend
}

// OpenBackend opens the log and body store that a setting names, by default the
// built-in one. Nothing of it is opened before trusted has accepted its destinations; if
// trusted is nil, all are accepted.
//
// Kinds: Invalid (the location), and those of the backend.
func OpenBackend(c config.Config, backends []Backend, trusted func(destinations []string) error,
	o BackendOptions) (opened Opened, err error) {
	b, err := findBackend(c, backends, &o)
	if err != nil {
		return opened, err
	}
	destinations, err := b.destinations(o)
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
func Destinations(c config.Config, backends []Backend, o BackendOptions) ([]string, error) {
	b, err := findBackend(c, backends, &o)
	if err != nil {
		return nil, err
	}
	return b.destinations(o)
}

func (b Backend) destinations(o BackendOptions) ([]string, error) {
	if b.Destinations == nil {
		return nil, nil
	}
	return b.Destinations(o)
}

// findBackend returns the backend of the log that a setting names, and sets its
// location. Kind: Invalid.
func findBackend(c config.Config, backends []Backend, o *BackendOptions) (found Backend, err error) {
	backends = append([]Backend{fileBackend}, backends...)
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

func badLocation(c config.Config, reason string, backends []Backend) error {
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
