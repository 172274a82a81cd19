package fold

import (
	"encoding/json"
	"strconv"

	"github.com/agent-handoff/handoff"
)

// The spaces of pointers of imports.
const (
	// by import: how many records are held; by import and number: the record; by import and ID: "held"
	heldSpace     = "held"
	importedSpace = "imported" // by import: set once its records were applied
)

// A heldRecord is an imported record in the pointers of a store.
type heldRecord struct {
	Seq    handoff.Seq `json:"seq"`
	Record []byte      `json:"record"`
}

// hold keeps an imported record until all of its import are there. One that comes
// after them has no effect.
func hold(k Keeper, r handoff.Record) error {
	done, err := k.Pointer(importedSpace, r.Import)
	if err != nil || done != "" {
		return err
	}
	held, err := k.Pointer(heldSpace, r.Import+"\x00"+r.ID)
	if err != nil || held != "" {
		return err
	}
	n, err := count(k, heldSpace, r.Import, 0)
	if err != nil {
		return err
	}
	b, err := r.JSON()
	if err != nil {
		return err
	}
	text, err := handoff.EncodeJSON(heldRecord{r.Seq, b})
	if err != nil {
		return err
	}
	for key, value := range map[string]string{r.Import + "\x00" + r.ID: "held",
		r.Import + "\x00" + strconv.Itoa(n): string(text), r.Import: strconv.Itoa(n + 1)} {
		if err := k.PutPointer(heldSpace, key, value); err != nil {
			return err
		}
	}
	return nil
}

// foldImported applies the records of an import, in the order of the log. It does
// nothing if some are missing.
func foldImported(k Keeper, f *handoff.SessionImported) error {
	n, err := count(k, heldSpace, f.Import, 0)
	if err != nil || n == 0 || n != f.Records {
		return err
	}
	if err := k.PutPointer(importedSpace, f.Import, "done"); err != nil {
		return err
	}
	for i := range n {
		key := f.Import + "\x00" + strconv.Itoa(i)
		text, err := k.Pointer(heldSpace, key)
		if err != nil {
			return err
		}
		var held heldRecord
		if err := json.Unmarshal([]byte(text), &held); err != nil {
			return err
		}
		if err := apply(k, handoff.StoredRecord(held.Seq, held.Record)); err != nil {
			return err
		}
		if err := k.PutPointer(heldSpace, key, ""); err != nil {
			return err
		}
	}
	return nil
}
