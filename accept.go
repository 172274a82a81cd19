package handoff

import "fmt"

// notice returns what a reader of the accepted artifact should know.
func (c Acceptance) notice() Notice {
	text := "accepted by " + c.By
	if len(c.Over) > 0 {
		text += fmt.Sprintf(" over %d other", len(c.Over))
		if len(c.Over) > 1 {
			text += "s"
		}
	}
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return NewNotice(NoticeAccepted, text, c.Over...)
}
