package program

import (
	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace/claims"
	"github.com/spf13/cobra"
)

// claimFlags are the flags that record claims. The evidence of a claim follows it.
type claimFlags struct{ typed []typedClaim }

// A typedClaim is the value of one of the flags.
type typedClaim struct {
	text     string
	evidence bool
}

func (l *claimFlags) add(c *cobra.Command) {
	c.Flags().Var(claimFlag{l, false}, "claim", "claim `text`, one line; may be repeated")
	c.Flags().Var(claimFlag{l, true}, "evidence",
		"evidence of the claim before it, as `kind:value`: command:LINE, thread:URI#M3 or artifact:REF; may be repeated")
}

// parse returns the claims.
func (l *claimFlags) parse() (list []handoff.Claim, err error) {
	for _, t := range l.typed {
		if !t.evidence {
			list = append(list, handoff.Claim{Text: t.text})
			continue
		}
		if len(list) == 0 {
			return nil, cli.Invalid("publish", "--evidence", "requires a claim before it", "pass --claim TEXT first")
		}
		e, err := claims.ParseEvidence(t.text)
		if err != nil {
			return nil, err
		}
		last := &list[len(list)-1]
		last.Evidence = append(last.Evidence, e)
	}
	return list, nil
}

// A claimFlag is a flag that keeps the order of its values among those of another.
type claimFlag struct {
	claims   *claimFlags
	evidence bool
}

func (f claimFlag) Set(text string) error { return f.Append(text) }
func (f claimFlag) Type() string          { return "stringArray" }
func (f claimFlag) String() string        { return "" }

// Append implements pflag.SliceValue, as do Replace and GetSlice: the flag may be
// repeated.
func (f claimFlag) Append(text string) error {
	f.claims.typed = append(f.claims.typed, typedClaim{text, f.evidence})
	return nil
}

func (f claimFlag) Replace(list []string) error {
	f.claims.typed = nil
	for _, text := range list {
		f.Append(text)
	}
	return nil
}

func (f claimFlag) GetSlice() (list []string) {
	for _, t := range f.claims.typed {
		if t.evidence == f.evidence {
			list = append(list, t.text)
		}
	}
	return list
}
