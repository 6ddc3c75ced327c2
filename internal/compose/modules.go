package compose

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"wield/chat"
	"wield/internal/config"
	"wield/internal/module"
	"wield/tool/guarded"
	"wield/tool/sandbox"
)

// modules makes the modules of the given names.
func (w *builder) modules(names []string) ([]module.Module, error) {
	var all []module.Module
	for _, name := range names {
		m := w.config.Modules[name]
		one, err := w.module(name, &m)
		if err != nil {
			return nil, fmt.Errorf("modules.%s: %w", name, err)
		}
		one.Name, one.Order = name, m.Order
		all = append(all, one)
	}
	return all, nil
}

func (w *builder) module(name string, m *config.Module) (module.Module, error) {
	switch m.Kind {
	case "redact":
		return redactModule(w, m)
	case "format":
		return module.Format(module.FormatOptions{Plain: m.Markdown == "plain", Trim: m.Trim, Wrap: m.Wrap}), nil
	case "translate":
		return translateModule(w, m)
	}
	return execModule(w, name, m)
}

func redactModule(w *builder, m *config.Module) (module.Module, error) {
	o := module.RedactOptions{With: m.With, In: m.Direction != "out", Out: m.Direction != "in"}
	for _, s := range m.Words {
		word, err := s.Resolve(w.env.Getenv)
		if err != nil {
			return module.Module{}, fmt.Errorf("words: %w", err)
		}
		if strings.ContainsAny(word, "\r\n") {
			return module.Module{}, fmt.Errorf("words: %s holds a line break; give its lines one by one", s)
		}
		o.Words = append(o.Words, word)
	}
	for _, p := range m.Patterns {
		re, err := regexp.Compile(p)
		if err != nil {
			return module.Module{}, fmt.Errorf("patterns: %w", err)
		}
		o.Patterns = append(o.Patterns, re)
	}
	return module.Redact(o), nil
}

func translateModule(w *builder, m *config.Module) (module.Module, error) {
	by, err := w.bridge(m.Model) // without modules of its own, so that none waits for itself
	if err != nil {
		return module.Module{}, err
	}
	return module.Translate(module.TranslateOptions{Model: by, As: m.Model, Theirs: m.Theirs, Models: m.Models}), nil
}

func execModule(w *builder, name string, m *config.Module) (module.Module, error) {
	argv := slices.Clone(m.Command)
	program, err := exec.LookPath(argv[0])
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return module.Module{}, fmt.Errorf("command: %w", err)
	}
	if dir := w.config.DataDir(w.env.Getenv); dir != "" {
		held := &guarded.Store{File: filepath.Join(dir, config.GuardedFile)}
		if err := pendingFiles(held, commandFiles("", argv)); err != nil {
			return module.Module{}, err
		}
	}
	argv[0] = program
	settings := make(map[string]string)
	for key, v := range m.Settings {
		text, err := v.Resolve(w.env.Getenv)
		if err != nil {
			return module.Module{}, fmt.Errorf("settings.%s: %w", key, err)
		}
		settings[key] = text
	}
	o := module.ExecOptions{Name: name, Timeout: time.Duration(m.Timeout), Command: sandbox.Command{
		Argv: argv, Level: sandbox.Level(w.config.Sandbox.Level), Net: m.Network,
	}}
	if len(settings) > 0 {
		text, err := json.Marshal(settings)
		if err != nil {
			return module.Module{}, err
		}
		o.Settings = text
	}
	for _, h := range m.Hooks {
		o.Hooks = append(o.Hooks, module.Hook(h))
	}
	for _, r := range m.Roles {
		o.Roles = append(o.Roles, chat.Role(r))
	}
	return module.Exec(o)
}
