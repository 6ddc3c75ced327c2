package runs

import (
	"fmt"
	"path/filepath"

	"wield/internal/cli"
	"wield/internal/config"
	"wield/internal/terminal"
	"wield/tool/policy"
)

// rules returns the policy of a conversation, with the rules that were kept for its directory, to which the person
// can add.
func (f *chatFlags) rules(app *cli.App, r *config.Result, p *policy.Policy, o *terminal.Options) (
	*terminal.Rules, error) {
	dir := r.DataDir(app.Getenv)
	if dir == "" || f.unkept {
		return terminal.NewRules(p), nil
	}
	file := filepath.Join(dir, config.KeptRulesFile)
	kept, err := config.LoadKeptRules(file, o.Root)
	if err != nil {
		return nil, err
	}
	if len(kept) > 0 {
		if p, err = p.With(kept...); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		o.Kept = fmt.Sprintf("Rules kept for this directory: %d, in %s", len(kept), place(file, app.Getenv("HOME")))
	}
	rules := terminal.NewRules(p)
	rules.Lasting = func(rules []policy.Rule) error { return config.KeepRules(file, o.Root, rules) }
	return rules, nil
}
