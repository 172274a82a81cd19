package program

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/stamp"
	"github.com/agent-handoff/handoff/engines/gitlog"
	"github.com/agent-handoff/handoff/engines/natslog"
	"github.com/agent-handoff/handoff/storage"
)

// backends are the logs that HANDOFF_LOG can select in every program, beside file:,
// which is built in. A backend is one line here and a folder of its own.
var backends = slices.Concat(
	gitlog.Backends,
	[]storage.Backend{natslog.Backend},
)

// withEngines returns the logs that a program can open which passes engines to Main. If
// none is for buckets, a log in a bucket is refused with the name of what has one.
func withEngines(engines []storage.Backend) []storage.Backend {
	list := slices.Concat(backends, engines)
	if !slices.ContainsFunc(list, func(b storage.Backend) bool { return b.Scheme == noBuckets.Scheme }) {
		list = append(list, noBuckets)
	}
	return list
}

// noBuckets refuses logs in buckets: cmd/handoff-s3 is the program that opens them.
var noBuckets = storage.Backend{
	Scheme: "s3",
	Open: func(o storage.BackendOptions) (handoff.Log, handoff.Bodies, error) {
		version := cmp.Or(strings.TrimPrefix(stamp.Version(), "v"), "VERSION")
		archive := fmt.Sprintf("agent-handoff-s3-%s-%s-%s.tar.gz", version, runtime.GOOS, runtime.GOARCH)
		return nil, nil, handoff.E("open log", "s3://"+o.Location.Host+o.Location.Path, handoff.Unsupported,
			errors.New("this program has no support for buckets"),
			handoff.Advice("install "+archive+" of a release, with install.sh, or build cmd/handoff-s3; "+
				"docs/machines.md shows how"))
	},
}
