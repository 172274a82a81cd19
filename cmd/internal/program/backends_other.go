//go:build !s3

package program

import (
	"errors"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// bucketBackends refuses logs in buckets: the library for them would make the start
// of every command 1 ms slower.
var bucketBackends = []workspace.Backend{{Scheme: "s3",
	Open: func(o workspace.BackendOptions) (handoff.Log, handoff.Bodies, error) {
		return nil, nil, handoff.E("open log", "s3://"+o.Location.Host+o.Location.Path, handoff.Unsupported,
			errors.New("this build of handoff has no support for buckets"),
			handoff.Advice("install handoff with the build tag s3; docs/machines.md shows how"))
	}}}
