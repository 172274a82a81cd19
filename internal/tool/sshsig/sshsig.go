// Package sshsig makes and verifies SSH signatures with the installed ssh-keygen, which
// decides what a key and a file of allowed signers permit.
package sshsig

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ErrNotInstalled is the reason of an error if ssh-keygen is not installed.
var ErrNotInstalled = errors.New("ssh-keygen is not installed")

// ErrNoKey is the reason of an error for a key that is neither a file nor a public key.
var ErrNoKey = errors.New("not the file of an SSH key, and not a public key")

const (
	program   = "ssh-keygen"
	begin     = "-----BEGIN SSH SIGNATURE-----"
	end       = "-----END SSH SIGNATURE-----"
	lineWidth = 70 // of a signature file
	maxReason = 200
)

// Installed returns ErrNotInstalled if ssh-keygen is not installed.
func Installed() error {
	if _, err := exec.LookPath(program); err != nil {
		return ErrNotInstalled
	}
	return nil
}

// Sign returns the signature of a text in a namespace, without the first and last line of
// a signature file and without line ends. The key is a file, or a public key whose private
// key an agent has, also with the prefix "key::" of git. ssh-keygen asks for a passphrase at
// the terminal.
func Sign(ctx context.Context, key, namespace string, text []byte) (string, error) {
	if err := Installed(); err != nil {
		return "", err
	}
	args := []string{"-Y", "sign", "-n", namespace, "-f"}
	if public, ok := publicKey(key); ok {
		dir, err := os.MkdirTemp("", "handoff-key-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(dir)
		key = filepath.Join(dir, "key.pub")
		if err := os.WriteFile(key, []byte(public+"\n"), 0o600); err != nil {
			return "", err
		}
		args = append(args, key, "-U")
	} else {
		if info, err := os.Stat(key); err != nil || !info.Mode().IsRegular() {
			return "", ErrNoKey
		}
		args = append(args, key)
	}
	out, err := run(ctx, bytes.NewReader(text), args...)
	if err != nil {
		return "", err
	}
	value, ok := strings.CutPrefix(strings.TrimSpace(string(out)), begin)
	value, found := strings.CutSuffix(value, end)
	if !ok || !found {
		return "", errors.New("ssh-keygen printed no signature")
	}
	return strings.Join(strings.Fields(value), ""), nil
}

// IsPublicKey reports whether a text is a public key, or several, one on a line.
func IsPublicKey(text string) bool {
	_, ok := publicKey(text)
	return ok
}

// publicKey returns the public key that a key is, if it is not the name of a file.
func publicKey(key string) (string, bool) {
	if literal, ok := strings.CutPrefix(key, "key::"); ok {
		return literal, true
	}
	kind, rest, ok := strings.Cut(key, " ")
	known := strings.HasPrefix(kind, "ssh-") || strings.HasPrefix(kind, "ecdsa-") || strings.HasPrefix(kind, "sk-")
	return key, ok && known && rest != ""
}

// maxPrincipals is how many principals of one key are tried.
const maxPrincipals = 10

// Verify returns the principal of a file of allowed signers whose key signed the text in the
// namespace. The key must be allowed both at the time of the signature and now.
//
// An error is ErrNotInstalled, that of the context, or the reason why the signature is not
// accepted.
func Verify(ctx context.Context, allowed, namespace string, text []byte, value string, at time.Time) (string, error) {
	if err := Installed(); err != nil {
		return "", err
	}
	if _, err := base64.StdEncoding.DecodeString(value); err != nil || value == "" || len(text) == 0 {
		return "", errors.New("not a signature")
	}
	dir, err := os.MkdirTemp("", "handoff-signature-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "signature")
	if err := os.WriteFile(file, armored(value), 0o600); err != nil {
		return "", err
	}
	signed := "-Overify-time=" + at.UTC().Format("20060102150405")
	out, err := run(ctx, nil, "-Y", "find-principals", "-s", file, "-f", allowed, signed)
	if err != nil {
		return "", err
	}
	principals := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	for _, principal := range principals[:min(len(principals), maxPrincipals)] {
		for _, when := range [][]string{{signed}, nil} {
			args := append([]string{"-Y", "verify", "-n", namespace, "-f", allowed, "-I", principal, "-s", file},
				when...)
			if _, err = run(ctx, bytes.NewReader(text), args...); err != nil {
				break
			}
		}
		if err == nil {
			return principal, nil
		}
	}
	return "", err
}

// armored returns the signature file of a value.
func armored(value string) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, begin)
	for len(value) > 0 {
		n := min(lineWidth, len(value))
		fmt.Fprintln(&b, value[:n])
		value = value[n:]
	}
	fmt.Fprintln(&b, end)
	return b.Bytes()
}

// run runs ssh-keygen. An error has the first line that it printed.
func run(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, program, args...)
	c.Env = append(c.Environ(), "TZ=UTC", "LC_ALL=C") // times are in UTC
	c.Stdin = in
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return nil, ErrNotInstalled
	case err != nil:
		reason, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		if reason = strings.TrimSpace(reason); reason != "" {
			err = errors.New(reason[:min(len(reason), maxReason)])
		}
		return nil, err
	}
	return out, nil
}
