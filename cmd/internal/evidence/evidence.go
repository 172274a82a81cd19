// Package evidence has the commands that check claims and export attestations.
package evidence

import (
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/trace"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// Commands are the commands of this package.
var Commands = []cli.Command{cli.NewCommand(verifyCommand, "verify")}

func verifyCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "verify REF",
		Short: "Check the claims of an artifact against recorded results",
		Long: `Verify compares the claims of an artifact with data that no model wrote:
attestations, that is commands which handoff attest ran, and the results that
agent programs recorded of their calls. It runs no command and records nothing.

  verified      an attested command succeeded, and the tree is the same since
  stale         it succeeded on another tree
  asserted      nothing but the claim, or a result whose tree is not known, as
                that of a call in a thread
  contradicted  the command failed, or the evidence was changed since

A claim has the weakest verdict of its evidence. An attestation is verified like
a claim that its command succeeded. docs/evidence.md has the rules.

The exit code is 0 if there are claims and all are verified, otherwise 1.`,
		Example:           "  handoff verify verification:latest\n  handoff verify report.md --json",
		Args:              cli.Exactly(1, "one ref"),
		ValidArgsFunction: complete.Ref(a),
	}
	a.JSONFlag(c, "print JSON", cli.Prints(trace.Verification{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		set := thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
		return a.Reading(func(w *workspace.Workspace) error {
			v, err := w.Claims(set).Verify(c.Context(), args[0])
			if err != nil {
				return err
			}
			a.Warnings(v.Warnings)
			if a.AsJSON {
				err = a.JSON(v)
			} else {
				print(a, v)
			}
			if err == nil && (len(v.Claims) == 0 || v.Verdict != handoff.VerdictVerified) {
				err = cli.ErrNo
			}
			return err
		})
	}
	return c
}

// InTotoCommand returns the command that exports an attestation.
func InTotoCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "in-toto ATTESTATION",
		Short: "Print an attestation as an in-toto test result",
		Long: `In-toto prints an attestation, an artifact of handoff attest, as an in-toto
Statement v1 with the predicate test-result v0.1, in JSON. It is not signed.

The subject is the tree, by the digest handoffTree, and the commit if the tree
had no other changes. The configuration is the command, as a JSON array of its
arguments. See docs/evidence.md.`,
		Example:           "  handoff export in-toto verification:latest >test-result.json",
		Args:              cli.Exactly(1, "one ref"),
		ValidArgsFunction: complete.Ref(a),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Reading(func(w *workspace.Workspace) error {
			s, err := w.Claims(nil).InToto(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.JSON(s)
		})
	}
	return c
}

// print prints each claim with its evidence.
func print(a *cli.App, v trace.Verification) {
	if len(v.Claims) == 0 {
		fmt.Fprintf(a.Err, "%s has no claims\n", v.ID)
	}
	for _, claim := range v.Claims {
		fmt.Fprintf(a.Out, "%-12s  %s\n", claim.Verdict, textfmt.OneLine(claim.Text))
		for _, e := range claim.Evidence {
			line := subject(e.Evidence) + ": " + e.Reason
			if e.Attestation != "" && e.Attestation != e.Artifact {
				line += " (" + e.Attestation + ")"
			}
			if e.By != "" && !strings.Contains(line, e.By) {
				line += ", by " + e.By
			}
			fmt.Fprintf(a.Out, "%14s%s\n", "", textfmt.OneLine(line))
		}
		if len(claim.Evidence) == 0 {
			fmt.Fprintf(a.Out, "%14sno evidence\n", "")
		}
	}
}

// subject returns what a piece of evidence names.
func subject(e handoff.Evidence) string {
	switch e.Kind {
	case handoff.EvidenceCommand:
		return e.Command
	case handoff.EvidenceThread:
		return e.Thread
	}
	return e.Artifact
}
