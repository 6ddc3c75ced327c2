package tool

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"wield/tool/guarded"
	"wield/tool/policy"
	"wield/tool/sandbox"
)

// guarded lists what a process must not change: what the box names, and what decides or runs later in the
// directories of the person's that it may change.
func (c *Call) guarded(cmd *sandbox.Command) []string {
	var list []string
	dirs := cmd.Writable
	if cmd.Level == sandbox.None || cmd.Level == sandbox.Limits {
		dirs = append(dirs[:len(dirs):len(dirs)], c.Root) // no wall keeps it from there
	}
	for i, dir := range dirs {
		if dir == "" || slices.Contains(dirs[:i], dir) || dir == c.Temp || c.box.Cache != "" && strings.HasPrefix(dir+"/", c.box.Cache+"/") || slices.Contains(c.box.Writable, dir) {
			continue
		}
		list = append(list, guarded.Find(dir)...)
		for _, p := range c.box.Protected {
			if !strings.HasPrefix(dir+"/", p+"/") && !slices.Contains(list, p) { // a workspace among the tools would be closed as a whole
				list = append(list, p)
			}
		}
	}
	return list
}

// Closed lists what a process that may change these directories must not change, as far as a wall can keep it
// from there: a link can be replaced all the same.
func (b *Box) Closed(dirs ...string) []string {
	list := append(slices.DeleteFunc(slices.Clone(b.Protected), isLink), b.data()...)
	for _, dir := range dirs {
		list = append(list, guarded.Find(dir)...)
	}
	return list
}

// data returns wield's own directory at the one level where a process could reach it and mounts are made. Wield itself
// writes there meanwhile, so that there is nothing to compare.
func (b *Box) data() []string {
	if b.Level != sandbox.Limits || b.Data == "" {
		return nil
	}
	return []string{b.Data}
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// fence makes read-only what a process must not change. Git alone writes into a repository, and not even git
// what names programs there.
func (c *Call) fence(cmd *sandbox.Command, list []string) {
	git := onlyGit(cmd.Argv)
	cmd.Protected = append(cmd.Protected, c.box.data()...)
	for _, p := range list {
		if isLink(p) && slices.Contains(c.box.Protected, p) {
			continue // where it leads to is in the list too
		}
		if git && filepath.Base(p) == ".git" {
			cmd.Protected = append(cmd.Protected, guarded.Git(p)...)
		} else {
			cmd.Protected = append(cmd.Protected, p)
		}
	}
}

// besideGit are programs that may stand beside git in a line: they write nothing but what a redirection says.
var besideGit = []string{"cd", "echo", "printf", "true", "cat", "test", "["}

// onlyGit reports whether a command, or each one of a line for a shell, is git.
func onlyGit(argv []string) bool {
	if len(argv) != 3 || argv[1] != "-c" || filepath.Base(argv[0]) != "sh" {
		return len(argv) > 0 && filepath.Base(argv[0]) == "git"
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(argv[2]), "")
	only, git := err == nil, false
	if file == nil {
		return false
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			only = false
		case *syntax.Redirect:
			only = only && (n.Op == syntax.DplOut || n.Op == syntax.RdrIn || n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc || n.Word.Lit() == "/dev/null")
		case *syntax.CallExpr:
			if len(n.Args) == 0 || len(n.Assigns) > 0 {
				only = false
				break
			}
			name := n.Args[0].Lit()
			git = git || name == "git"
			only = only && (name == "git" || slices.Contains(besideGit, name))
		}
		return only
	})
	return only && git
}

// tell reports what a process has changed though it must not, where no wall held it, and holds it back.
func (c *Call) tell(changes []guarded.Change) {
	if len(changes) == 0 {
		return
	}
	var names []string
	for _, change := range changes {
		names = append(names, policy.Visible(change.Path))
	}
	text := "wield: changed, though it decides about tools or is run by other programs later: " + strings.Join(names, ", ") + ". Look at it; wield tool accept PATH agrees to it\n"
	if c.box.Held != nil {
		if err := c.box.Held.Hold(c.Name, changes); err != nil {
			text += "wield: " + err.Error() + "\n"
		}
	}
	c.progress(&ProgressDetail{CallID: c.ID, Stream: "wield", Text: text})
}
