package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const treeDetail = "the program alone; processes that it started are not reached"

func grouped() *syscall.SysProcAttr { return nil }

func askGroup(p *os.Process)  { p.Kill() }
func killGroup(p *os.Process) { p.Kill() }

func runnable(info fs.FileInfo) bool { return info.Mode().IsRegular() }

// candidates are the files that a name means: with its own ending, or one of those that Windows runs without a shell.
func candidates(file string) []string {
	if filepath.Ext(file) != "" {
		return []string{file}
	}
	return []string{file + ".exe", file + ".com"}
}
