package dialecttest

import (
	"wield/chat"
	"wield/dialect"
)

// A Suite checks a dialect: how it is read, over cases and over texts that the suite makes, and how it is written, if
// it is. The zero value checks package dialect over cases.
type Suite struct {
	// New returns what makes decoders for the tools of a case, and for what else the case says; nil: (*Case).Maker.
	// The cases of the texts that the suite makes hold nothing but an id and tools.
	New func(c *Case) (Maker, error)

	// Calls writes calls as a model would, one message's worth. An error says that the format cannot carry them. Nil:
	// the checks that write calls are left out.
	Calls func(calls []chat.Call) (string, error)
	// Results writes results for a prompt. Nil: not checked.
	Results func(results []chat.Result) string
	// Tools writes definitions for a prompt. Nil: not checked.
	Tools func(tools []chat.Tool) string

	// Alone says that a message of the format holds calls and nothing else, so that no prose is put around them.
	Alone bool
	// Rounds counts the random messages that are written and read back; 0: 100. They depend on nothing but this number.
	Rounds int

	cache  dialect.Cache // of decoders of package dialect
	reader reader
}

// defaultRounds is the number of random messages.
const defaultRounds = 100

// Run checks every case as Case does, and then all rules that are about the dialect as a whole. It returns what
// fails. Since it counts what the process allocates, nothing else should run beside it.
func (s *Suite) Run(cases []Case) []Failure {
	var failures []Failure
	for i := range cases {
		failures = append(failures, s.Case(&cases[i])...)
	}
	failures = append(failures, s.linear()...)
	failures = append(failures, s.prose()...)
	failures = append(failures, s.render()...)
	failures = append(failures, s.results()...)
	return append(failures, s.definitions()...)
}

// Case decodes the text of the case, compares what comes out with what is wanted, and checks all that holds for every
// text.
func (s *Suite) Case(c *Case) []Failure {
	mk, f := s.maker(c)
	if f != nil {
		return []Failure{*f}
	}
	var failures []Failure
	whole, f := s.reader.use(mk).checkText(c.Text, textChecks[:])
	if f != nil {
		f.Case = c.ID
		failures = append(failures, *f)
	}
	if f == nil || f.Rule != rulePanic {
		if err := c.Compare(whole); err != nil {
			failures = append(failures, Failure{Rule: ruleCase, Case: c.ID, Text: c.Text, Err: err})
		}
	}
	return failures
}

func (s *Suite) maker(c *Case) (Maker, *Failure) {
	makerOf := s.New
	if makerOf == nil {
		makerOf = func(c *Case) (Maker, error) { return c.maker(&s.cache) }
	}
	mk, err := makerOf(c)
	if err != nil {
		return nil, &Failure{Rule: ruleNew, Case: c.ID, Text: c.Text, Err: err}
	}
	return mk, nil
}

// made returns a maker for a text that the suite makes itself.
func (s *Suite) made(id string, tools []Tool) (Maker, *Failure) {
	return s.maker(&Case{ID: id, Tools: tools})
}
