package program

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/report"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/reviews"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const reviewHelp = `Review records a decision about the exact bytes of an artifact, comments on it,
or both. Without a ref, it lists the artifacts that wait for a review: those
published with --ask-review, and new revisions of reviewed ones.

An approval ends when the artifact is replaced: a new revision is not reviewed.
A review by the author of an artifact, or by an agent that it started, is
recorded and does not count. A review at a terminal, with no agent in the
environment, counts as that of a person. Nothing authenticates it unless it is
signed, with --sign, and verified with handoff verify --allowed-signers.

A comment is about the artifact, about --path in a directory, or about --lines
or a --quote, which occurs once in it or in the lines. It follows the quoted
text into later revisions. With --reply-to, --resolve and --reopen, the text is
a reply. handoff show prints the comments, and handoff withdraw hides one.

With -m - the text is read from standard input. With --web the browser shows
what waits, and records what you choose there.`

func reviewCommand(a *cli.App) *cobra.Command {
	var r reviews.Draft
	var who cli.Identity
	var onPages bool
	c := &cobra.Command{
		Use:   "review [REF]",
		Short: "Approve an artifact, request changes, or comment on it",
		Long:  reviewHelp,
		Example: "  handoff review\n  handoff review --web\n  handoff review patch:latest --approve\n" +
			"  handoff review art_01K… --request-changes --lines 12-14 -m 'Cap the delay'\n" +
			"  handoff review art_01K… --reply-to cmt_J7KQ2M9X -m 'It is capped below'",
		Args:              cli.Between(0, 1, "at most one ref"),
		ValidArgsFunction: complete.Ref(a),
	}
	f := c.Flags()
	reviewFlags(f, &r)
	f.BoolVar(&onPages, "web", false, "review in the browser")
	c.MarkFlagsMutuallyExclusive("approve", "request-changes", "comment", "dismiss")
	a.AllowSecretFlag(c)
	a.JSONFlag(c, "print JSON", cli.Prints(reviews.RecordedReview{}), cli.Prints(handoff.ArtifactPage{}))
	table := a.NewTable(c, cli.ArtifactColumns)
	who.Add(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		for _, d := range decisions {
			if given, _ := f.GetBool(d.flag); given {
				r.Decision = d.decision
			}
		}
		if onPages {
			return reviewOnPages(c, a, who, r, args)
		}
		if len(args) == 0 {
			if r.Decision != "" || slices.ContainsFunc(ofReview, c.Flags().Changed) {
				return cli.Invalid("review", "", "names no artifact", cli.Name()+" review REF --approve")
			}
			return a.Reading(func(w *workspace.Workspace) error { return listReviews(c.Context(), a, w, table) })
		}
		if r.Text == "-" {
			text, err := io.ReadAll(io.LimitReader(a.In, maxInput))
			if err != nil {
				return err
			}
			r.Text = string(text)
			a.Typed = a.Watched // standard input is that of the text
		}
		r.AllowSecret, r.Via = a.AllowSecret, handoff.ViaCommand
		return a.Writing(func(w *workspace.Workspace) error {
			w, err := who.As(a, w)
			if err != nil {
				return err
			}
			return review(c.Context(), a, w, args[0], r)
		})
	}
	return c
}

// reviewFlags defines the flags of a draft.
func reviewFlags(f *pflag.FlagSet, r *reviews.Draft) {
	for _, d := range decisions {
		f.Bool(d.flag, false, d.usage)
	}
	f.StringVarP(&r.Text, "message", "m", "", "`text` of the comment or reply; - for standard input")
	f.StringVar(&r.Path, "path", "", "comment on this `file` of a directory")
	f.StringVar(&r.Lines, "lines", "", "comment on these lines, a `number` or two: 12-14")
	f.StringVar(&r.Side, "side", "", "in a patch, the `kind` of lines of --path: old or new")
	f.StringVar(&r.Quote, "quote", "", "comment on this `text`, in --lines if it is there several times")
	f.StringVar(&r.ReplyTo, "reply-to", "", "answer the comment with this `ID`")
	f.StringArrayVar(&r.Resolve, "resolve", nil, "resolve the comment with this `ID`; may be repeated")
	f.StringArrayVar(&r.Reopen, "reopen", nil, "open the comment with this `ID` again; may be repeated")
	f.BoolVar(&r.Sign, "sign", false, "sign with the SSH key of git's user.signingKey")
}

// decisions are the flags of decisions.
var decisions = []struct {
	flag, usage string
	decision    handoff.Decision
}{
	{"approve", "approve the bytes that were published", handoff.Approved},
	{"request-changes", "request changes", handoff.ChangesRequested},
	{"comment", "comment without a decision", handoff.Commented},
	{"dismiss", "take back your decision; by a person, those of everybody", handoff.Dismissed},
}

// ofReview are the flags that need a ref.
var ofReview = []string{"message", "path", "lines", "side", "quote", "reply-to", "resolve", "reopen", "sign"}

// maxInput is how much of standard input is read: more than a comment may have.
const maxInput = 1 << 20

// byPerson returns a draft as that of the user, if a person uses the terminal.
func byPerson(a *cli.App, w *workspace.Workspace, r reviews.Draft) reviews.Draft {
	if a.Typed && w.Caller().Producer.Source == handoff.FromNone {
		r.Via, r.User = handoff.ViaTerminal, userdir.Name(a.Getenv)
	}
	return r
}

func review(ctx context.Context, a *cli.App, w *workspace.Workspace, ref string, r reviews.Draft) error {
	done, err := w.Reviews().Review(ctx, ref, byPerson(a, w, r))
	if err != nil {
		return err
	}
	a.Warnings(done.Warnings)
	if a.AsJSON {
		return a.JSON(done)
	}
	for _, id := range done.Comments {
		fmt.Fprintln(a.Out, handoff.ShortCommentID(id))
	}
	if len(done.Comments) == 0 {
		fmt.Fprintln(a.Out, done.Artifact.ID)
	}
	report.Notices(a, done.Artifact.Notices())
	return nil
}

func listReviews(ctx context.Context, a *cli.App, w *workspace.Workspace, table *cli.Table) error {
	page, err := w.Reviews().Waiting(ctx, handoff.ArtifactQuery{})
	if err != nil {
		return err
	}
	warnDamaged(a, page.Damaged)
	if a.AsJSON {
		return a.JSONList("artifacts", page)
	}
	if len(page.Artifacts) == 0 {
		fmt.Fprintln(a.Err, "nothing waits for a review")
		return nil
	}
	return table.Artifacts(page.Artifacts)
}

// printComment prints a comment with what it quotes. Its texts are those of others, and
// each line of them is marked.
func printComment(a *cli.App, c reviews.ShownComment) {
	head := []string{c.Ref(), string(c.State), "by " + c.By.Name + signed(c.Signed)}
	if at := c.At(); at != "" {
		head = append(head, at)
	}
	switch {
	case c.State == handoff.CommentWithdrawn:
		head = append(head, "withdrawn by "+c.ChangedBy)
	case c.State == handoff.CommentResolved && handoff.IsArtifactID(c.ResolvedBy):
		head = append(head, "resolved by "+c.ResolvedBy)
	case c.State == handoff.CommentResolved:
		head = append(head, "resolved by "+c.ChangedBy)
	}
	fmt.Fprintf(a.Out, "\n%s\n", textfmt.OneLine(strings.Join(head, "  ")))
	printQuoted(a, "  > ", c.Quote)
	printQuoted(a, "  ", c.Text)
	for _, r := range c.Replies {
		what := "by " + r.By.Name + signed(r.Signed)
		if r.State != "" {
			what = string(r.State) + " " + what
		}
		fmt.Fprintf(a.Out, "  %s  %s\n", handoff.ShortCommentID(r.ID), textfmt.OneLine(what))
		printQuoted(a, "    ", r.Text)
	}
}

// signed returns what is known of the signature of a comment, if it has one.
func signed(s *handoff.Signed) string {
	if s == nil {
		return ""
	}
	return " (" + s.String() + ")"
}

func printQuoted(a *cli.App, prefix, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintln(a.Out, strings.TrimRight(prefix+textfmt.OneLine(line), " "))
	}
}
