package refs

import (
	"errors"

	"github.com/agent-handoff/handoff"
)

// SelectIn adds to a query what CHANNEL:latest, CHANNEL:v2 or CHANNEL:LABEL means.
// Kind: Invalid.
func SelectIn(q handoff.ArtifactQuery, ref string) (handoff.ArtifactQuery, error) {
	named, ok := channelQuery(ref)
	switch {
	case !ok:
		return q, notInChannel(ref, "not a channel with a label", "write CHANNEL:latest, CHANNEL:v2 or CHANNEL:LABEL")
	case q.Channel != "" && q.Channel != named.Channel:
		return q, notInChannel(ref, "is not in the channel "+q.Channel, "leave one of them out")
	}
	q.Channel, q.Label, q.Revision = named.Channel, named.Label, named.Revision
	q.IncludeInactive = q.IncludeInactive || q.Status == "" && named.IncludeInactive
	return q, nil
}

func notInChannel(ref, reason, advice string) error {
	return handoff.E("wait", ref, handoff.Invalid, errors.New(reason), handoff.Advice(advice))
}
