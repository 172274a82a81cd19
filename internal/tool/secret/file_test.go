package secret

import (
	"errors"
	"testing"
)

func TestCheckFile(t *testing.T) {
	const key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjE\n"
	for _, tt := range []struct{ name, head, want string }{
		{".env", "", "environment"}, {"app/.env.local", "", "environment"}, {".ENV.Production", "", "environment"},
		{"prod.env", "", "environment"}, {".envrc", "", "environment"},
		{".env.example", "", ""}, {"a/.env.sample", "", ""}, {".env.template", "", ""}, {"environment.md", "", ""},
		{"env", "", ""},
		{"home/.netrc", "", "netrc"}, {".npmrc", "", "npm"}, {".pypirc", "", "PyPI"}, {".git-credentials", "", "git"},
		{".aws/credentials", "", "AWS"}, {"x/.kube/config", "", "Kubernetes"},
		{".docker/config.json", "", "Docker"}, {"config.json", `{"auths":{"r.example":{"auth":"YTpi"}}}`, "Docker"},
		{"config.json", `{"debug":true}`, ""}, {"config", "", ""},
		{"keys/id_rsa", "", "private key"}, {"id_ed25519", "", "private key"}, {"id_rsa.pub", "ssh-rsa AAAA", ""},
		{"cert.p12", "", "key store"}, {"a.PFX", "", "key store"},
		{"server.pem", "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n", ""},
		{"server.pem", "subject=x\n-----BEGIN CERTIFICATE-----\n" + key, "private key"},
		{"tls.key", key, "private key"}, {"tls.key", "x", ""}, {"deploy", key, "private key"},
		{"notes.txt", "\n" + key, "private key"},
		{"notes.md", "A key begins with -----BEGIN PRIVATE KEY-----", ""}, {"a.ppk", "", "key store"},
		{"x.txt", "PuTTY-User-Key-File-3: ssh-rsa", "private key"},
		{"sa.json", `{"type": "service_account", "private_key": "-----BEGIN"}`, "service account"},
		{"report.json", `{"type":"service"}`, ""},
		{"k.yaml", "apiVersion: v1\nkind: Config\nusers:\n- name: a\n  user:\n    token: x\n", "Kubernetes"},
		{"k.yaml", "kind: ConfigMap\n", ""},
		{"credentials", "", ""}, {"docs/credentials.md", "", ""}, {"gh/hosts.yml", "", "GitHub"}, {"hosts.yml", "", ""},
	} {
		got := ""
		if e, ok := errors.AsType[*FileError](CheckFile(tt.name, []byte(tt.head))); ok {
			got = e.Kind
		}
		if got != tt.want {
			t.Errorf("CheckFile(%q, %q): got %q, want %q", tt.name, tt.head, got, tt.want)
		}
		if tt.head != "" && tt.want != "" && kindOfName(tt.name) == "" && tt.name != "notes.txt" && tt.name != "x.txt" &&
			!MayHold(tt.name) {
			t.Errorf("MayHold(%q) is false", tt.name)
		}
	}
}
