// Handoff-s3 is handoff with logs in S3-compatible buckets. It is a module of its own,
// because the library for buckets makes each start slower, and most workspaces have no
// log in a bucket. A release installs it under the names handoff and agent-handoff.
package main

import (
	"os"

	"github.com/agent-handoff/handoff/cmd/handoff-s3/internal/bucketlog"
	"github.com/agent-handoff/handoff/cmd/internal/program"
)

func main() { os.Exit(program.Main(bucketlog.Backend)) }
