package brief

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// The words by which programs and their services report that a limit of usage is reached, and when
// it ends: "You've hit your limit · resets 6pm", "limit reached|1764439200", "try again in 2 hours".
const (
	limit = `(?i)usage limit|hit your [a-z0-9 -]{0,20}limit|limit (was )?reached|\bquota\b|rate[ _-]?limit|` +
		`too many requests|out of credits|credit balance`
	reset        = `(?i)\b(?:resets?|try again|retry) ((?:at |in |on |after )?[0-9a-z][^.·|;,"\n]{0,40})`
	resetSeconds = `reached\|(\d{10})\b`
)

// EndOf returns how a thread ended.
func EndOf(s thread.State) transcript.End {
	e := transcript.End{Status: s.Status, Text: string(s.Status)}
	for _, n := range s.Notices("") { // one at most
		e.Text = n.Text
	}
	if s.Status != thread.Errored {
		return e
	}
	e.Reason = regexp.MustCompile(`, (line|row|message) \d+$`).ReplaceAllString(s.Evidence, "")
	if e.AtLimit = regexp.MustCompile(limit).MatchString(e.Reason); e.AtLimit {
		e.Text, e.Resets = "at its limit", resets(e.Reason)
	}
	return e
}

// resets returns when a limit ends, as its program words it, "" if it does not.
func resets(reason string) string {
	if m := regexp.MustCompile(resetSeconds).FindStringSubmatch(reason); m != nil {
		seconds, _ := strconv.ParseInt(m[1], 10, 64) // ten digits
		return time.Unix(seconds, 0).UTC().Format("2006-01-02 15:04 MST")
	}
	if m := regexp.MustCompile(reset).FindStringSubmatch(reason); m != nil {
		return strings.TrimSpace(strings.TrimPrefix(m[1], "at "))
	}
	return ""
}
