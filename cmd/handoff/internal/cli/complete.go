package cli

import (
	"fmt"
	"strings"

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
	page, _ := w.Artifacts(c.Context(), handoff.ArtifactQuery{})
	count := map[string]int{}
	for _, art := range page.Artifacts {
		count[art.Channel]++
	}
	for _, known := range w.Config.Purposes() {
		names = append(names, known[0]+"\t"+known[1])
		delete(count, known[0])
	}
	for _, name := range SortedKeys(count) {
		names = append(names, fmt.Sprintf("%s\t%d artifacts", name, count[name]))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteRefs completes a ref with the ids of the newest artifacts.
func (a *App) CompleteRefs(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	w, err := a.Open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer w.Close()
	page, _ := w.Artifacts(c.Context(), handoff.ArtifactQuery{Limit: 30})
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

// CompleteSessions completes a session with the ids of the newest ones.
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
