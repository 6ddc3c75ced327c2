// Command wield gives any language model working tools. It serves the gateway, reads calls out of text, and plays
// scripted models; "wield help" lists its commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"wield/internal/cli"
	"wield/internal/gocache"
	"wield/tool/sandbox"
)

func main() {
	sandbox.Main() // never returns in a process that was started to hold others
	gocache.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], cli.OS()))
}
