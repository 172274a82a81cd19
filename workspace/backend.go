package workspace

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/filelog"
)

// A Backend stores the log and the bodies of a workspace. HANDOFF_LOG selects it
// by the scheme of its URL.
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
}

// BackendOptions are what a Backend gets to open a log.
type BackendOptions struct {
	Location *url.URL  // the value of HANDOFF_LOG
	Runtime  string    // the runtime directory, which exists before the first write
	Rand     io.Reader // for the log's ID
}

// fileBackend is the built-in backend: a directory of numbered files in the
// runtime directory.
var fileBackend = Backend{Scheme: "file", Open: func(o BackendOptions) (handoff.Log, handoff.Bodies, error) {
	if o.Location.Opaque+o.Location.Host+o.Location.Path != "" {
		return nil, nil, &handoff.Error{Op: "open log", Name: locationName(o.Location), Kind: handoff.Invalid, Err: errors.New("HANDOFF_LOG: file: takes no path"),
			Hint: handoff.Advice("set HANDOFF_DIR to move the runtime directory")}
	}
	log := filelog.Open(o.Runtime, o.Rand)
	return log, log.Bodies(), nil
}}

// openBackend opens the log and body store that a location names, "" for the
// built-in one.
//
// Kinds: Invalid (the location), and those of the backend.
func openBackend(location string, backends []Backend, o BackendOptions) (handoff.Log, handoff.Bodies, error) {
	backends = append([]Backend{fileBackend}, backends...)
	if location == "" {
		location = fileBackend.Scheme + ":"
	}
	var err error
	if o.Location, err = url.Parse(location); err != nil || o.Location.Scheme == "" {
		// A URL that can't be parsed may contain a password, so it is not shown.
		return nil, nil, badLocation("", "not a URL of the form scheme:location", backends)
	}
	for _, b := range backends {
		if b.Scheme == o.Location.Scheme {
			return b.Open(o)
		}
	}
	return nil, nil, badLocation(locationName(o.Location), fmt.Sprintf("unknown scheme %q", o.Location.Scheme), backends)
}

// locationName returns a location without user name and password.
func locationName(u *url.URL) string {
	shown := *u
	shown.User = nil
	shown.Opaque = shown.Opaque[strings.LastIndexByte(shown.Opaque, '@')+1:]
	return shown.String()
}

func badLocation(name, reason string, backends []Backend) error {
	var known []string
	for _, b := range backends {
		known = append(known, b.Scheme+":")
	}
	slices.Sort(known)
	schemes := "a URL with the scheme " + strings.Join(known, " or ")
	return &handoff.Error{Op: "open log", Name: name, Kind: handoff.Invalid, Err: errors.New("HANDOFF_LOG: " + reason),
		Hint: handoff.Advice("set HANDOFF_LOG to " + schemes + ", or unset it")}
}
