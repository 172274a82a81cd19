// Package complete completes arguments and flags in a shell.
package complete

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// Channels completes a channel: those in use and those that the
// configuration describes.
func Channels(a *cli.App) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		w, err := a.Open()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer w.Close()
		list, _ := w.Channels(c.Context(), workspace.Filter{})
		for _, ch := range list.Channels {
			what := ch.Purpose
			if what == "" {
				what = fmt.Sprint(ch.Count, " artifacts")
			}
			names = append(names, ch.Name+"\t"+what)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// Refs completes a ref with the IDs and labels of the newest artifacts.
func Refs(a *cli.App) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		w, err := a.Open()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer w.Close()
		page, _ := w.List(c.Context(), workspace.ListOptions{Limit: 30})
		var ids []string
		for _, art := range page.Artifacts {
			if strings.HasPrefix(art.ID, prefix) {
				ids = append(ids, art.ID+"\t"+textfmt.OneLine(art.Label()))
			}
			for _, label := range art.Labels {
				if ref := art.Channel + ":" + label; strings.HasPrefix(ref, prefix) {
					ids = append(ids, ref+"\t"+textfmt.OneLine(art.Label()))
				}
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// Ref is Refs for a command with one argument.
func Ref(a *cli.App) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return Refs(a)(c, args, prefix)
	}
}

// Sessions completes a session with the IDs of the newest ones.
func Sessions(a *cli.App) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		w, err := a.Open()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer w.Close()
		page, _ := w.Sessions().Find(c.Context(), sessions.Filter{Limit: 30})
		var ids []string
		for _, s := range page.Sessions {
			ids = append(ids, s.ID+"\t"+textfmt.OneLine(s.LongName))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// newest is how many of the newest artifacts or sessions a completion looks at.
const newest = 200

// Artifacts completes a flag with values that artifacts have.
func Artifacts(a *cli.App, values func(handoff.Artifact) []string) cobra.CompletionFunc {
	return completeWith(a, func(c *cobra.Command, w *workspace.Workspace) (found []string) {
		page, _ := w.List(c.Context(), workspace.ListOptions{Limit: newest})
		for _, art := range page.Artifacts {
			found = append(found, values(art)...)
		}
		return found
	})
}

// Slot completes a flag with the values that a field of producers has.
func Slot(a *cli.App, slot string) cobra.CompletionFunc {
	return Artifacts(a, func(art handoff.Artifact) []string { return []string{art.Producer.Slot(slot)} })
}

// SessionValues completes a flag or an argument with values that sessions
// have.
func SessionValues(a *cli.App, values func(session.View) []string) cobra.CompletionFunc {
	return completeWith(a, func(c *cobra.Command, w *workspace.Workspace) (found []string) {
		page, _ := w.Sessions().Find(c.Context(), sessions.Filter{Limit: newest})
		for _, s := range page.Sessions {
			found = append(found, values(s)...)
		}
		return found
	})
}

// completeWith completes with the values that a workspace has, each once.
func completeWith(a *cli.App, values func(*cobra.Command, *workspace.Workspace) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		w, err := a.Open()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer w.Close()
		found := slices.DeleteFunc(values(c, w), func(s string) bool { return s == "" || textfmt.OneLine(s) != s })
		slices.Sort(found)
		return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
	}
}
