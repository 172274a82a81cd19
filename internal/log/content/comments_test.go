package content_test

import (
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/storage"
)

// TestReferencesOfComments keeps the texts of comments and replies until they are withdrawn.
func TestReferencesOfComments(t *testing.T) {
	var refs content.References
	text, reply := logtest.DigestOf("text"), logtest.DigestOf("reply")
	for i, f := range []handoff.Fact{
		&handoff.ArtifactCommented{ArtifactID: "art_1", Body: text},
		&handoff.ArtifactCommented{ArtifactID: "art_1", Body: reply, ReplyTo: "cmt_0"},
		&handoff.ArtifactWithdrawn{ArtifactID: "art_1"},
		&handoff.ArtifactCommented{ArtifactID: "art_1", ReplyTo: "cmt_0", State: handoff.CommentWithdrawn},
	} {
		refs.Add(handoff.Record{Version: 1, ID: "cmt_" + string(rune('0'+i)), Fact: f})
		if got := refs.Of(text); i < 3 && got != storage.Referenced {
			t.Errorf("after record %d, the text is %v, want it referenced", i, got)
		}
	}
	if text, reply := refs.Of(text), refs.Of(reply); text != storage.Withdrawn || reply != storage.Referenced {
		t.Errorf("the text of a withdrawn comment is %v, want it withdrawn; that of its reply %v, referenced", text, reply)
	}
}
