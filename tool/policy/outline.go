package policy

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A Part is a node of the syntax tree of a command line that means something to a person who reads it.
type Part struct {
	Kind     string // type of the node, such as CallExpr, BinaryCmd or Redirect
	Node     string // its type and place, as in Finding.Node
	Op       string // of a list, a pipe, a redirection: what is written between
	From, To int    // bytes of the command line
	Depth    int    // how many parts it stands in
}

// maxParts bounds what Outline returns.
const maxParts = 1000

// Outline returns the parts of a command line as it is judged, each before those that stand in it. Of a line that
// cannot be read to its end the error says why; the parts before that place are there. cut says that there are more
// parts than are returned.
func Outline(line string) (parts []Part, cut bool, err error) {
	if len(line) > maxShell {
		return nil, true, fmt.Errorf("a command line of more than %d KiB", maxShell>>10)
	}
	file, err := readShell(line, syntax.LangBash)
	if err != nil {
		err = fmt.Errorf("the command line cannot be read: %s", strings.TrimPrefix(err.Error(), ":"))
	}
	if file == nil {
		return nil, false, err
	}
	var open []bool // for each node that is being walked, whether it is a part
	depth := 0
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			last := len(open) - 1
			if open[last] {
				depth--
			}
			open = open[:last]
			return true
		}
		part, ok := partOf(n, len(line))
		if ok && len(parts) == maxParts {
			ok, cut = false, true
		}
		if ok {
			part.Depth = depth
			parts, depth = append(parts, part), depth+1
		}
		open = append(open, ok)
		return true
	})
	return parts, cut, err
}

// partOf returns a node as a part. Words and the letters in them are none: they are seen as they are.
func partOf(n syntax.Node, end int) (Part, bool) {
	op := ""
	switch n := n.(type) {
	case *syntax.File, *syntax.Stmt, *syntax.Word, *syntax.Lit, *syntax.Comment, *syntax.SglQuoted, *syntax.DblQuoted:
		return Part{}, false
	case *syntax.CallExpr:
		if len(n.Args) == 0 && len(n.Assigns) == 0 {
			return Part{}, false
		}
	case *syntax.BinaryCmd:
		op = n.Op.String()
	case *syntax.Redirect:
		op = n.Op.String()
	}
	p := Part{Node: nodeName(n), Op: op, From: int(n.Pos().Offset()), To: int(n.End().Offset())}
	p.Kind, _, _ = strings.Cut(p.Node, " ")
	return p, p.From < p.To && p.To <= end
}
