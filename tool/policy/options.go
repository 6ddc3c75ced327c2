package policy

import (
	"slices"
	"strings"
)

// globals reads the options before a sub-command. Those that do nothing are not among the ones that are kept.
func (a *analysis) globals(p *program, words []field) (kept, rest []field) {
	for len(words) > 0 && words[0].known &&
		(strings.HasPrefix(words[0].text, "-") && (words[0].text != "--" || p.behind == "") ||
			p.global[words[0].text].declared) {
		o, name, value, joined := p.find(p.global, words[0].text)
		n := 1
		if !o.declared {
			o, name, value, joined = p.find(p.options, words[0].text)
		}
		if len(o.kinds) > 0 && !joined && !o.joined {
			n = min(1+len(o.kinds), len(words))
		}
		if !o.declared {
			n, o = a.oneOption(p, words)
		} else {
			a.option(o, name, value, joined, words[:n])
		}
		inside := len(o.kinds) == 1 && (o.kinds[0] == kindDir || o.kinds[0].lists()) // looked at by itself
		if !o.declared || !o.harmless() && !inside {
			kept = append(kept, words[:n]...)
		}
		words = words[n:]
	}
	return kept, words
}

// option records what an option as it is typed does. words are the option and the values behind it.
func (a *analysis) option(o option, name, value string, joined bool, words []field) {
	spelled := []string{name, words[0].text}
	if before, _, ok := strings.Cut(words[0].text, "="); ok {
		spelled = append(spelled, before)
	}
	if full, ok := strings.CutPrefix(name, spelled[len(spelled)-1]); ok && full != "" {
		a.notKnown(name, spelled) // the program may have another option that begins like this
	}
	a.does(o.effect, spelled)
	if joined {
		k := kindAny
		if len(o.kinds) > 0 {
			k = o.kinds[0]
		} else if !plainSetting.MatchString(value) {
			a.notKnown(name, spelled)
		}
		a.optionValue(k, field{text: value, known: words[0].known, tilde: strings.HasPrefix(value, "~")}, spelled)
		if value == "" && o.joined {
			a.byItself(o, spelled)
		}
		return
	}
	for i, w := range words[1:] {
		a.optionValue(o.kinds[i], w, spelled)
	}
	if o.joined { // without a value it does what it usually does
		a.byItself(o, spelled)
	}
}

// byItself records what an option does that could have a value and has none.
func (a *analysis) byItself(o option, spelled []string) {
	switch o.kinds[0] {
	case kindExec:
		a.effect(effectExec, spelled...)
	case kindNet:
		a.effect(effectNet, spelled...)
	case kindWrite:
		a.effect(effectWrite, spelled...)
	}
}

// does records the effect of an option.
func (a *analysis) does(e effect, spelled []string) {
	switch e {
	case effectNone, effectLook:
	case effectEdit:
		a.edits = true
		a.effect(effectWrite, spelled...)
	case effectRest:
		a.effect(effectExec, spelled...)
	default:
		a.effect(e, spelled...)
	}
}

// oneOption reads the option at the beginning of words, and returns how many words it takes, and what the
// table says of it.
func (a *analysis) oneOption(p *program, words []field) (n int, o option) {
	typed := words[0].text
	o, name, value, joined := p.find(p.options, typed)
	switch {
	case o.declared:
	case p.style == styleGo || p.style == styleCC || strings.HasPrefix(typed, "--"):
		a.unknown(p, name, value, joined, words)
		return 1, o
	default:
		return a.cluster(p, words)
	}
	n = 1
	if len(o.kinds) > 0 && !joined && !o.joined {
		n = min(1+len(o.kinds), len(words))
	}
	a.marks(p, name)
	a.option(o, name, value, joined, words[:n])
	if o.effect == effectExec && len(o.kinds) == 0 { // it may run the words behind it
		a.unknownWords(words[1:])
	}
	if !joined {
		a.behindOptional(o, words)
	}
	return n, o
}

// marks notes that an option takes the place of the first operand.
func (a *analysis) marks(p *program, name string) {
	if len(p.operands) > 0 && slices.Contains(patternOptions, name) && p.replaces(name, p.operands[0]) {
		a.pattern = true
	}
}

// notKnown records an option of which the table says nothing, or not with this value.
func (a *analysis) notKnown(name string, spelled []string) {
	a.uses = append(a.uses, use{kind: useEffect, text: name, flagged: effectUnknown, spelled: spelled})
}

// alwaysHarmless are options with which programs tell of themselves.
var alwaysHarmless = []string{"--help", "--version"}

// unknown records an option that the table does not have: what it takes may be a file that is written, or a
// program that runs.
func (a *analysis) unknown(p *program, name, value string, joined bool, words []field) {
	if !joined && (p.negated(name) || slices.Contains(alwaysHarmless, name)) {
		return
	}
	spelled := []string{name, words[0].text}
	a.notKnown(name, spelled)
	if isProse(name) {
		return
	}
	if p.wraps || p.subs != nil && !a.untabled {
		a.hide(words[1:])
	}
	a.unknownWords(words[1:])
	if joined {
		a.value(kindAny, field{text: value, known: true, tilde: strings.HasPrefix(value, "~")}, spelled)
		a.uses = append(a.uses, use{kind: useInside, text: value})
		return
	}
	a.mayTake(words)
}

// plainSetting is a value that names no file and no program.
var plainSetting = lazily(
	`^([0-9]+[A-Za-z%]?|true|false|yes|no|on|off|auto|always|never|none|all|short|long|full|json|text|)$`)

// mayTake records that the word behind an option that nobody knows may be its value, and a file that is written.
func (a *analysis) mayTake(words []field) {
	if len(words) > 1 && words[1].known && !strings.HasPrefix(words[1].text, "-") {
		a.value(kindAny, words[1], nil)
	}
}

// cluster reads short options that stand together, the last of which may take what is left, or the next word,
// as its value.
func (a *analysis) cluster(p *program, words []field) (n int, last option) {
	typed := words[0].text
	for i := 1; i < len(typed); i++ {
		name := typed[:1] + typed[i:i+1]
		o, ok := p.options[name]
		if !ok {
			a.unknownLetter(p, name, i, words)
			continue
		}
		spelled := []string{name, typed}
		a.marks(p, name)
		a.does(o.effect, spelled)
		if o.effect == effectRest || o.effect == effectLook {
			return 1, o
		}
		if len(o.kinds) == 0 {
			continue
		}
		if i+1 < len(typed) {
			value := typed[i+1:]
			a.optionValue(o.kinds[0], field{text: strings.TrimPrefix(value, "="), known: true,
				tilde: strings.HasPrefix(value, "~")}, spelled)
			return 1, option{}
		}
		if o.joined {
			a.byItself(o, spelled)
			return 1, option{}
		}
		n := min(1+len(o.kinds), len(words))
		for k, w := range words[1:n] {
			a.optionValue(o.kinds[k], w, spelled)
		}
		return n, o
	}
	return 1, option{}
}

// unknownLetter records a short option that the table does not have, the letter at i of the first word.
func (a *analysis) unknownLetter(p *program, name string, i int, words []field) {
	typed := words[0].text
	if p.wraps || p.subs != nil && !a.untabled {
		a.hide(words[1:])
	}
	if a.unknownWords(words[1:]); i == 1 {
		a.unknownWords(words) // what is joined to it may be its value
	}
	a.notKnown(name, []string{name, typed})
	switch {
	case i == 1 && strings.ContainsAny(typed[2:], "/~."): // a value
		a.value(kindAny, field{text: strings.TrimPrefix(typed[2:], "="), known: true, tilde: typed[2] == '~'}, nil)
	case i == len(typed)-1:
		a.mayTake(words)
	}
}

// joinedRest is the program that is joined to an option which runs the words behind it: -Xrm, --exec-batch=rm.
func (p *program) joinedRest(typed string) string {
	if strings.HasPrefix(typed, "--") {
		_, value, _ := strings.Cut(typed, "=")
		return value
	}
	for i := 1; i < len(typed); i++ {
		if p.options[typed[:1]+typed[i:i+1]].effect == effectRest {
			return strings.TrimPrefix(typed[i+1:], "=")
		}
	}
	return ""
}
