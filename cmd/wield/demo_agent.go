package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"wield/internal/cli"
	"wield/internal/config"
	"wield/internal/script"
)

// demoAgent is the agent that serve offers beside demoModel where there is no configuration file.
const demoAgent = "demo-agent"

// demoTries are the questions that demoAgent can answer.
func demoTries() []string {
	return []string{"Open the shop on Sundays.", "When is the shop open on Saturdays?"}
}

// demoFiles are the files in the directory of demoAgent when serve starts.
var demoFiles = map[string]string{
	"hours.md": "# Opening hours\n\nMonday to Friday: 9:00 to 18:00\nSaturday: 10:00 to 16:00\nSunday: closed\n",
}

// demoTools are the tools of demoAgent. Those that change something ask first, as no policy is configured.
var demoTools = []string{"read_file", "edit_file", "write_file", "command_exec"}

// addDemo adds the models that serve offers where no other is configured.
func (s *site) addDemo(c *config.Result) {
	c.Demo = true
	c.AddScripted(cli.DemoModel, cli.DemoModel)
	if c.File != "" { // it may say where tools work and what they may do, and was not written for this one
		return
	}
	if _, err := fs.Stat(s.environment.Catalogue, demoAgent+script.Suffix); err != nil { // the catalogue is another one
		return
	}
	if s.demoDir == "" {
		dir, temporary, err := makeDemoDir(c.DataDir(s.app.Getenv))
		if err != nil {
			s.environment.Log.Warn("the model "+demoAgent+" is left out", "error", err)
			return
		}
		s.demoDir, s.demoIsTemporary = dir, temporary
	}
	c.AddScriptedAgent(demoAgent, demoAgent, s.demoDir, demoTools...)
}

// makeDemoDir makes the directory of demoAgent anew: in the data directory, so that what was asked before a
// restart can be answered after it, or, where there is none, a temporary one.
func makeDemoDir(data string) (dir string, temporary bool, err error) {
	if data == "" {
		dir, err = os.MkdirTemp("", "wield-demo-")
		temporary = true
	} else {
		dir = filepath.Join(data, "demo")
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", false, fmt.Errorf("its directory cannot be made: %w", err)
	}
	for name, text := range demoFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", false, fmt.Errorf("its files cannot be written: %w", err)
		}
	}
	return dir, temporary, nil
}

// closeDemo removes a directory that was made for this process alone.
func (s *site) closeDemo() error {
	if !s.demoIsTemporary {
		return nil
	}
	return os.RemoveAll(s.demoDir)
}
