//go:build !s3

package program

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/settings"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/workspace"
)

// bucketScheme is that of logs in buckets, and bucketProgram this program built for them:
// their library would make the start of every command 1 ms slower.
const (
	bucketScheme  = "s3"
	bucketProgram = "agent-handoff-s3"
)

// bucketBackends refuse logs in buckets.
var bucketBackends = []storage.Backend{{Scheme: bucketScheme,
	Open: func(o storage.BackendOptions) (handoff.Log, handoff.Bodies, error) {
		return nil, nil, noBuckets(o.Location, "")
	}}}

func noBuckets(location *url.URL, reason string) error {
	return handoff.E("open log", bucketScheme+"://"+location.Host+location.Path, handoff.Unsupported,
		errors.New("this build of handoff has no support for buckets"+reason),
		handoff.Advice("install a released package, which has "+bucketProgram+
			", or build handoff with the tag s3; docs/machines.md shows how"))
}

// withBuckets makes a command whose log is in a bucket continue as bucketProgram: when it
// opens its workspace, or before it reads standard input, whichever is first.
func withBuckets(a *cli.App) {
	var reading atomic.Bool // the other program would miss what was read
	a.Backends = slices.Clone(a.Backends)
	for i, b := range a.Backends {
		if b.Scheme != bucketScheme {
			continue
		}
		a.Backends[i].Open = func(o storage.BackendOptions) (handoff.Log, handoff.Bodies, error) {
			if reading.Load() {
				return nil, nil, noBuckets(o.Location, "")
			}
			return nil, nil, noBuckets(o.Location, fmt.Sprintf(", and %s can't be run: %v", bucketProgram, runBucketProgram()))
		}
	}
	in := a.In
	a.In = readerFunc(sync.OnceValue(func() io.Reader {
		set, _ := workspace.Settings(a.Dir, a.Options()) // opening the workspace reports errors
		if slices.ContainsFunc(set, func(s settings.Entry) bool {
			return s.Name == "log" && strings.HasPrefix(s.Value, bucketScheme+":")
		}) {
			_ = runBucketProgram() // likewise
		}
		reading.Store(true)
		return in
	}))
}

// runBucketProgram replaces this process by bucketProgram in the directory of this
// program, with the same arguments. It returns only if that is not possible.
func runBucketProgram() error {
	this, err := os.Executable()
	if err == nil {
		this, err = filepath.EvalSymlinks(this)
	}
	if err != nil {
		return err
	}
	if filepath.Base(this) == bucketProgram {
		return errors.New("it is this program")
	}
	err = syscall.Exec(filepath.Join(filepath.Dir(this), bucketProgram), os.Args, os.Environ())
	return fmt.Errorf("%s: %w", filepath.Dir(this), err)
}
