package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestX_E29_NewToolsHoldTheirDescriptions makes tools whose descriptions try to be more than text: what is not
// refused runs as the tool that was meant, and tells a model its description to the letter.
func TestX_E29_NewToolsHoldTheirDescriptions(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	config := filepath.Join(dir, "wield.yaml")
	if err := os.WriteFile(config, []byte("wield: config/v1\ntools: {dirs: [tools]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	programs := map[string]string{"shell": "sh", "python": "python3", "http": ""}
	for kind, program := range programs {
		if _, err := exec.LookPath(program); program != "" && err != nil {
			t.Logf("SKIPPED %s: %s is not installed", kind, program)
			continue
		}
		for _, tt := range []struct {
			about   string
			refused bool
		}{
			{"Says it's \"\"\" + open('broken', 'w') + \"\"\" to somebody.", false},
			{"Greets $(touch broken) `touch broken` somebody; touch broken #", false},
			{"Greets '; touch broken; ' {NAMES} NAME ABOUT %s %(x)s \\", false},
			{"Greets.\ntouch broken", true},
			{"Greets.\ropen('broken', 'w')", true},
			{"Greets.\u2028touch broken", true},
			{"Greets.\x00", true},
		} {
			code, _, log := runWield(t, dir, "", "tool", "new", "greet_someone", "--kind", kind, "--force", "--config",
				config, "--desc", tt.about)
			if tt.refused {
				if code != 2 || !strings.Contains(log, "one line of text") {
					t.Errorf("%s %q: exit code %d, %s", kind, tt.about, code, log)
				}
				continue
			}
			if code != 0 {
				t.Errorf("%s %q: exit code %d, %s", kind, tt.about, code, log)
				continue
			}
			if _, out, log := runWield(t, dir, "", "tool", "show", "greet_someone", "--config",
				config); !strings.Contains(out, tt.about) {
				t.Errorf("%s %q: the tool is %s%s", kind, tt.about, out, log)
			}
			if program != "" {
				run := exec.Command(program, filepath.Join("tools", "greet_someone"))
				run.Env = append(os.Environ(), "ARG_name=Ann")
				run.Stdin = strings.NewReader(`{"name": "Ann"}`)
				if out, err := run.CombinedOutput(); err != nil || string(out) != "Hello, Ann\n" {
					t.Errorf("%s %q: %v, %s", kind, tt.about, err, out)
				}
			}
		}
		_ = os.Remove(filepath.Join("tools", "greet_someone"))
		_ = os.Remove(filepath.Join("tools", "greet_someone.http.yaml"))
	}
	if _, err := os.Stat("broken"); err == nil {
		t.Error("a description ran")
	}
	for _, name := range []string{"abc\n", "abc\r", "a-b", "../a", "a/b", "A", "", "a\x00"} {
		if code, _, log := runWield(t, dir, "", "tool", "new", name, "--config", config); code != 2 ||
			!strings.Contains(log, "is no name for a tool") {
			t.Errorf("the name %q: exit code %d, %s", name, code, log)
		}
	}
}
