package secret

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// HeadSize is how many of the first bytes of a file tell what it holds.
const HeadSize = 16 << 10

// A FileError means that a file usually holds credentials.
type FileError struct{ Kind string }

func (e *FileError) Error() string { return "usually holds credentials (" + e.Kind + ")" }

// credentialFiles are the names of files that programs keep credentials in. A name with
// a slash is that of a file in a directory of this name.
var credentialFiles = map[string]string{
	".netrc": "netrc", "_netrc": "netrc", ".npmrc": "npm", ".yarnrc.yml": "yarn", ".pypirc": "PyPI",
	".git-credentials": "git", ".pgpass": "PostgreSQL", ".my.cnf": "MySQL",
	".htpasswd": "passwords", ".dockercfg": "Docker", ".docker/config.json": "Docker", ".dockerconfigjson": "Docker",
	".kube/config": "Kubernetes", "kubeconfig": "Kubernetes",
	".aws/credentials": "AWS", ".azure/accesstokens.json": "Azure",
	"gcloud/application_default_credentials.json": "Google", "gcloud/credentials.db": "Google",
	".terraformrc": "Terraform", "credentials.tfrc.json": "Terraform", ".vault-token": "Vault",
	".cargo/credentials": "cargo", ".cargo/credentials.toml": "cargo",
	".gem/credentials": "RubyGems", "gh/hosts.yml": "GitHub", ".codex/auth.json": "Codex",
	".claude/.credentials.json": "Claude", ".envrc": "environment",
	"id_rsa": "private key", "id_dsa": "private key", "id_ecdsa": "private key", "id_ecdsa_sk": "private key",
	"id_ed25519": "private key", "id_ed25519_sk": "private key",
}

// keyStores are the ends of names of files that hold private keys or passwords, in a form
// that is not text.
var keyStores = []string{".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk"}

// examples are the ends of names of files with the names of variables only.
var examples = []string{".example", ".sample", ".template", ".dist"}

// CheckFile returns a *FileError if a file usually holds credentials: by its path, in
// any case, or by its first bytes, of which HeadSize are enough.
func CheckFile(name string, head []byte) error {
	if kind := kindOfName(strings.ToLower(name)); kind != "" {
		return &FileError{kind}
	}
	if kind := kindOfHead(strings.ToLower(path.Ext(name)), head); kind != "" {
		return &FileError{kind}
	}
	return nil
}

func kindOfName(name string) string {
	base := path.Base(name)
	if kind := credentialFiles[base]; kind != "" {
		return kind
	}
	if kind := credentialFiles[path.Base(path.Dir(name))+"/"+base]; kind != "" {
		return kind
	}
	ends := func(end string) bool { return strings.HasSuffix(base, end) }
	switch {
	case slices.ContainsFunc(examples, ends):
		return ""
	case base == ".env", strings.HasPrefix(base, ".env."), strings.HasSuffix(base, ".env"):
		return "environment"
	case slices.ContainsFunc(keyStores, ends):
		return "key store"
	case strings.HasSuffix(base, ".kubeconfig"):
		return "Kubernetes"
	}
	return ""
}

// keyFiles are the ends of names of files with keys and certificates as text, in any order.
var keyFiles = []string{".pem", ".key", ".crt", ".cer", ".p8", ""}

func kindOfHead(end string, head []byte) string {
	start := bytes.TrimSpace(head)
	line, _, _ := bytes.Cut(start, []byte("\n"))
	begins := bytes.HasPrefix(line, []byte("-----BEGIN ")) && bytes.Contains(line, []byte("PRIVATE KEY"))
	has := func(text string) bool { return bytes.Contains(head, []byte(text)) }
	switch {
	case begins, bytes.HasPrefix(start, []byte("PuTTY-User-Key-File")), slices.Contains(keyFiles, end) &&
		has("-----BEGIN ") && has("PRIVATE KEY-----"):
		return "private key"
	case end == ".json" && has(`"service_account"`) && has(`"private_key"`):
		return "service account"
	case end == ".json" && has(`"auths"`) && has(`"auth"`):
		return "Docker"
	case (end == ".yaml" || end == ".yml" || end == ".conf" || end == "") && has("kind: Config") &&
		(has("client-key-data:") || has("\n    token: ")):
		return "Kubernetes"
	}
	return ""
}

// MayHold reports whether only the first bytes of a file in a directory tell whether
// it holds credentials.
func MayHold(name string) bool {
	end := strings.ToLower(path.Ext(name))
	return end == ".json" || end == ".yaml" || end == ".yml" || end == ".conf" || slices.Contains(keyFiles, end)
}
