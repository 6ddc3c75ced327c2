// Types checks that packages compile for another system: `types windows ./...`. It reads the types of every package
// from its source, tests included: nothing is built for that system.
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: types SYSTEM PACKAGE...")
		os.Exit(2)
	}
	found, err := packages.Load(&packages.Config{
		Mode:  packages.LoadAllSyntax,
		Env:   append(os.Environ(), "CGO_ENABLED=0", "GOOS="+os.Args[1]),
		Tests: true,
	}, os.Args[2:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if packages.PrintErrors(found) > 0 || len(found) == 0 {
		os.Exit(1)
	}
	fmt.Println(len(found), "packages")
}
