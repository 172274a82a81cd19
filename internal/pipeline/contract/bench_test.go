package contract_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkValidate validates a plan of 1 MB and, for comparison, decodes it with
// encoding/json.
func BenchmarkValidate(b *testing.B) {
	var plan strings.Builder
	plan.WriteString(
		`{"affected_files":["a.go"],"acceptance_mapping":{"AC1":"a_test.go"},"steps":[{"order":0,"file":"a.go"}`)
	for i := 1; plan.Len() < 1_000_000; i++ {
		fmt.Fprintf(&plan, `,{"order":%d,"file":"a.go","action":"edit","description":"what the step is, in words"}`, i)
	}
	in := []byte(plan.String() + "]}")
	p := builtin()
	b.Run("contract", func(b *testing.B) {
		for b.Loop() {
			if r, err := validate(p, "plan", in); err != nil || !r.Valid() {
				b.Fatal(r, err)
			}
		}
	})
	b.Run("decoding alone", func(b *testing.B) {
		for b.Loop() {
			var v any
			if err := json.Unmarshal(in, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
