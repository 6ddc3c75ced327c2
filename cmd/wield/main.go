// Command wield gives any language model working tools. It serves the gateway, reads calls out of text, and plays
// scripted models; "wield help" lists its commands.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], osApp()))
}
