package program

import (
	"slices"

	"github.com/agent-handoff/handoff/engines/gitlog"
	"github.com/agent-handoff/handoff/engines/natslog"
	"github.com/agent-handoff/handoff/storage"
)

// backends are the logs that HANDOFF_LOG can select beside file:, which is built
// in. A backend is one line here and a folder of its own.
var backends = slices.Concat(
	gitlog.Backends,
	[]storage.Backend{natslog.Backend},
	bucketBackends, // of a build with the tag s3
)
