package cli

import "testing"

func TestName(t *testing.T) {
	defer SetName("handoff")
	a := &App{commandNames: []string{"log", "list", "list-all"}}
	for _, tt := range []struct{ path, name, text, want string }{
		{"/usr/bin/agent-handoff", "agent-handoff", "run: handoff list-all", "run: agent-handoff list-all"},
		{"agent-handoff", "agent-handoff", "$(handoff log) | handoff list", "$(agent-handoff log) | agent-handoff list"},
		{"agent-handoff", "agent-handoff", "what handoff logs; .handoff list; agent-handoff list",
			"what handoff logs; .handoff list; agent-handoff list"},
		{"handoff", "handoff", "run: handoff list", "run: handoff list"},
		{"/opt/agent-handoff/renamed", "handoff", "run: handoff list", "run: handoff list"},
	} {
		SetName(tt.path)
		if got := Name(); got != tt.name {
			t.Errorf("%s: the name is %s, want %s", tt.path, got, tt.name)
		}
		if got := a.named(tt.text); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.path, got, tt.want)
		}
	}
}
