// Package evidence has the commands that check claims and export what is known of commits.
package evidence

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/trace"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/claims"
	"github.com/spf13/cobra"
)

// Commands are the commands of this package.
var Commands = []cli.Command{cli.NewCommand(verifyCommand, "verify")}

// policyFlags are the flags about what verdicts are a failure.
type policyFlags struct{ failOn, require, signers string }

func (f *policyFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.failOn, "fail-on", string(handoff.VerdictStale),
		"fail on this `verdict` and on weaker ones: stale, asserted or contradicted")
	c.Flags().StringVar(&f.require, "require", "",
		"fail without this `verdict`: verified, if there are no claims; approved; or both")
	c.Flags().StringVar(&f.signers, "allowed-signers", "",
		"accept only approvals that a key of this `file` signed, see ssh-keygen(1)")
}

// policy returns the policy of the flags. A file is relative to the caller's directory.
func (f *policyFlags) policy(a *cli.App) (claims.Policy, error) {
	file := f.signers
	if file != "" && !filepath.IsAbs(file) {
		file = filepath.Join(a.Dir, file)
	}
	return claims.ParsePolicy(f.failOn, f.require, file)
}

func verifyCommand(a *cli.App) *cobra.Command {
	var f policyFlags
	c := &cobra.Command{
		Use:   "verify [REF ...|BASE..HEAD]",
		Short: "Check the claims of artifacts against recorded results",
		Long: `Verify compares the claims of artifacts with data that no model wrote:
attestations, that is commands which handoff attest ran, and the results that
agent programs recorded of their calls. It runs no command and records nothing.

  verified      an attested command succeeded, and the tree is the same since
  stale         it succeeded on another tree
  asserted      nothing but the claim, or a result whose tree is not known, as
                that of a call in a thread
  contradicted  the command failed, or the evidence was changed since

A claim has the weakest verdict of its evidence. An attestation is verified like
a claim that its command succeeded. docs/evidence.md has the rules.

With BASE..HEAD, it verifies the active artifacts with claims that were made on
one of these commits, or that have the bytes of a file that one of them changes.
Without an argument, these are the commits of the branch since the default one.

The exit code is 0 if all claims are verified, otherwise 1; with --fail-on
contradicted, it is 1 only for that verdict. A named artifact without claims is
1. Commits without claims are 0, or 1 with --require verified. With --require
approved, each artifact must be approved by a person or by an agent that its
author did not start, also if it has no claims, and so must each file at which
the trees of HEAD and its merge base differ. Approvals are not authenticated:
with --allowed-signers, only those count that handoff review --sign signed with
a key of the file, whose format is that of ssh-keygen.`,
		Example: "  handoff verify verification:latest\n  handoff verify --require verified\n" +
			"  handoff verify v1.0..HEAD --fail-on contradicted --json",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: complete.Ref(a),
	}
	f.add(c)
	a.JSONFlag(c, "print JSON", cli.Prints(trace.Verification{}), cli.Prints(trace.VerificationList{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		policy, err := f.policy(a)
		if err != nil {
			return err
		}
		return a.Reading(func(w *workspace.Workspace) error {
			checker := w.Claims(thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME")))
			found, err := checker.VerifyAll(c.Context(), args, policy)
			if err != nil {
				return err
			}
			if err := printAll(a, found, policy, len(args) == 1 && found.Head == ""); err != nil {
				return err
			}
			if policy.Fails(found) {
				return cli.ErrNo
			}
			return nil
		})
	}
	return c
}

// printAll prints verifications, one alone as such.
func printAll(a *cli.App, found trace.VerificationList, policy claims.Policy, one bool) error {
	if policy.Approved && policy.Signers == nil {
		a.Warn("approvals are not authenticated: pass --allowed-signers to accept only signed ones")
	}
	for _, v := range found.Items {
		a.Warnings(v.Warnings)
	}
	if n := len(found.Unapproved); n > 0 {
		a.Warn("no approved artifact has the bytes of %d changed files: %s", n,
			strings.Join(found.Unapproved[:min(n, maxNamed)], ", "))
	}
	switch {
	case a.AsJSON && one:
		return a.JSON(found.Items[0])
	case a.AsJSON:
		return a.JSON(found)
	case len(found.Items) == 0:
		fmt.Fprintln(a.Err, "no claims")
	}
	for _, v := range found.Items {
		if !one {
			fmt.Fprintf(a.Out, "%s  %s\n", v.ID, v.Verdict)
		}
		print(a, v)
		for _, r := range v.Reviews {
			fmt.Fprintf(a.Out, "%-12s  %s\n", "review", textfmt.OneLine(r.String()))
		}
	}
	return nil
}

// maxNamed is how many files a warning names.
const maxNamed = 10

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
