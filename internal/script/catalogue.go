package script

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sort"
	"strings"

	"wield/schema/near"
)

// Suffix ends the name of every scenario file.
const Suffix = ".scenario.yaml"

//go:embed catalogue/*.scenario.yaml
var embedded embed.FS

// Catalogue returns the directory of scenarios: the one on disk at dir, or, if dir is empty, the one in the program.
func Catalogue(dir string) fs.FS {
	if dir != "" {
		return os.DirFS(dir)
	}
	sub, err := fs.Sub(embedded, "catalogue")
	if err != nil {
		panic(err) // the name is a constant
	}
	return sub
}

// CatalogueNames returns the names of the scenarios in cat, in alphabetical order.
func CatalogueNames(cat fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(cat, ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), Suffix); ok && !e.IsDir() {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names, nil
}

// aliases are other names that programs know scenarios of the catalogue by.
var aliases = map[string]string{"misroutedToolCall": "confusedToolCall"}

// FromCatalogue opens a scenario of cat by its name or alias.
func FromCatalogue(cat fs.FS, name string, log *slog.Logger) (*Live, error) {
	file := name
	if real, ok := aliases[name]; ok {
		file = real
	}
	l, err := OpenFS(cat, file+Suffix, log)
	if err == nil || !isMissing(err, file+Suffix) {
		return l, err
	}
	names, listErr := CatalogueNames(cat)
	if listErr != nil {
		return nil, listErr
	}
	hint := near.Hint(name, names)
	if hint == "" && len(names) > 0 {
		hint = "; there are " + strings.Join(names, ", ")
	}
	return nil, notInCatalogue(fmt.Sprintf("there is no scenario %q in the catalogue%s", name, hint))
}

// notInCatalogue is the message about a name that no scenario has.
type notInCatalogue string

// Error returns the message.
func (e notInCatalogue) Error() string { return string(e) }

// Is makes e an fs.ErrNotExist, whose own words would say nothing more.
func (e notInCatalogue) Is(target error) bool { return target == fs.ErrNotExist }

// isMissing reports whether err says that the file itself, and not one that it includes, does not exist.
func isMissing(err error, name string) bool {
	pe, ok := err.(*fs.PathError)
	return ok && errors.Is(pe, fs.ErrNotExist) && strings.HasSuffix(pe.Path, name)
}
