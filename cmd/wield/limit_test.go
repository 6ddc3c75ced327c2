//go:build linux || darwin

package main

import (
	"os/signal"
	"strconv"
	"syscall"
)

// limitFiles makes a disk of this process full: no file gets larger than so many bytes.
func limitFiles(bytes string) {
	n, err := strconv.ParseUint(bytes, 10, 32)
	if err != nil {
		return
	}
	signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit fails then
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
	limit.Cur = n
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
}
