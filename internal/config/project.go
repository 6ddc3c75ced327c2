package config

// ProjectFile is the name of the file in which a project makes wield's rules stricter for work inside it.
const ProjectFile = ".wield.yaml"

// A Project holds a project's file. It comes with the files of others, so it can forbid and ask, and
// nothing else.
type Project struct {
	Wield string       `key:"wield" enum:"config/v1" doc:"Version of the format: config/v1."`
	Deny  []Selector   `key:"deny" doc:"What never runs here."`
	Ask   []Selector   `key:"ask" doc:"What a person decides about here."`
	Tools ProjectTools `key:"tools" doc:"What is not on offer here."`
}

// ProjectTools switches tools off.
type ProjectTools struct {
	Disable []string `key:"disable" names:"tools" doc:"Tools never to offer; * is a wildcard."`
}

// LoadProject reads a project's file. The error is a Problems, or tells that the file cannot be read.
func LoadProject(file string) (*Project, Problems, error) {
	data, err := ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	p := &Project{}
	d := newDecoder(file)
	d.only = "a project's file holds deny, ask and tools.disable, nothing else"
	d.decode(data, p)
	for i, r := range p.rules() {
		name, n := "deny", i
		if n >= len(p.Deny) {
			name, n = "ask", n-len(p.Deny)
		}
		r.check(d, indexed(name, n))
	}
	errs, warnings := d.done().split()
	if len(errs) > 0 {
		return nil, nil, errs
	}
	return p, warnings, nil
}

// Tighten adds a project's rules to every policy of c, and to the one named default if c has none. Nothing becomes
// milder: what the project denies or asks about comes on top of what c says, and the strictest rule decides.
func (c *Config) Tighten(p *Project) {
	if len(c.Policies) == 0 {
		policy := Policy{}
		policy.setDefaults()
		put(&c.Policies, "default", policy)
	}
	rules := p.rules()
	for name, policy := range c.Policies {
		policy.Rules = append(append([]Rule(nil), rules...), policy.Rules...)
		c.Policies[name] = policy
	}
	c.Tools.Disable = append(c.Tools.Disable, p.Tools.Disable...)
}

// rules returns what the project denies and asks about as rules.
func (p *Project) rules() []Rule {
	var rules []Rule
	for i := range p.Deny {
		rules = append(rules, Rule{Deny: &p.Deny[i]})
	}
	for i := range p.Ask {
		rules = append(rules, Rule{Ask: &p.Ask[i]})
	}
	return rules
}
