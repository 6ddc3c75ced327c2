//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"wield/internal/pgtest"
	"wield/internal/testlevel"
	"wield/internal/testport"
)

// TestServicesTLS lets two services meet over connections that are encrypted on both sides. One with another
// certificate meets nobody.
func TestServicesTLS(t *testing.T) {
	testlevel.Long(t)
	database := pgtest.Start(t)
	dir := t.TempDir()
	own := func(name string) []string {
		cert, key := filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
		makeCertificate(t, cert, key, name)
		return []string{"WIELD_CLUSTER_TLS_CERT=" + cert, "WIELD_CLUSTER_TLS_KEY=" + key,
			"WIELD_CLUSTER_TLS_CA=" + cert}
	}
	for _, v := range own("services") {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	m := newTeam(t, &busyStory, database.Database(t), 2, "")
	m.meet = append(m.meet, "127.0.0.1:0")
	other := m.start(t, 2, append([]string{"WIELD_TEST_NATS="}, own("stranger")...)...)
	await(t, "the certificate is refused", func() bool {
		return strings.Contains(other.log.String(), "certificate")
	})
	all := append(m.services, other)
	for i, s := range all {
		s.knows(t, []int{2, 2, 1}[i], 0)
	}
	for _, s := range all {
		s.end(t)
	}
}

// block returns the code block of docs/cluster.md that begins with some words.
func block(t *testing.T, begin string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```[a-z]+[^\n]*\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(m[1], begin) {
			return m[1]
		}
	}
	t.Fatalf("docs/cluster.md has no block that begins with %q", begin)
	return ""
}

// packaged returns a file that is shipped.
func packaged(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestUnits has systemd check the units of the packages. Their commands are not started.
func TestUnits(t *testing.T) {
	program, err := exec.LookPath("wield")
	if err != nil {
		t.Fatal(err)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("NOT TESTED: the units, for there is no systemd-analyze")
	}
	for _, name := range []string{"wield.service", "wield-worker.service"} {
		file := filepath.Join(t.TempDir(), name)
		unit := strings.ReplaceAll(packaged(t, ".ci/packaging/"+name), "/usr/bin/wield", program)
		writeFile(t, file, regexp.MustCompile(`(?m)^Documentation=.*\n`).ReplaceAllString(unit, ""))
		if out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput(); err != nil ||
			strings.Contains(string(out), name) {
			t.Errorf("systemd-analyze: %v: %s", err, out)
		}
	}
}

// A composition holds the parts of a compose file that are checked.
type composition struct {
	Services map[string]struct {
		Command     string
		Environment any // a map or a list of names
		Volumes     []string
	}
}

// composed reads a compose file. Each configuration that it mounts is written into a directory as docs/cluster.md has
// it, without TLS.
func composed(t *testing.T, name, dir string, configs map[string]string) (c composition) {
	t.Helper()
	text := packaged(t, "examples/cluster/"+name)
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	for name, begin := range configs {
		if !strings.Contains(text, "./"+name+":/etc/wield/"+name+":ro") {
			t.Errorf("the compose file does not mount %s", name)
		}
		config := regexp.MustCompile(`(?m)^tls: .*\n`).ReplaceAllString(block(t, begin), "")
		writeFile(t, filepath.Join(dir, name), config)
	}
	return c
}

// launch starts a command of a compose file where names of machines are others.
func launch(t *testing.T, dir, command string, env []string, names ...string) *lockedBuffer {
	t.Helper()
	args := strings.Fields(strings.NewReplacer(names...).Replace(strings.ReplaceAll(command, "/etc/wield", dir)))
	cmd, out := exec.Command("wield", args...), &lockedBuffer{}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.Env = append(append(os.Environ(), "WIELD_LISTEN=127.0.0.1:0", "HOME="+t.TempDir(), "WIELD_KEY="+servedKey),
		env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // how it ended says its state
		if t.Failed() {
			t.Logf("%s: %s", command, out)
		}
	})
	return out
}

// listener waits until a service listens.
func listener(t *testing.T, out *lockedBuffer) *server {
	t.Helper()
	s := &server{}
	await(t, "the service listens", func() bool {
		if m := listens.FindStringSubmatch(out.String()); m != nil {
			s.base = m[1]
		}
		return s.base != ""
	})
	return s
}

// TestCompose starts the commands of the compose file with workers, with the configurations of the docs, and runs the
// tool on a worker.
func TestCompose(t *testing.T) {
	dir := t.TempDir()
	c := composed(t, "workers.compose.yaml", dir, map[string]string{
		"service.yaml": "wield: config/v1\nlisten: 0.0.0.0:8420\nhosts: [wield.example, wield]\n",
		"worker.yaml":  "wield: config/v1\ntools:"})
	program := filepath.Join(t.TempDir(), "go") // one that takes no minute to build what it tests
	writeFile(t, program, "#!/bin/sh\necho ok, $*\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"BUILD_KEY=" + workerKey, "PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH")}
	s := listener(t, launch(t, dir, c.Services["wield"].Command, env))
	for i := range 2 { // replicas
		launch(t, dir, fmt.Sprint(c.Services["worker"].Command, " --name w", i), env, "http://wield:8420", s.base)
	}
	s.knows(t, 1, 2)
	await(t, "the model is offered the tool of the pool", func() bool {
		return s.described(t, "build__test_package") != ""
	})
	var ran struct {
		Result struct {
			Text    string
			IsError bool `json:"is_error"`
		}
	}
	in := map[string]any{"agent": "coder", "approved": true, "arguments": map[string]string{"package": "./x"}}
	if !s.call(t, "POST", "tools/build__test_package/run", in, &ran) || ran.Result.IsError ||
		!strings.Contains(ran.Result.Text, "ok, test ./x") {
		t.Errorf("the tool on the worker: %+v", ran.Result)
	}
}

// TestComposeServices starts the commands of the compose file with three services. They meet, and HAProxy sends
// requests to those that are ready.
func TestComposeServices(t *testing.T) {
	testlevel.Long(t)
	dir, database := t.TempDir(), pgtest.Start(t)
	const begin = "wield: config/v1\nlisten: 0.0.0.0:8420\nhosts: [wield.example]\nkeys:"
	c := composed(t, "services.compose.yaml", dir, map[string]string{"beside.yaml": begin})
	names, address := []string{"a.internal", "b.internal", "c.internal"}, database.Database(t)
	config, balanced := block(t, begin), packaged(t, "examples/cluster/haproxy.cfg")
	at := map[string]string{}
	for _, name := range names {
		at[name] = testport.Reserve(t)
		config = strings.ReplaceAll(config, name+":6222", at[name])
	}
	writeFile(t, filepath.Join(dir, "beside.yaml"), config)
	var all []*server
	for _, name := range names {
		one := c.Services[name]
		if own, _ := one.Environment.(map[string]any); len(own) != 3 {
			t.Fatalf("the environment of %s is %v", name, own)
		}
		out := launch(t, dir, one.Command, []string{"CLUSTER_SECRET=a-secret-of-services-of-this-test",
			"WIELD_DATABASE=" + address, "WIELD_CLUSTER_LISTEN=" + at[name], "WIELD_DATA=" + t.TempDir()})
		s := listener(t, out)
		all = append(all, s)
		balanced = strings.Replace(balanced, name+":8420", strings.TrimPrefix(s.base, "http://"), 1)
	}
	for _, s := range all {
		s.meets(t, 3)
	}
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		t.Skip("NOT TESTED: the load balancer, for there is no haproxy")
	}
	front := &server{base: "http://" + testport.Reserve(t)}
	writeFile(t, filepath.Join(dir, "haproxy.cfg"),
		strings.Replace(balanced, ":8420", strings.TrimPrefix(front.base, "http://"), 1))
	cmd := exec.Command(haproxy, "-db", "-f", filepath.Join(dir, "haproxy.cfg"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // how it ended says its state
	})
	front.ready(t, true)
	database.Kill()
	awaitFor(t, time.Minute, "no service is ready", func() bool {
		resp, err := front.request(t, "GET", "/v1/models", nil)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode == http.StatusServiceUnavailable &&
			strings.Contains(string(text), "No server is available")
	})
	database.Restart(t)
	front.ready(t, true)
}
