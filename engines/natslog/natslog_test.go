package natslog

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/nats-io/nats.go/jetstream"
)

// Package natstest tests the log against servers.

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		location string
		want     string // servers and name, or the error
	}{
		{"nats://host/team", "nats://host:4222 team"},
		{"nats://host:4333/team-2/", "nats://host:4333 team-2"},
		{"nats://user:secret@[::1]:4333/team", "nats://[::1]:4333 team"},
		{"nats://host/team?servers=a,b:1&replicas=3&storage=file&max_bytes=1000&poll=1s&tls=off",
			"nats://host:4222 nats://a:4222 nats://b:1 team"},
		{"nats://host/team?replicas=9", "invalid setting replicas"},
		{"nats://host/team?servers=a:1&servers=bad%20host", "invalid setting servers"},
		{"nats://host/team?storage=disk", "invalid setting storage"},
		{"nats://host/team?tls=on", "invalid setting tls"},
		{"nats://host/team?sync=1", "invalid setting sync"},
		{"nats://host/team?servers=u:p@a", "invalid server"},
		{"nats://host", "not a host and the name of a workspace (letters, digits, dash, underscore)"},
		{"nats://host/a.b", "not a host and the name of a workspace (letters, digits, dash, underscore)"},
		{"nats://host/a#b", "not a host and the name of a workspace (letters, digits, dash, underscore)"},
		{"nats:team", "not a host and the name of a workspace (letters, digits, dash, underscore)"},
	} {
		u, err := url.Parse(tt.location)
		if err != nil {
			t.Fatal(err)
		}
		o, err := options(u, func(string) string { return "" })
		got := strings.Join(append(o.Servers, o.Name), " ")
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("options(%s) = %q, want %q", tt.location, got, tt.want)
		}
	}
}

func TestSubject(t *testing.T) {
	l := Open(Options{Servers: []string{"nats://host"}, Name: "team"})
	r := handoff.Record{Type: "artifact.published", ID: "art_1", Fact: &handoff.ArtifactPublished{Channel: "design"}}
	if got, want := l.subject(r), "handoff.team.artifact=2epublished.design.art_1"; got != want {
		t.Errorf("subject = %s, want %s", got, want)
	}
	seen := map[string]string{}
	for _, text := range []string{"", "a", "A", "a.b", "a=2eb", "*", ">", "a b", "\x00", "é", "=",
		strings.Repeat("x", maxToken), strings.Repeat("x", maxToken+1), strings.Repeat("x", maxToken+2)} {
		got := token(text)
		if seen[got] != "" || got == "" || strings.ContainsAny(got, " .*>\x00\r\n") {
			t.Errorf("token(%q) = %q, which is that of %q or not a token", text, got, seen[got])
		}
		seen[got] = text + "."
	}
}

func TestQuorum(t *testing.T) {
	now, old := &jetstream.PeerInfo{Active: time.Second}, &jetstream.PeerInfo{Active: time.Minute}
	for want, list := range map[bool][][]*jetstream.PeerInfo{
		true:  {nil, {now, now}, {now, old}, {now, now, old, old}},
		false: {{old, old}, {now, old, old, old}, {old}},
	} {
		for _, peers := range list {
			if got := hasQuorum(&jetstream.ClusterInfo{Replicas: peers}); got != want {
				t.Errorf("hasQuorum of %d others = %t, want %t", len(peers), got, want)
			}
		}
	}
	if !hasQuorum(nil) {
		t.Error("a server without a cluster has no quorum")
	}
}

func TestSyncInterval(t *testing.T) {
	for answer, want := range map[string]string{
		`{"data":{"jetstream":{"config":{"sync_interval":120000000000,"sync_always":true}}}}`: "always",
		`{"data":{"jetstream":{"config":{"sync_interval":120000000000}}}}`:                    "2m0s",
		`{"data":{"jetstream":{}}}`: "",
		`{`:                         "",
	} {
		if got, err := syncInterval([]byte(answer)); got != want || (err == nil) != (want != "") {
			t.Errorf("syncInterval(%s) = %q, %v, want %q", answer, got, err, want)
		}
	}
}
