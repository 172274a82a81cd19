package handoff_test

import (
	"errors"
	"testing"

	"github.com/agent-handoff/handoff"
)

func TestError(t *testing.T) {
	why := errors.New("path leaves the workspace")
	for want, e := range map[string]*handoff.Error{
		"publish a.md: path leaves the workspace": {Op: "publish", Name: "a.md", Kind: handoff.Invalid, Err: why},
		"publish a.md: invalid":                   {Op: "publish", Name: "a.md", Kind: handoff.Invalid},
		"publish: path leaves the workspace":      {Op: "publish", Err: why},
		"a.md: path leaves the workspace":         {Name: "a.md", Err: why},
		"path leaves the workspace":               {Kind: handoff.Invalid, Err: why},
		"not found":                               {Kind: handoff.NotFound},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%+v reads %q, want %q", *e, got, want)
		}
		if errors.Is(e, why) != (e.Err != nil) || e.Kind != "" && !errors.Is(e, e.Kind) {
			t.Errorf("%+v is not what it is made of", *e)
		}
	}
}
