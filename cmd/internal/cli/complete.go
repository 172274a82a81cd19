package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// CompleteChannels completes a channel: those in use and those that the
// configuration describes.
func (a *App) CompleteChannels(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
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

// CompleteRefs completes a ref with the IDs and labels of the newest artifacts.
func (a *App) CompleteRefs(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	w, err := a.Open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer w.Close()
	page, _ := w.List(c.Context(), workspace.ListOptions{Limit: 30})
	var ids []string
	for _, art := range page.Artifacts {
		if strings.HasPrefix(art.ID, prefix) {
			ids = append(ids, art.ID+"\t"+OneLine(art.Label()))
		}
		for _, label := range art.Labels {
			if ref := art.Channel + ":" + label; strings.HasPrefix(ref, prefix) {
				ids = append(ids, ref+"\t"+OneLine(art.Label()))
			}
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// CompleteRef is CompleteRefs for a command with one argument.
func (a *App) CompleteRef(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.CompleteRefs(c, args, prefix)
}

// CompleteSessions completes a session with the IDs of the newest ones.
func (a *App) CompleteSessions(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	w, err := a.Open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer w.Close()
	page, _ := w.Sessions().Find(c.Context(), sessions.Filter{Limit: 30})
	var ids []string
	for _, s := range page.Sessions {
		ids = append(ids, s.ID+"\t"+OneLine(s.LongName))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// newest is how many of the newest artifacts or sessions a completion looks at.
const newest = 200

// CompleteArtifacts completes a flag with values that artifacts have.
func (a *App) CompleteArtifacts(values func(handoff.Artifact) []string) cobra.CompletionFunc {
	return a.completeWith(func(c *cobra.Command, w *workspace.Workspace) (found []string) {
		page, _ := w.List(c.Context(), workspace.ListOptions{Limit: newest})
		for _, art := range page.Artifacts {
			found = append(found, values(art)...)
		}
		return found
	})
}

// CompleteSlot completes a flag with the values that a field of producers has.
func (a *App) CompleteSlot(slot string) cobra.CompletionFunc {
	return a.CompleteArtifacts(func(art handoff.Artifact) []string { return []string{art.Producer.Slot(slot)} })
}

// CompleteSessionValues completes a flag or an argument with values that sessions
// have.
func (a *App) CompleteSessionValues(values func(sessions.View) []string) cobra.CompletionFunc {
	return a.completeWith(func(c *cobra.Command, w *workspace.Workspace) (found []string) {
		page, _ := w.Sessions().Find(c.Context(), sessions.Filter{Limit: newest})
		for _, s := range page.Sessions {
			found = append(found, values(s)...)
		}
		return found
	})
}

// completeWith completes with the values that a workspace has, each once.
func (a *App) completeWith(values func(*cobra.Command, *workspace.Workspace) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		w, err := a.Open()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer w.Close()
		found := slices.DeleteFunc(values(c, w), func(s string) bool { return s == "" || OneLine(s) != s })
		slices.Sort(found)
		return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
	}
}
