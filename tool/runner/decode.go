package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"wield/chat"
	"wield/dialect"
	"wield/schema"
	"wield/schema/shape"
	"wield/tool"
	"wield/tool/internal/value"
)

// Bounds on what a call may hold.
const (
	maxArguments = 1 << 20
	maxCallID    = 256
	maxKeys      = 4096
)

// arguments reads the arguments of a call: strict JSON that fits the schema. What does not is repaired as far as the
// level says, and each repair is a note.
func (e *Entry) arguments(raw string, level dialect.Repair) (string, []chat.NoteDetail, *tool.Error) {
	if len(raw) > maxArguments {
		return "", nil, e.invalid("Invalid arguments: they have %d bytes, and may have %d", len(raw), maxArguments)
	}
	var found []schema.Violation
	err := strictObject(raw)
	if err == nil {
		if found = e.schema.Validate(raw); found == nil {
			return raw, nil, e.checkKeys(raw)
		}
	}
	if level == dialect.RepairOff && err != nil {
		return "", nil, e.invalid("Invalid arguments: %v", err)
	}
	if err == nil && level != dialect.RepairOff {
		if without, note := e.withoutNulls(raw); note != nil && e.schema.Validate(without) == nil {
			return without, note, e.checkKeys(without)
		}
	}
	repaired, notes, failed := dialect.Arguments(raw, e.schema.Shape(), level)
	switch {
	case failed != nil && err != nil:
		return "", nil, e.invalid("Invalid arguments: %v", err)
	case failed != nil:
		return "", nil, e.violated(found)
	}
	if err := strictObject(repaired); err != nil {
		return "", nil, e.invalid("Invalid arguments: %v", err)
	}
	if found = e.schema.Validate(repaired); found != nil {
		return "", nil, e.violated(found)
	}
	return repaired, notes, e.checkKeys(repaired)
}

// withoutNulls leaves out optional arguments that are null where null is not allowed: that is how models say that
// there is none.
func (e *Entry) withoutNulls(raw string) (string, []chat.NoteDetail) {
	args := value.Members(json.RawMessage(raw))
	var notes []chat.NoteDetail
	kept := slices.DeleteFunc(args, func(m value.Member) bool {
		for _, p := range e.schema.Shape().Props {
			if p.Name == m.Name && !p.Required && string(m.Value) == "null" && p.Shape.Type() != 0 &&
				!p.Shape.Type().Has(shape.Null) {
				notes = append(notes, chat.NoteDetail{Kind: chat.NoteDropped, Path: "/" + m.Name, Before: "null"})
				return true
			}
		}
		return false
	})
	if notes == nil {
		return raw, nil
	}
	b := []byte{'{'}
	for i, m := range kept {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, value.Quote(m.Name)...), ':'), m.Value...)
	}
	return string(append(b, '}')), notes
}

func (e *Entry) invalid(format string, args ...any) *tool.Error {
	err := tool.Errorf(tool.ErrInvalid, format, args...)
	err.Tool = e.Tool.Name()
	return err
}

var errNoObject = errors.New("they must be a JSON object")

// strictObject reports why text is no object that every reader of JSON understands in the same way.
func strictObject(text string) error {
	if t := strings.TrimLeft(text, " \t\r\n"); t == "" || t[0] != '{' {
		return errNoObject
	}
	return schema.Check(text)
}

// maxTold limits the violations that a message tells of.
const maxTold = 5

// violated returns the error about arguments that do not fit. A parameter that is missing comes first: it is what
// models get wrong most, and mend best.
func (e *Entry) violated(found []schema.Violation) *tool.Error {
	for _, v := range found {
		if v.Missing != "" && strings.Count(v.Pointer, "/") == 1 {
			err := e.invalid("Missing required parameter: %s", v.Missing)
			err.Code = violationCodes["required"]
			return err
		}
	}
	var told []string
	for _, v := range found[:min(len(found), maxTold)] {
		told = append(told, v.String())
	}
	if more := len(found) - len(told); more > 0 {
		told = append(told, fmt.Sprintf("and %d more", more))
	}
	err := e.invalid("Invalid arguments: %s", strings.Join(told, "; "))
	err.Code = violationCodes[found[0].Keyword]
	return err
}

// violationCodes are the codes of the keywords of JSON Schema that models break most.
var violationCodes = map[string]string{
	"required": "MISSING_REQUIRED", "dependentRequired": "MISSING_REQUIRED",
	"additionalProperties": "UNKNOWN_PARAM", "unevaluatedProperties": "UNKNOWN_PARAM",
	"type": "TYPE_MISMATCH", "enum": "INVALID_ENUM", "const": "INVALID_ENUM",
}

// checkKeys refuses arguments with more names than any tool needs, or with names that are more than a name in
// JavaScript and that the schema does not ask for.
func (e *Entry) checkKeys(text string) *tool.Error {
	if strings.Count(text, ":") <= maxKeys && !suspicious(text) {
		return nil
	}
	dec := jsontext.NewDecoder(strings.NewReader(text))
	for n := 0; ; {
		tok, err := dec.ReadToken()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return e.invalid("Invalid arguments: %v", err)
		}
		kind, length := dec.StackIndex(dec.StackDepth())
		if kind != '{' || length%2 == 0 || tok.Kind() != '"' {
			continue
		}
		name := tok.String()
		if n++; n > maxKeys {
			return e.invalid("Invalid arguments: they have more than %d names", maxKeys)
		}
		for _, r := range reserved {
			if _, declared := e.schema.Shape().Prop(name); name == r && !declared {
				return e.invalid("Invalid arguments: the name %s is not allowed", name)
			}
		}
	}
}

// suspicious reports whether text may hold one of the reserved names. It may be hidden behind escapes.
func suspicious(text string) bool {
	return strings.Contains(text, "__proto__") || strings.Contains(text, "onstructor") ||
		strings.Contains(text, "rototype") || strings.Contains(text, `\u`)
}

// checkCall refuses a call that cannot be told from others or that the model did not finish.
func checkCall(c *chat.Call) *tool.Error {
	if !c.Complete {
		return tool.Errorf(tool.ErrInvalid, "The call was not complete and was not run")
	}
	if len(c.ID) > maxCallID || strings.ContainsFunc(c.ID, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return tool.Errorf(tool.ErrInvalid, "The id of the call is too long or holds characters that are not shown")
	}
	return nil
}
