package dialecttest

import (
	"errors"
	"fmt"

	"wield/chat"
	"wield/dialect/internal/check"
)

// A Rule names what a check holds a dialect to.
type Rule string

// The rules. The first seven are about one text, the others about a dialect.
const (
	ruleNew          Rule = "new"          // a decoder can be made for the case
	rulePanic        Rule = "panic"        // no text makes a decoder panic
	ruleStructure    Rule = "structure"    // calls open and close in order, and their deltas are their arguments
	ruleConservation Rule = "conservation" // the spans cover the text, and what is shown is what stands there
	ruleSplit        Rule = "split"        // every split gives the events of the whole
	ruleReuse        Rule = "reuse"        // a decoder that was Reset reads as a fresh one does
	ruleCase         Rule = "case"         // what comes out is what the case wants

	ruleLinear  Rule = "linear"  // time and memory grow with the text, not with its square
	ruleProse   Rule = "prose"   // prose comes out as it is and costs no allocation
	ruleRender  Rule = "render"  // calls that were written are read back with the same names and arguments
	ruleResults Rule = "results" // no result is read as a call
	ruleTools   Rule = "tools"   // no definition is read as a call
)

// A Failure is one broken rule.
type Failure struct {
	Rule Rule
	Case string // id of the case, or what was tried
	Text string // what was decoded, if it was a text
	Cuts []int  // for ruleSplit: offsets of the cuts, as few as were found to fail
	Err  error  // what is wrong
}

func (f Failure) String() string {
	s := fmt.Sprintf("%s: %s: %v", f.Case, f.Rule, f.Err)
	if f.Text != "" {
		s += "\n\ttext " + check.Short(f.Text)
	}
	return s
}

// A textCheck looks at one text, given the events of the whole.
type textCheck struct {
	rule  Rule
	check func(r *reader, text string, whole []chat.Event) error
}

// textChecks hold for every text, the ones first that the others take for granted.
var textChecks = [...]textCheck{
	{ruleStructure, func(_ *reader, _ string, whole []chat.Event) error { return check.Structure(whole) }},
	{ruleConservation, func(_ *reader, text string, whole []chat.Event) error {
		return check.Conservation(text, whole)
	}},
	{ruleSplit, func(r *reader, text string, whole []chat.Event) error {
		return r.invariance(text, whole, splits(text))
	}},
	{ruleReuse, func(r *reader, text string, _ []chat.Event) error { return reuse(r.mk, text) }},
}

// blockChecks are textChecks with few splits, where every one would take too long.
var blockChecks = [...]textCheck{
	textChecks[0],
	textChecks[1],
	{ruleSplit, func(r *reader, text string, whole []chat.Event) error {
		return r.invariance(text, whole, blocks(text, 1, 4, 16))
	}},
}

// All checks a decoder over one text: structure, conservation, every split, and reuse after Reset.
func All(mk Maker, text string) error {
	return ruleError((&reader{mk: mk}).checkText(text, textChecks[:]))
}

// Quick is All with three splits, in blocks of 1, 4 and 16 bytes, and without reuse: for many or long texts.
func Quick(mk Maker, text string) error {
	return ruleError((&reader{mk: mk}).checkText(text, blockChecks[:]))
}

func ruleError(_ []chat.Event, f *Failure) error {
	if f == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", f.Rule, f.Err)
}

// checkText returns the events of the whole, and the first rule that is broken.
func (r *reader) checkText(text string, checks []textCheck) ([]chat.Event, *Failure) {
	whole, err := decodeFresh(r.mk, text)
	if err != nil {
		return nil, &Failure{Rule: rulePanic, Text: text, Err: err}
	}
	for _, c := range checks {
		err := c.check(r, text, whole)
		if err == nil {
			continue
		}
		f := &Failure{Rule: c.rule, Text: text, Err: err}
		var split *SplitError
		var reset *resetError
		switch {
		case errors.As(err, &split):
			f.Cuts = split.Cuts
		case errors.As(err, &reset):
			f.Rule = ruleReuse
		}
		return whole, f
	}
	return whole, nil
}
