package lifecycle

import (
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
)

// NoticeCodes are the codes of the notices of sessions, the worst first.
var NoticeCodes = []string{string(handoff.NoticeSessionFailed), string(handoff.NoticeOutputMissing),
	string(handoff.NoticeProcessGone), string(handoff.NoticeSilent)}

func hasNotice(v session.View, code string) bool {
	return slices.Contains(handoff.Codes(v.Notices), handoff.NoticeCode(code))
}

// SetNotices sets the notices of a session, the worst first. Expected is what it should
// leave, nil if that was not looked up.
func SetNotices(v *session.View, expected []session.Expected) {
	v.Notices = nil
	add := func(code handoff.NoticeCode, text, reason string) {
		v.Notices = append(v.Notices, handoff.NewNotice(code, strings.TrimSuffix(text+": "+reason, ": "), v.ID))
	}
	switch {
	case v.Status == session.Failed:
		add(handoff.NoticeSessionFailed, "the session failed", v.Reason)
	case v.Status == Stalled && v.Reason != handoff.ProcessGone:
		add(handoff.NoticeSilent, "no activity", v.Reason)
	}
	ended := v.Status == session.Completed || v.Status == session.Failed
	if missing := undelivered(expected); len(missing) > 0 && ended {
		add(handoff.NoticeOutputMissing, "did not leave "+strings.Join(missing, ", "), "")
	}
	if v.Reason == handoff.ProcessGone {
		add(handoff.NoticeProcessGone, "its process is gone", "")
	}
}
