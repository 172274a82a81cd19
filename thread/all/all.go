// Package all lists the drivers of all supported programs.
package all

import (
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/amp"
	"github.com/agent-handoff/handoff/thread/antigravity"
	"github.com/agent-handoff/handoff/thread/claude"
	"github.com/agent-handoff/handoff/thread/cline"
	"github.com/agent-handoff/handoff/thread/codex"
	"github.com/agent-handoff/handoff/thread/copilot"
	"github.com/agent-handoff/handoff/thread/crush"
	"github.com/agent-handoff/handoff/thread/cursor"
	"github.com/agent-handoff/handoff/thread/droid"
	"github.com/agent-handoff/handoff/thread/gemini"
	"github.com/agent-handoff/handoff/thread/goose"
	"github.com/agent-handoff/handoff/thread/hermes"
	"github.com/agent-handoff/handoff/thread/kimi"
	"github.com/agent-handoff/handoff/thread/kiro"
	"github.com/agent-handoff/handoff/thread/opencode"
	"github.com/agent-handoff/handoff/thread/pi"
	"github.com/agent-handoff/handoff/thread/qwen"
)

// Drivers returns the drivers, in the order in which a bare ID is looked up.
func Drivers() []thread.Driver {
	return []thread.Driver{
		claude.Driver(),
		codex.Driver(),
		gemini.Driver(),
		pi.Driver(),
		opencode.Driver(),
		amp.Driver(),
		copilot.Driver(),
		kimi.Driver(),
		qwen.Driver(),
		droid.Driver(),
		antigravity.Driver(),
		crush.Driver(),
		kiro.Driver(),
		hermes.Driver(),
		goose.Driver(),
		cursor.Driver(),
		cline.Driver(),
		claude.IFlow(),
		opencode.Kilo(),
	}
}
