package api

import (
	"encoding/json"
	"strings"

	"wield/tool/builtin/local"
)

// A CallPart is one part of a call that a person can refuse, so that the rest of it runs.
type CallPart struct {
	Path string `json:"path" jsonschema:"of the file that it changes"`
	What string `json:"what" jsonschema:"the file and how many lines come and go"`
	Diff string `json:"diff" jsonschema:"lines that begin with a minus, a plus or a blank"`
	Cut  bool   `json:"cut,omitempty" jsonschema:"the diff is longer than what is told"`
}

// maxParts limits the parts of a call that are shown; one with more is answered as a whole.
const maxParts = 500

// partsOf returns the parts of a call; nil: it has none that could be refused by themselves.
func partsOf(name string, arguments json.RawMessage) []CallPart {
	p := local.PartsOf(name, string(arguments))
	if p == nil || len(p.Paths) > maxParts {
		return nil
	}
	room := maxDiff
	var list []CallPart
	for i, path := range p.Paths {
		c := CallPart{Path: path, What: p.Summary(i), Diff: p.Diff(i)}
		if len(c.Diff) > room {
			c.Diff, c.Cut = strings.ToValidUTF8(c.Diff[:room], ""), true
		}
		room -= len(c.Diff)
		list = append(list, c)
	}
	return list
}

// without returns the arguments of a call without parts of it, and tells in words, for the model, which those are.
func without(name string, arguments json.RawMessage, refused []RefusedPart) (
	left json.RawMessage, told string, err error) {
	p := local.PartsOf(name, string(arguments))
	if p == nil {
		return nil, "", invalid("/refused", "this call has no parts").with("send other arguments")
	}
	var numbers []int
	why := map[int]string{}
	for _, r := range refused {
		if r.Part < 0 || r.Part >= len(p.Paths) {
			return nil, "", invalid("/refused", "there is no part %d: they are 0 to %d", r.Part, len(p.Paths)-1)
		}
		if len(r.Reason) > longestReason {
			return nil, "", invalid("/refused", "the reason of a part has at most %d bytes", longestReason)
		}
		numbers, why[r.Part] = append(numbers, r.Part), r.Reason
	}
	text, err := p.Without(numbers)
	if err != nil {
		return nil, "", err
	}
	if text == "" {
		return nil, "", invalid("/refused", "nothing of the call is left").with("deny it")
	}
	return json.RawMessage(text), p.Tell(numbers, why), nil
}
