//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wield/internal/pgtest"
)

// TestServicesTLS lets two services meet over connections that are encrypted on both sides. One with another
// certificate meets nobody.
func TestServicesTLS(t *testing.T) {
	database := pgtest.Start(t)
	dir := t.TempDir()
	own := func(name string) []string {
		cert, key := filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
		makeCertificate(t, cert, key, name)
		return []string{"WIELD_CLUSTER_TLS_CERT=" + cert, "WIELD_CLUSTER_TLS_KEY=" + key, "WIELD_CLUSTER_TLS_CA=" + cert}
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

// TestUnit has systemd check the unit of the docs. Its command is not started.
func TestUnit(t *testing.T) {
	unit := block(t, "[Unit]")
	program, err := exec.LookPath("wield")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "wield-worker.service")
	user := regexp.MustCompile(`(?m)^User=wield$`) // there is none here
	unit = user.ReplaceAllString(strings.ReplaceAll(unit, "/usr/bin/wield", program), "User=root")
	writeFile(t, file, unit)
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("NOT TESTED: the unit, for there is no systemd-analyze")
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput(); err != nil ||
		strings.Contains(string(out), "wield-worker") {
		t.Errorf("systemd-analyze: %v: %s", err, out)
	}
}

// TestCompose starts the commands of the compose file of the docs, with the configurations of the docs, and runs a
// tool.
func TestCompose(t *testing.T) {
	compose := block(t, "services:\n  wield:")
	commands := regexp.MustCompile(`(?m)^    command: (.+)$`).FindAllStringSubmatch(compose, -1)
	if len(commands) != 2 {
		t.Fatalf("the compose file has the commands %q", commands)
	}
	dir := t.TempDir()
	for name, begin := range map[string]string{"service.yaml": "wield: config/v1\nlisten: 0.0.0.0:8420\nhosts: [wield.example, wield]\n",
		"worker.yaml": "wield: config/v1\ntools:"} {
		text := block(t, begin)
		if !strings.Contains(compose, "./"+name+":/etc/wield/"+name+":ro") {
			t.Errorf("the compose file does not mount %s", name)
		}
		text = regexp.MustCompile(`(?m)^tls: .*\n`).ReplaceAllString(text, "") // as the page says
		writeFile(t, filepath.Join(dir, name), text+"data: "+filepath.Join(dir, "data-"+name)+"\n")
	}
	env := append(os.Environ(), "WIELD_KEY="+servedKey, "BUILD_KEY="+workerKey, "WIELD_LISTEN=127.0.0.1:0", "HOME="+dir)
	run := func(command string, names ...string) (*exec.Cmd, *lockedBuffer) {
		args := strings.Fields(strings.NewReplacer(names...).Replace(strings.ReplaceAll(command, "/etc/wield", dir)))
		cmd, out := exec.Command("wield", args...), &lockedBuffer{}
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, out, out
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
		return cmd, out
	}
	_, out := run(commands[0][1])
	s := &server{}
	await(t, "the service listens", func() bool {
		if m := listens.FindStringSubmatch(out.String()); m != nil {
			s.base = m[1]
		}
		return s.base != ""
	})
	for i := range 2 { // replicas
		run(fmt.Sprint(commands[1][1], " --name w", i), "http://wield:8420", s.base)
	}
	s.knows(t, 1, 2)
	await(t, "the model is offered the tool of the pool", func() bool { return s.described(t, "build__test_package") != "" })
}
