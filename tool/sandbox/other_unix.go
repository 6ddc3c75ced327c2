//go:build unix && !linux

package sandbox

import (
	"io/fs"
	"os"
	"syscall"
)

const treeDetail = "the process group; processes that leave it are not reached"

func grouped() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func askGroup(p *os.Process)  { syscall.Kill(-p.Pid, syscall.SIGTERM) }
func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }

func runnable(info fs.FileInfo) bool { return info.Mode().IsRegular() && info.Mode()&0o111 != 0 }

func candidates(file string) []string { return []string{file} }
