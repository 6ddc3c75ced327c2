package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"wield/chat"
)

// A shell runs what it reads. Where the text stands in the command line it is judged as any other; where nobody knows
// it, the shell asks.

// A feed is what the standard input of a command gives.
type feed struct {
	text  string
	known bool
	piped bool // another program prints it
	rest  bool // it is what is left of a text that a shell runs

	denied *string // the name in it that a rule denies; nil: nobody has looked
}

// inputName is an input of the process, in the place of a file.
var inputName = lazily(`^(-|/dev/stdin|/dev/fd/\d+|/proc/[^/]+/fd/\d+)$`)

// inputFile is such an input as the value of an option.
var inputFile = lazily(`^(-[a-zA-Z]*f|--[a-z-]+=)(-|/dev/stdin|/dev/fd/\d+|/proc/[^/]+/fd/\d+)$`)

// fromInput judges what a program runs of what it reads.
func (e *eval) fromInput(a *analysis, sc scope, text, node string) {
	name := baseName(a.canonical[0].text)
	named := slices.ContainsFunc(a.canonical[1:], func(w field) bool { return inputName.MatchString(w.text) })
	fed := e.fed
	if fed != nil && fed.rest && a.readsOn(name) {
		e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "undecidable",
			name+" may read a part of the text that the shell runs, which goes on behind that part", nil)
	}
	switch {
	case a.unread:
		fed = nil
	case a.named:
	case a.reads && fed != nil:
	case named && (name == "source" || name == "."):
	default:
		return
	}
	if fed != nil && fed.known {
		e.fed = &feed{rest: true} // the commands in it read on in it
		e.shell(fed.text, sc)
		e.fed = fed
		if !fed.piped && !a.foreign {
			return
		}
	}
	e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "undecidable", name+" runs the text that it reads", nil)
}

// Programs that read their standard input, or a part of it: lineReaders whatever they are given, textReaders without a
// file, codeReaders with code in a word. A shell with the same input runs what they leave.
var (
	lineReaders = strings.Fields(`read readarray mapfile dd tee tr xargs ssh ftp sftp telnet nc ncat netcat socat ed ex vi
		vim less more passwd`)
	textReaders = strings.Fields(`cat tac rev nl head tail wc cut paste sort uniq grep egrep fgrep rg sed awk gawk mawk jq
		yq dc base xxd od hexdump hd strings fold fmt column expand unexpand tsort shuf pv split csplit patch`)
	codeReaders = strings.Fields(`python perl ruby node php lua Rscript tclsh bc`)
)

// readsOn reports whether a command may read a part of what the shell that runs it reads.
func (a *analysis) readsOn(name string) bool {
	words := a.canonical[1:]
	switch stem := strings.TrimRight(name, "0123456789."); {
	case slices.ContainsFunc(words, func(w field) bool { return w.text == "--version" || w.text == "--help" }):
		return false
	case slices.ContainsFunc(words, func(w field) bool { return inputName.MatchString(w.text) }):
		return true
	case slices.Contains(codeReaders, stem):
		return len(words) == 0 ||
			slices.ContainsFunc(words, func(w field) bool { return codeOption.MatchString(w.text) })
	default:
		return slices.Contains(lineReaders, stem) ||
			slices.Contains(textReaders, stem) && !slices.ContainsFunc(a.uses, use.isFile)
	}
}

// codeOption is one with code for an interpreter.
var codeOption = lazily(`^-[A-Za-z]*[ceErRnp]`)

// isFile reports whether it is a file that a word names.
func (u use) isFile() bool { return u.operand && (u.kind == usePath || u.kind == useMaybe) }

// feeds returns what the redirections of a statement make of its input.
func feeds(redirects []*syntax.Redirect, fed *feed) *feed {
	for _, r := range redirects {
		if r.N != nil && strings.Trim(r.N.Value, "0") != "" {
			continue
		}
		switch r.Op {
		case syntax.WordHdoc:
			text, known := staticWord(r.Word)
			fed = &feed{text: text, known: known}
		case syntax.Hdoc, syntax.DashHdoc:
			fed = hereText(r)
		case syntax.RdrIn:
			if fed = (&feed{}); r.Word.Lit() == "/dev/null" {
				fed = nil
			}
		case syntax.DplIn, syntax.RdrInOut:
			fed = &feed{}
		}
	}
	return fed
}

// leadingTabs are those that a shell takes from the lines of a here-document behind <<-.
var leadingTabs = lazily(`(?m)^\t+`)

// hereText is the text of a here-document, if nothing in it is expanded.
func hereText(r *syntax.Redirect) *feed {
	f := &feed{known: true}
	if r.Hdoc == nil {
		return f
	}
	for _, p := range r.Hdoc.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok {
			return &feed{}
		}
		f.text += l.Value
	}
	if r.Op == syntax.DashHdoc {
		f.text = leadingTabs.regexp().ReplaceAllString(f.text, "")
	}
	delimiter, plain := staticWord(r.Word)
	quoted := !plain || r.Word.Lit() != delimiter
	f.known = quoted || !strings.Contains(f.text, `\`)
	return f
}

// prints is what the stages of a pipe hand on.
func prints(stages []*syntax.Stmt) *feed {
	f := &feed{piped: true}
	if len(stages) != 1 {
		return f
	}
	c, ok := stages[0].Cmd.(*syntax.CallExpr)
	if !ok || len(c.Assigns) > 0 || stages[0].Negated || stages[0].Background {
		return f
	}
	if len(c.Args) == 1 && c.Args[0].Lit() == "cat" && len(stages[0].Redirs) == 1 {
		if fed := feeds(stages[0].Redirs, nil); fed != nil {
			f.text, f.known = fed.text, fed.known
		}
		return f
	}
	words := staticWords(stages[0])
	if len(words) > 1 && words[0] == "echo" || len(words) == 2 && words[0] == "printf" {
		text := strings.ReplaceAll(strings.Join(words[1:], " "), `\n`, "\n")
		f.text, f.known = text, !strings.ContainsAny(text, `\%`) && !strings.HasPrefix(text, "-")
	}
	return f
}

// onlyExec reports whether the redirections of a statement are those of the shell itself from then on.
func onlyExec(s *syntax.Stmt) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	for i, w := range c.Args {
		text, _ := staticWord(w)
		if bare := w.Lit(); bare != "" {
			text = strings.ReplaceAll(bare, `\`, "")
		}
		switch {
		case text == "exec": // with its options, and nothing that takes the place of the shell
			return !slices.ContainsFunc(c.Args[i+1:], func(w *syntax.Word) bool {
				return !strings.HasPrefix(w.Lit(), "-")
			})
		case text != "command" && text != "builtin" && !strings.HasPrefix(text, "-"):
			return false
		}
	}
	return false
}
