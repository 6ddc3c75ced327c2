package builtin

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// vetTool stands before the vet of the go command. Of Go's own packages a check wants only what they say about others'
// calls, and vet knows that of all but two without reading them: for the rest it writes that there is nothing. Reading
// them costs seconds, once in every workspace.
const vetTool = `#!/bin/sh
for config; do :; done
case $config in
*.cfg)
	facts= standard= written=
	while read -r line; do
		case $line in
		'"VetxOnly": true,') facts=1 ;;
		'"ModulePath": "",') standard=1 ;;
		'"ImportPath": "log",' | '"ImportPath": "testing",') standard=0 ;;
		'"VetxOutput": "'*'",') written=${line#*: \"} written=${written%\",} ;;
		esac
		[ "$standard" = 0 ] && break
	done <"$config"
	if [ "$facts$standard" = 11 ] && [ -n "$written" ]; then
		: >"$written"
		exit
	fi
	;;
esac
exec go tool vet "$@"
`

// writeVetTool writes a program for go vet -vettool, which checks packages as go vet does and does not read Go's own.
// The caller removes its directory. It is a script of the shell: a program that takes longer to start would cost what
// it saves.
func writeVetTool() (path string, err error) {
	if runtime.GOOS == "windows" {
		return "", errors.ErrUnsupported
	}
	dir, err := os.MkdirTemp("", "wield-vet-*")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "vet")
	if err = os.WriteFile(path, []byte(vetTool), 0o700); err != nil {
		os.RemoveAll(dir)
	}
	return path, err
}
