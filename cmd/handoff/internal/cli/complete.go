package cli

import (
	"fmt"
	"strings"

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

// CompleteRefs completes a ref with the IDs of the newest artifacts.
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
	page, _ := w.FindSessions(c.Context(), workspace.SessionFilter{Limit: 30})
	var ids []string
	for _, s := range page.Sessions {
		ids = append(ids, s.ID+"\t"+OneLine(s.LongName))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
