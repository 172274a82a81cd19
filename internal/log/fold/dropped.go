package fold

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
)

// A droppedBody is a body of an artifact that a policy dropped.
type droppedBody struct {
	Digest string    `json:"digest"`
	Policy string    `json:"policy"`
	At     time.Time `json:"at"`
}

// foldDropped notes for artifacts and copies of transcripts that their bodies were
// dropped. What an import says is true of its own records only.
func foldDropped(k Keeper, r handoff.Record, f *handoff.BodiesDropped) error {
	for _, b := range f.Bodies {
		for _, id := range b.Artifacts {
			a, err := k.Artifact(id)
			if err != nil {
				return err
			}
			if !a.known() || (r.Import != "" && r.Import != a.Import) {
				continue
			}
			a.Dropped = append(a.Dropped, droppedBody{b.Digest.Value, f.Policy, r.CreatedAt})
			if err := k.PutArtifact(a); err != nil {
				return err
			}
		}
		for i, uri := range b.Threads {
			if i < len(b.Records) {
				if err := dropThread(k, r, f.Policy, uri, b.Records[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// dropThread notes that the copy of a thread that a record names was dropped.
func dropThread(k Keeper, r handoff.Record, policy, uri, record string) error {
	value, err := k.Pointer(KeptSpace, uri)
	if err != nil || value == "" {
		return err
	}
	var t keptThread
	if err := json.Unmarshal([]byte(value), &t); err != nil {
		return err
	}
	if t.RecordID != record || (r.Import != "" && r.Import != t.Import) {
		return nil
	}
	t.Dropped = &handoff.Dropped{Policy: policy, At: r.CreatedAt}
	b, err := handoff.EncodeJSON(t)
	if err != nil {
		return err
	}
	return k.PutPointer(KeptSpace, uri, string(b))
}

// dropped returns why the copy of the content that a view shows may be gone.
func dropped(a *ArtifactState, v handoff.Artifact) *handoff.Dropped {
	digest := v.Digest.Value
	if v.Redacted != nil && v.Redacted.Body == handoff.BodyReplaced {
		digest = v.Redacted.Digest.Value
	}
	for _, d := range a.Dropped {
		if d.Digest == digest {
			return &handoff.Dropped{Policy: d.Policy, At: d.At}
		}
	}
	return nil
}

// Bodies returns the digests of the kept bodies of an artifact that no policy dropped.
func (a *ArtifactState) Bodies() (list []handoff.Digest) {
	for _, d := range handoff.BodiesOf(a.Published) {
		if !slices.ContainsFunc(a.Dropped, func(gone droppedBody) bool { return gone.Digest == d.Value }) {
			list = append(list, d)
		}
	}
	return list
}
