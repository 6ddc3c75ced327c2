package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// await asks again and again until ok, which is soon when all is well.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	awaitFor(t, patience, what, ok)
}

// awaitFor is await for what takes long.
func awaitFor(t *testing.T, longest time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(longest); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("this does not happen: " + what)
		}
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestServeReload changes the configuration while the service runs.
func TestServeReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	const head = "wield: config/v1\nbackends: {d: {kind: script, scenario: demo}}\n"
	writeFile(t, file, head+"models: {demo: {backend: d, mode: text}}\n")
	s := start(t, nil, "--config", file)
	checkRound(t, s.base, "demo")

	t.Run("the file changes", func(t *testing.T) {
		writeFile(t, file, head+"models: {second: {backend: d, model: demo, mode: text}}\n")
		await(t, "the new model is served", func() bool {
			status, _ := get(t, s.base+"/v1/models/second")
			return status == 200
		})
		checkRound(t, s.base, "second")
		if status, _ := get(t, s.base+"/v1/models/demo"); status != 404 {
			t.Errorf("the old model is still served: %d", status)
		}
	})
	t.Run("a file with problems changes nothing", func(t *testing.T) {
		writeFile(t, file, head+"models: {third: {backend: nowhere}}\n")
		await(t, "the log tells of it", func() bool {
			text := s.stderr.String()
			return strings.Contains(text, "keeping the old one") &&
				strings.Contains(text, `models.third.backend: no backend`) && strings.Contains(text, "config.yaml:3:")
		})
		checkRound(t, s.base, "second")
	})
	t.Run("a signal", func(t *testing.T) {
		writeFile(t, file, head+"listen: 127.0.0.1:1\nmodels: {fourth: {backend: d, model: demo, mode: text}}\n")
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if err := self.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		await(t, "the log tells of it", func() bool { return strings.Contains(s.stderr.String(), "cause=signal") })
		checkRound(t, s.base, "fourth")
	})
}

// makeCertificate writes a certificate for 127.0.0.1 and its key.
func makeCertificate(t *testing.T, cert, key, name string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	writeFile(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}

// TestServeTLS speaks HTTPS, with both versions of HTTP.
func TestServeTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key, file := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "config.yaml")
	makeCertificate(t, cert, key, "first")
	writeFile(t, file, "wield: config/v1\ntls: {cert: "+cert+", key: "+key+"}\n")
	s := start(t, nil, "--config", file)
	if !strings.HasPrefix(s.base, "https://127.0.0.1:") {
		t.Fatalf("the address is told as %s", s.base)
	}
	for _, proto := range []string{"h2", "http/1.1"} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
			NextProtos: []string{proto}}, ForceAttemptHTTP2: proto == "h2"}
		client := &http.Client{Transport: transport}
		resp, err := client.Post(s.base+"/v1/chat/completions", "application/json",
			strings.NewReader(weatherRequest("demo", true)))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.TLS.NegotiatedProtocol != proto || !strings.HasSuffix(string(body), "data: [DONE]\n\n") {
			t.Errorf("%s: %v, %s\n%s", proto, err, resp.TLS.NegotiatedProtocol, body)
		}
		transport.CloseIdleConnections()
	}
}
