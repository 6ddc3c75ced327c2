package config

import (
	"maps"
	"slices"
	"strings"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/profile"
	"wield/schema/near"
)

// A Profile describes a family of models: one of your own, or changes to a built-in one.
type Profile struct {
	Base         string    `key:"base" doc:"Built-in profile to start from. Empty: the one of this name."`
	Match        []string  `key:"match" doc:"Patterns of model names."`
	Dialects     []Dialect `key:"dialects" doc:"Dialects, likeliest first. The first is taught."`
	Reasoning    Reasoning `key:"reasoning" doc:"How the models think."`
	Drop         []string  `key:"drop" doc:"Further tokens to remove from text."`
	Headers      Headers   `key:"headers" doc:"Turn headers of the chat template. After another party's header nothing is a call."`
	Native       []string  `key:"native" doc:"Tools that the server runs but reports as function calls."`
	BounceRole   string    `key:"bounce_role" enum:"user|system" doc:"Role of corrective messages."`
	StripsTokens *bool     `key:"strips_tokens" doc:"The server removes special tokens, so teach a dialect without."`
}

// Headers are those of a chat template.
type Headers struct {
	Others []string `key:"others" doc:"Headers of user, system and tools, such as <|im_start|>user."`
	Own    []string `key:"own" doc:"Headers of the model, such as <|im_start|>assistant."`
}

// Reasoning says how models think.
type Reasoning struct {
	Open   string `key:"open" doc:"Opening tag."`
	Close  string `key:"close" doc:"Closing tag."`
	Starts *bool  `key:"starts" doc:"Responses start inside a reasoning block."`
	Calls  string `key:"calls" enum:"unclosed|never|always" doc:"Whether calls inside reasoning count. unclosed: if the block never closes."`
	Ignore *bool  `key:"ignore" doc:"Leave reasoning tags in the text."`
}

// The values of models.NAME.profile that name no profile.
const (
	profileAuto = "auto" // found by the name of the model
	profileNone = "none"
)

// resolve returns the profile that p describes under the name.
func (p *Profile) resolve(name string) profile.Profile {
	base := p.Base
	if base == "" {
		base = name
	}
	r, _ := profile.Lookup(base)
	if base != name {
		same, _ := profile.Lookup(name)
		r.Patterns = same.Patterns
	}
	r.Name = name
	if p.Match != nil {
		r.Patterns = p.Match
	}
	if len(p.Dialects) > 0 {
		r.Dialects = nil
		for _, d := range p.Dialects {
			r.Dialects = append(r.Dialects, string(d))
		}
	}
	if p.Drop != nil {
		r.Drop = p.Drop
	}
	if p.Headers.Others != nil {
		r.Headers.Others = p.Headers.Others
	}
	if p.Headers.Own != nil {
		r.Headers.Own = p.Headers.Own
	}
	if p.Native != nil {
		r.Native = p.Native
	}
	if p.BounceRole != "" {
		r.Role = chat.Role(p.BounceRole)
	}
	if p.StripsTokens != nil {
		r.Strips = *p.StripsTokens
	}
	p.Reasoning.apply(&r.Thinking)
	return r
}

func (r *Reasoning) apply(t *dialect.Thinking) {
	if r.Close != "" {
		t.Opener, t.Closer = r.Open, r.Close
	}
	if r.Starts != nil {
		t.Open = *r.Starts
	}
	if r.Ignore != nil {
		t.Off = *r.Ignore
	}
	if calls, ok := dialect.ParseThinkingCalls(r.Calls); ok {
		t.Calls = calls
	}
}

// ProfileTable returns the profiles that models are found in: those of the file, the ones whose patterns say
// most first, and then the built-in ones, as far as the file does not change them.
func (c *Config) ProfileTable() profile.Table {
	table := profile.Builtin()
	var own profile.Table
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		p := c.Profiles[name]
		if i := slices.Index(table.Names(), name); i >= 0 {
			table[i] = p.resolve(name)
		} else {
			own = append(own, p.resolve(name))
		}
	}
	own.Sort()
	return append(own, table...)
}

// ProfileFor returns the profile of a model whose server calls it by the name upstream.
//
// One that was only found by the name never says that text begins in reasoning, unless the file does: where
// the guess is wrong, the whole answer would be taken for reasoning, and the client would see none.
func (c *Config) ProfileFor(m *Model, upstream string) profile.Profile {
	table := c.ProfileTable()
	switch m.Profile {
	case profileNone:
		return profile.Profile{}
	case profileAuto, "":
		p, _, _ := table.Find(upstream)
		p.Thinking.Open = p.Thinking.Open && c.Profiles[p.Name].Reasoning.Starts != nil
		return p
	}
	p, _ := table.Lookup(m.Profile)
	return p
}

// ProfileOf returns the profile of the model that clients call by this name. The zero Profile is that of one with none.
func (c *Config) ProfileOf(name string) profile.Profile {
	m := c.Models[name]
	if m.Model != "" {
		name = m.Model
	}
	return c.ProfileFor(&m, name)
}

// checkProfiles looks at the profiles of the file.
func (c *Config) checkProfiles(d *decoder) {
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		p := c.Profiles[name]
		path := "profiles." + name
		if name == profileAuto || name == profileNone {
			d.at(path, "%s cannot be the name of a profile: as models.NAME.profile it has a meaning of its own", name)
		}
		if _, ok := profile.Lookup(p.Base); !ok && p.Base != "" {
			d.at(path+".base", "no built-in profile %q%s (see: wield dialect profile)", p.Base,
				near.Hint(p.Base, profile.Builtin().Names()))
		}
		p.check(d, path)
		if _, builtin := profile.Lookup(name); !builtin && len(p.Match) == 0 && !c.names(name) {
			d.warn(path, "no model gets this profile: give it match, or name it in models.NAME.profile")
		}
	}
}

// names reports whether a model names the profile.
func (c *Config) names(name string) bool {
	for _, m := range c.Models {
		if m.Profile == name {
			return true
		}
	}
	return false
}

func (p *Profile) check(d *decoder, path string) {
	for i, pattern := range p.Match {
		if !profile.HasWords(pattern) {
			d.at(indexed(path+".match", i), "the pattern has no word, so that it fits no name")
		}
	}
	for i, name := range p.Dialects {
		at := indexed(path+".dialects", i)
		switch row, ok := dialect.Lookup(string(name)); {
		case name == profileAuto:
			d.at(at, "auto is no dialect; to prefer none, leave the key out")
		case ok && row.ByName:
			d.at(at, "%s is on by name only and cannot be one of several; write it as models.NAME.dialect", name)
		case ok && slices.Index(p.Dialects, name) < i:
			d.at(at, "%s stands in the list for the second time", name)
		}
	}
	if p.Reasoning.Open != "" && p.Reasoning.Close == "" {
		d.at(path+".reasoning.open", "the key close is missing: the tag that ends the block")
	}
	for key, list := range map[string][]string{".drop": p.Drop, ".native": p.Native,
		".headers.others": p.Headers.Others, ".headers.own": p.Headers.Own} {
		for i, s := range list {
			if strings.TrimSpace(s) == "" {
				d.at(indexed(path+key, i), "the entry is empty")
			}
		}
	}
}

// checkProfile looks at the profile that a model names.
func (m *Model) checkProfile(d *decoder, path string, c *Config) {
	if m.Profile == profileAuto || m.Profile == profileNone {
		return
	}
	table := c.ProfileTable()
	if _, ok := table.Lookup(m.Profile); !ok {
		d.at(path, "no profile %q%s (see: wield dialect profile)", m.Profile,
			near.Hint(m.Profile, append(table.Names(), profileAuto, profileNone)))
	}
}
