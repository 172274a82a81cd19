package handoff

import (
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/ulid"
)

// artifactPrefix begins the ID of every artifact; a ULID follows. Other records
// have recordPrefix.
const (
	artifactPrefix = "art_"
	recordPrefix   = "rec_"
)

// IsArtifactID reports whether s has the form of an artifact's ID.
func IsArtifactID(s string) bool {
	return len(s) == len(artifactPrefix)+ulid.Len && IsArtifactIDPrefix(s)
}

// IsArtifactIDPrefix reports whether s has the form of a prefix of an artifact's
// ID and is longer than the prefix that all IDs share.
func IsArtifactIDPrefix(s string) bool {
	id, ok := strings.CutPrefix(s, artifactPrefix)
	return ok && id != "" && ulid.Valid(id)
}
