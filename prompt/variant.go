package prompt

import (
	"strings"

	"wield/chat"
	"wield/dialect"
)

// PTK is the name under which the Tool Calling Protocol has other tags.
const PTK = "ptk"

// A variant writes a dialect under the name that it was asked for. Only one dialect has two sets of tags:
// programs that call it ptk write <PTK_CALL> and PTK_RESULT where the Tool Calling Protocol itself has
// <TOOL_CALL> and TOOL_RESULT.
type variant struct {
	*dialect.Dialect
	ptk bool
}

// variantOf returns the variant for the name of a dialect, or one of its aliases.
func variantOf(name string) (variant, bool) {
	d, ok := dialect.Lookup(name)
	return variant{d, name == PTK}, ok
}

var ptkWords = strings.NewReplacer("TOOL_CALL", "PTK_CALL", "TOOL_RESULT", "PTK_RESULT")

// words returns words of ours, in which the tags are named.
func (v variant) words(s string) string {
	if v.ptk {
		return ptkWords.Replace(s)
	}
	return s
}

// AppendCalls appends calls as [dialect.Dialect.AppendCalls] does.
func (v variant) AppendCalls(dst []byte, calls []chat.Call) ([]byte, error) {
	if !v.ptk {
		return v.Dialect.AppendCalls(dst, calls)
	}
	start := len(dst)
	for i := range calls {
		b, err := v.Dialect.AppendCalls(nil, calls[i:i+1])
		if err != nil {
			return dst[:start], err
		}
		if i > 0 {
			dst = append(dst, '\n')
		}
		inner := strings.TrimSuffix(strings.TrimPrefix(string(b), "<TOOL_CALL>"), "</TOOL_CALL>")
		dst = append(dst, "<PTK_CALL>"+inner+"</PTK_CALL>"...)
	}
	return dst, nil
}

// AppendResultsAmong appends results as [dialect.Dialect.AppendResultsAmong] does.
func (v variant) AppendResultsAmong(dst []byte, results []chat.Result, tools []chat.Tool) []byte {
	if !v.ptk {
		return v.Dialect.AppendResultsAmong(dst, results, tools)
	}
	for i := range results {
		if i > 0 {
			dst = append(dst, '\n')
		}
		line := string(v.Dialect.AppendResultsAmong(nil, results[i:i+1], tools))
		dst = append(dst, "PTK_RESULT:"+strings.TrimPrefix(line, "TOOL_RESULT:")...)
	}
	return dst
}
