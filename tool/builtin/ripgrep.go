package builtin

import (
	"bytes"
	"context"
	"regexp/syntax"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"wield/tool"
	"wield/tool/sandbox"
)

// Where ripgrep is used.
const (
	// files that are searched here first; to start a program for fewer takes longer than to read them
	grepAfter = 512
	grepFiles = 4096      // that are looked at by one program
	grepNames = 256 << 10 // bytes of their names
	grepSize  = 8 << 20   // of a file; ripgrep keeps whole lines, and a larger file may be a single one
)

// A grep finds out quickly which of many files cannot have a match, with the help of ripgrep. It is given names that
// have been allowed, and says nothing but which of them hold a text that every match holds: the files themselves are
// opened and searched as they are without it, so that results are the same, and whoever swaps a file meanwhile gains
// nothing.
type grep struct {
	call  *tool.Call
	dir   string
	texts []string // each match holds one of them
	fold  bool     // upper and lower case are alike
}

// newGrep returns nil if nothing is known that all matches hold.
func newGrep(c *tool.Call, dir, expr string) *grep {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil || runtime.GOOS == "windows" { // where a command line is too short for names
		return nil
	}
	g := &grep{call: c, dir: dir}
	if g.texts = g.held(re); g.texts == nil {
		return nil
	}
	return g
}

// held returns texts of which every match of an expression holds at least one; nil if there are none.
func (g *grep) held(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return g.literal(re)
	case syntax.OpCapture, syntax.OpPlus:
		return g.held(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return g.held(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if texts := g.held(sub); shortest(texts) > shortest(best) {
				best = texts
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			texts := g.held(sub)
			if texts == nil {
				return nil
			}
			all = append(all, texts...)
		}
		return all
	}
	return nil
}

// literal returns a text that ripgrep finds wherever package regexp does. Beyond ASCII they may not agree on what is
// alike in upper and lower case, and U+FFFD also stands for bytes that are no character.
func (g *grep) literal(re *syntax.Regexp) []string {
	fold := re.Flags&syntax.FoldCase != 0
	for _, r := range re.Rune {
		if r == '\n' || r == 0 || r == utf8.RuneError || fold && r > unicode.MaxASCII {
			return nil
		}
	}
	g.fold = g.fold || fold
	return []string{string(re.Rune)}
}

func shortest(texts []string) int {
	n := 0
	for i, s := range texts {
		if i == 0 || len(s) < n {
			n = len(s)
		}
	}
	return n
}

// candidates returns the names, relative to the directory, of those files that may have a match. If ripgrep is not
// there or does not do what is expected of it, it reports false, and any of them may.
func (g *grep) candidates(ctx context.Context, names []string) (map[string]bool, bool) {
	// Whatever a person's configuration says, all bytes of all these files are searched as they are.
	argv := []string{"rg", "--no-config", "--files-with-matches", "--null", "--text", "--encoding=none", "--no-mmap",
		"--no-messages", "--color=never", "--fixed-strings"}
	if g.fold {
		argv = append(argv, "--ignore-case")
	} else {
		argv = append(argv, "--case-sensitive")
	}
	for _, s := range g.texts {
		argv = append(argv, "--regexp="+s)
	}
	argv = append(argv, "--")
	for _, name := range names {
		argv = append(argv, "./"+name)
	}
	cmd := g.call.Command(argv...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout = g.dir, &out
	cmd.Limits.Output = 2 * grepNames
	if !slices.Contains(cmd.Readable, g.dir) {
		cmd.Readable = append([]string{g.dir}, cmd.Readable...)
	}
	// It is no program that the call asked for, so that nobody is shown its output.
	exit, err := sandbox.Run(ctx, cmd)
	if err != nil || exit.Signal != "" || exit.Truncated || exit.Code != 0 && exit.Code != 1 { // 1: no file has it
		return nil, false
	}
	found := make(map[string]bool)
	for name := range strings.SplitSeq(out.String(), "\x00") {
		found[strings.TrimPrefix(name, "./")] = true
	}
	return found, true
}
