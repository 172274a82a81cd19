package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestMain(m *testing.M) {
	if os.Getenv("HANDOFF_NATS_TEST_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestRefusedSettings(t *testing.T) {
	for args, want := range map[string]string{
		"":                             "--dir is required",
		"--dir x y":                    `unexpected argument "y"`,
		"--dir x --port 1":             "flag provided but not defined: -port",
		"--dir x --listen 4222":        `--listen: invalid address "4222"`,
		"--dir x --listen :4222":       "--user and a password are required",
		"--dir x --listen 0.0.0.0:1":   "--user and a password are required",
		"--dir x --listen host:1":      "--user and a password are required",
		"--dir x --user a":             "a name and a password are only valid together",
		"--dir x --tls-cert c":         "--tls-cert and --tls-key are only valid together",
		"--dir x --max-bytes -1":       "--max-bytes must not be negative",
		"--dir x --password-file none": "--password-file: open none",
	} {
		var stderr strings.Builder
		if code := run(t.Context(), strings.Fields(args), io.Discard, &stderr); code != exitUsage ||
			!strings.Contains(stderr.String(), want) {
			t.Errorf("handoff-nats %s = %d, %q, want %q", args, code, stderr.String(), want)
		}
	}
	var stderr strings.Builder
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := run(t.Context(), []string{"--dir", "x", "--listen", "0.0.0.0:1", "--user", "a", "--password-file", password},
		io.Discard, &stderr); code != exitUsage ||
		!strings.Contains(stderr.String(), "--tls-cert and --tls-key are required") ||
		strings.Contains(stderr.String(), "secret") {
		t.Errorf("without TLS: %d, %q", code, stderr.String())
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("refused settings created the directory")
	}
}

func TestHelp(t *testing.T) {
	var out strings.Builder
	if code := run(t.Context(), []string{"--help"}, &out, io.Discard); code != 0 || out.String() != usage {
		t.Errorf("--help = %d, %q", code, out.String())
	}
	for line := range strings.Lines(usage) {
		if len(strings.TrimSpace(line)) > 80 {
			t.Errorf("%q has more than 80 characters", line)
		}
	}
}

// process starts the program and returns the URL that it listens on.
func process(t *testing.T, env []string, args ...string) (c *exec.Cmd, address string) {
	t.Helper()
	c = exec.Command(os.Args[0], args...)
	c.Env = append(append(os.Environ(), "HANDOFF_NATS_TEST_MAIN=1"), env...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, _, _ = strings.Cut(strings.TrimPrefix(line, "listening on "), ",")
	return c, address
}

func connect(t *testing.T, address string, o ...nats.Option) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(address, o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// TestServe stores a message, which is there after the end of the process: after a
// signal, and after a kill.
func TestServe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	for i, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL, os.Interrupt} {
		c, address := process(t, nil, "--dir", dir, "--listen", "127.0.0.1:0")
		js := connect(t, address)
		s, err := js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
		if err != nil {
			t.Fatal(err)
		}
		if n := s.CachedInfo().State.Msgs; n != uint64(i) {
			t.Errorf("before %v: %d messages, want %d", signal, n, i)
		}
		if _, err := js.Publish(t.Context(), "s", make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		if code := run(t.Context(), []string{"--dir", dir, "--listen", "127.0.0.1:0"}, io.Discard,
			&stderr); code != exitUnavailable || !strings.Contains(stderr.String(), "another server uses this directory") {
			t.Errorf("a second server = %d, %q", code, stderr.String())
		}
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); (err != nil) != (signal == syscall.SIGKILL) {
			t.Errorf("%v: %v", signal, err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", info.Mode(), err)
	}
}

// TestSyncAlways asks the server as handoff log status does.
func TestSyncAlways(t *testing.T) {
	_, address := process(t, nil, "--dir", t.TempDir(), "--listen", "127.0.0.1:0")
	reply, err := connect(t, address).Conn().Request("$SYS.REQ.SERVER.PING.VARZ", nil, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var a struct {
		Data struct {
			JetStream struct {
				Config struct {
					Always bool `json:"sync_always"`
				} `json:"config"`
			} `json:"jetstream"`
		} `json:"data"`
	}
	if err := json.Unmarshal(reply.Data, &a); err != nil || !a.Data.JetStream.Config.Always {
		t.Errorf("the server answers %s, %v", reply.Data, err)
	}
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var stderr strings.Builder
	if code := run(t.Context(), []string{"--dir", t.TempDir(), "--listen", l.Addr().String()}, io.Discard,
		&stderr); code != exitUnavailable || !strings.Contains(stderr.String(), "in use") {
		t.Errorf("a port in use = %d, %q", code, stderr.String())
	}
}

// TestTLS listens for other machines: without TLS, and without the password, nobody
// gets in.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key, password := filepath.Join(dir, "cert"), filepath.Join(dir, "key"), filepath.Join(dir, "password")
	writeCertificate(t, cert, key)
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, address := process(t, nil, "--dir", filepath.Join(dir, "log"), "--listen", "0.0.0.0:0", "--user", "team",
		"--password-file", password, "--tls-cert", cert, "--tls-key", key)
	address = strings.Replace(address, "0.0.0.0", "127.0.0.1", 1)
	for name, o := range map[string][]nats.Option{
		"no certificate authority": {nats.UserInfo("team", "secret")},
		"no password":              {nats.RootCAs(cert)},
		"a wrong password":         {nats.RootCAs(cert), nats.UserInfo("team", "other")},
	} {
		if nc, err := nats.Connect(address, o...); err == nil {
			nc.Close()
			t.Errorf("%s: connected", name)
		}
	}
	nc := connect(t, address, nats.RootCAs(cert), nats.UserInfo("team", "secret")).Conn()
	if state, err := nc.TLSConnectionState(); err != nil || state.Version < 0x0303 {
		t.Errorf("the connection has TLS version %x, %v", state.Version, err)
	}
}

func writeCertificate(t *testing.T, cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEnds stops the server with its context.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if code := run(ctx, []string{"--dir", t.TempDir(), "--listen", "127.0.0.1:0"}, io.Discard,
		os.Stderr); code != 0 {
		t.Errorf("run = %d", code)
	}
}
