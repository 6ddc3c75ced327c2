package dialecttest

import (
	"slices"

	"wield/chat"
	"wield/dialect/internal/check"
)

// hostile returns what the suite puts into texts.
func (s *Suite) hostile() []string { return check.Compact(slices.Concat(s.markers(), check.Hostile())) }

// markers returns the literals of the format, as far as they are known.
func (s *Suite) markers() []string {
	var all []string
	if s.Calls != nil {
		call := chat.Call{ID: "call_0", Name: check.HostileTool, Arguments: `{"path":"x-x"}`, Complete: true}
		if text, err := s.Calls([]chat.Call{call}); err == nil {
			all = append(all, check.Around(text, check.HostileTool, "x-x")...)
		}
	}
	return check.Compact(all)
}
