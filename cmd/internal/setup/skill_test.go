package setup

import (
	"regexp"
	"strings"
	"testing"
)

// TestSkill checks the form of the skill, and that every shell accepts its
// commands.
func TestSkill(t *testing.T) {
	if n := strings.Count(skill, "\n"); n >= 150 {
		t.Errorf("the skill has %d lines, want fewer than 150", n)
	}
	if !regexp.MustCompile(
		`^---\nname: agent-handoff\ndescription: .{50,1000}\nmetadata:\n  written-by: agent-handoff init\n---\n`).
		MatchString(skill) {
		t.Error("the skill does not begin with its name and description")
	}
	for _, line := range strings.Split(skill, "\n") {
		if command, ok := strings.CutPrefix(line, "    "); ok && strings.ContainsAny(command, "$`<") {
			t.Errorf("some shells reject %q", command)
		}
	}
}
