package responsetemplate

import (
	"fmt"
	"regexp/syntax"
	"strings"
)

// A part is a piece of a pattern: a literal, white space that may stand there, or a capture.
type part struct {
	literal string
	blanks  bool
	capture string // the name of the group
	digits  bool   // a number, which means nothing
}

// split takes a pattern apart. What is neither literal, nor white space, nor a capture of a name, a key or a value is
// an error.
func split(place, pattern string) ([]part, error) {
	re, err := syntax.Parse(pattern, syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil, &Error{place, fmt.Sprintf("wield reads no such pattern: %v", err)}
	}
	return parts(place, re)
}

func parts(place string, re *syntax.Regexp) (list []part, err error) {
	unread := func() ([]part, error) {
		return nil, &Error{place, fmt.Sprintf("wield reads literals, white space and captures, and not %s", re)}
	}
	switch re.Op {
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			more, err := parts(place, sub)
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
		}
		return join(list), nil
	case syntax.OpEmptyMatch:
		return nil, nil
	case syntax.OpEndText, syntax.OpEndLine: // the end of the answer ends everything
		return nil, nil
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return unread()
		}
		return []part{{literal: string(re.Rune)}}, nil
	case syntax.OpCapture:
		switch re.Name {
		case "name", "key", "value":
			return []part{{capture: re.Name}}, nil
		case "":
			return parts(place, re.Sub[0])
		case "id", "index", "call_id":
			return []part{{digits: true}}, nil
		}
		return nil, &Error{place, fmt.Sprintf("wield knows no capture %q; it reads name, key and value", re.Name)}
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		switch sub := re.Sub[0]; {
		case white(sub):
			return []part{{blanks: true}}, nil
		case numeric(sub) && re.Op != syntax.OpQuest:
			return []part{{digits: true}}, nil
		}
	case syntax.OpCharClass:
		switch {
		case white(re):
			return []part{{blanks: true}}, nil
		case numeric(re):
			return []part{{digits: true}}, nil
		}
	}
	return unread()
}

// join puts literals together that follow one another.
func join(list []part) (joined []part) {
	for _, p := range list {
		if n := len(joined); n > 0 && p.literal != "" && joined[n-1].literal != "" {
			joined[n-1].literal += p.literal
			continue
		}
		joined = append(joined, p)
	}
	return joined
}

// white reports whether the expression is a byte of white space.
func white(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return strings.TrimSpace(string(re.Rune)) == ""
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if r > ' ' {
					return false
				}
			}
		}
		return true
	}
	return false
}

// numeric reports whether the expression is a digit.
func numeric(re *syntax.Regexp) bool {
	return re.Op == syntax.OpCharClass && len(re.Rune) == 2 && re.Rune[0] == '0' && re.Rune[1] == '9'
}

// trim takes white space off both ends.
func trim(list []part) []part {
	for len(list) > 0 && list[0].blanks {
		list = list[1:]
	}
	for len(list) > 0 && list[len(list)-1].blanks {
		list = list[:len(list)-1]
	}
	return list
}

// alternatives returns the literals that a pattern stands for.
func alternatives(place, pattern string) ([]string, error) {
	re, err := syntax.Parse(pattern, syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil, &Error{place, fmt.Sprintf("wield reads no such pattern: %v", err)}
	}
	list, ok := expand(re)
	if !ok {
		return nil, &Error{place, fmt.Sprintf("wield reads literals there, and not %s", re)}
	}
	return list, nil
}

// maxAlternatives bounds the literals of one pattern.
const maxAlternatives = 32

// expand returns the texts that an expression stands for, white space aside.
func expand(re *syntax.Regexp) (list []string, ok bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}, re.Flags&syntax.FoldCase == 0
	case syntax.OpEmptyMatch, syntax.OpEndText, syntax.OpEndLine:
		return []string{""}, true
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		return []string{""}, white(re.Sub[0])
	case syntax.OpCapture:
		return expand(re.Sub[0])
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			more, ok := expand(sub)
			if !ok {
				return nil, false
			}
			list = append(list, more...)
		}
		return list, len(list) <= maxAlternatives
	case syntax.OpConcat:
		list = []string{""}
		for _, sub := range re.Sub {
			tails, ok := expand(sub)
			if !ok || len(list)*len(tails) > maxAlternatives {
				return nil, false
			}
			var all []string
			for _, head := range list {
				for _, tail := range tails {
					all = append(all, head+tail)
				}
			}
			list = all
		}
		return list, true
	}
	return nil, false
}
