package transfer

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"
)

// FuzzVerify verifies files that somebody else exported. The last seed is a valid one.
func FuzzVerify(f *testing.F) {
	const session = "6f1b1c7e-3f43-4a7c-9b0d-2f3f4d5e6a7b"
	records :=
		`{"version":1,"type":"session.opened","id":"rec_01M8269ACW9ZX9J9DFT0FJQK2Y","createdAt":"2026-11-22T17:53:55.612Z","sessionId":"` + session + `","folder":"out/s"}` + "\n"
	export := func(manifest string) []byte {
		var b bytes.Buffer
		tw := tar.NewWriter(&b)
		sums := fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(records)), recordsName)
		for _, e := range []struct{ name, text string }{{manifestName, manifest}, {checksumsName, sums},
			{recordsName, records}} {
			if err := add(tw, e.name, []byte(e.text)); err != nil {
				f.Fatal(err)
			}
		}
		if err := tw.Close(); err != nil {
			f.Fatal(err)
		}
		return b.Bytes()
	}
	f.Add([]byte{})
	f.Add(export(`{"format":"handoff-session","version":2}`))
	valid := export(`{"format":"handoff-session","version":1,"sessionId":"` + session +
		`","folder":"out/s","sessions":1,"records":1}`)
	if _, err := verify(f.Context(), bytes.NewReader(valid), int64(len(valid))); err != nil {
		f.Fatal(err)
	}
	f.Add(valid)
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := verify(t.Context(), bytes.NewReader(b), int64(len(b)))
		if err == nil && (v.SessionID == "" || len(v.records) == 0 || v.Sessions == 0) {
			t.Errorf("accepted %+v", v.TransferManifest)
		}
	})
}
