package fold

import (
	"encoding/json"

	"github.com/agent-handoff/handoff"
)

// KeptSpace is the space of pointers to the kept copies of transcripts, by the URI of
// the thread. See DecodeKept.
const KeptSpace = "thread"

// A keptThread is the value of a pointer of KeptSpace.
type keptThread struct {
	handoff.KeptThread
	Import string `json:"import,omitempty"` // of its record
}

// foldKept makes a copy of a transcript that of its thread. An imported copy
// does not replace one that this workspace made.
func foldKept(k Keeper, r handoff.Record, f *handoff.ThreadKept) error {
	known, err := k.Pointer(KeptSpace, f.Thread)
	if err != nil || (known != "" && r.Import != "") {
		return err
	}
	t := keptThread{handoff.KeptThread{ThreadKept: *f, RecordID: r.ID, KeptAt: r.CreatedAt}, r.Import}
	b, err := handoff.EncodeJSON(t)
	if err != nil {
		return err
	}
	return k.PutPointer(KeptSpace, f.Thread, string(b))
}

// DecodeKept returns the copy that a pointer of KeptSpace refers to.
func DecodeKept(value string) (t handoff.KeptThread, err error) {
	err = json.Unmarshal([]byte(value), &t)
	return t, err
}
