//go:build s3

package program

import (
	"github.com/agent-handoff/handoff/engines/bucketlog"
	"github.com/agent-handoff/handoff/workspace"
)

var bucketBackends = []workspace.Backend{bucketlog.Backend}
