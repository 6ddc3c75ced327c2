//go:build !unix

package chromium

import "os/exec"

func apart(*exec.Cmd) {}

func reap(int, ...string) {}

// Running returns nothing on this system.
func Running(...string) []int { return nil }
