package guarded

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Way returns the links that lead to a file, and last the file itself, free of links. Who replaces one of them
// replaces the file.
func Way(path string) []string {
	var links []string
	at := filepath.VolumeName(path) + string(filepath.Separator)
	for rest := names(path); len(rest) > 0; {
		next := filepath.Join(at, rest[0])
		target, err := os.Readlink(next)
		if rest = rest[1:]; err != nil || len(links) == mostLinks {
			at = next
			continue
		}
		if links = append(links, next); filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + string(filepath.Separator)
		}
		rest = append(names(target), rest...)
	}
	return append(links, at)
}

// mostLinks bounds how many links are followed, as systems do.
const mostLinks = 40

// names takes a path apart.
func names(path string) []string {
	path = filepath.ToSlash(path[len(filepath.VolumeName(path)):])
	return slices.DeleteFunc(strings.Split(path, "/"), func(n string) bool { return n == "" })
}
