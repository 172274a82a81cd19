//go:build s3

package program

import (
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/engines/bucketlog"
	"github.com/agent-handoff/handoff/storage"
)

var bucketBackends = []storage.Backend{bucketlog.Backend}

// withBuckets does nothing: this build opens logs in buckets itself.
func withBuckets(*cli.App) {}
