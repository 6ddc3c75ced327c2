package policy

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A deletion says which of the files below a directory are deleted. The zero value is for all of them.
type deletion struct {
	tests []nameTest // each of them holds
	depth int        // of directories; 0: any
	typ   string     // f or d, as find has it; "": any
}

// A nameTest is a test of find for the name of a file, or for its path as find has it.
type nameTest struct {
	pattern          string
	whole, not, fold bool
}

// findDeletes lists what find -delete deletes, as far as the names say. A test that is not read here could only spare
// more files.
func findDeletes(words []string) (uses []use) {
	d := &deletion{}
	var starts []string
	for len(words) > 0 && !strings.HasPrefix(words[0], "-") && words[0] != "(" && words[0] != "!" {
		starts, words = append(starts, words[0]), words[1:]
	}
	if len(starts) == 0 {
		starts = []string{"."}
	}
	for i := 0; i+1 < len(words); i++ {
		test, value := words[i], words[i+1]
		not := i > 0 && (words[i-1] == "!" || words[i-1] == "-not")
		switch test {
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename":
			whole := test != "-name" && test != "-iname"
			d.tests = append(d.tests, nameTest{pattern: value, whole: whole, not: not, fold: test[1] == 'i'})
		case "-maxdepth":
			d.depth, _ = strconv.Atoi(value)
		case "-type":
			if !not && (value == "f" || value == "d") {
				d.typ = value
			}
		}
	}
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains([]string{"-o", "-or", ",", "("}, w) }) {
		d = &deletion{depth: d.depth} // the tests need not hold for all
	}
	for _, s := range starts {
		uses = append(uses, use{kind: usePath, text: s, tilde: strings.HasPrefix(s, "~"), op: OpDelete, drops: d})
	}
	return uses
}

// takes reports whether a file is among those that are deleted.
func (d *deletion) takes(start, rel string, entry fs.DirEntry) bool {
	if d.typ == "f" && !entry.Type().IsRegular() || d.typ == "d" && !entry.IsDir() {
		return false
	}
	return !slices.ContainsFunc(d.tests, func(t nameTest) bool {
		text, pattern := entry.Name(), t.pattern
		if t.whole {
			text = strings.TrimSuffix(start, "/") + "/" + rel
		}
		if t.fold {
			text, pattern = strings.ToLower(text), strings.ToLower(pattern)
		}
		return wordPattern{pattern}.fits(text) == t.not
	})
}

// protectedBelow names what must not be changed among the files that a use deletes with a directory; "" if there is
// nothing. many: the directory holds too many files to see all of them, or some that cannot be read.
func (e *eval) protectedBelow(at resolvedPath, u use) (found string, many bool) {
	if u.drops == nil || at.missing || at.err != nil || !at.mode.IsDir() {
		return "", false
	}
	seen := 0
	err := filepath.WalkDir(at.abs, func(name string, entry fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(at.abs, name)
		if many = many || err != nil; err != nil || relErr != nil || name == at.abs {
			return relErr
		}
		names := strings.Split(filepath.ToSlash(rel), "/")
		part := protectedName(foldNames(append(slices.Clone(at.names), names...)))
		for _, p := range e.p.def.Protected {
			if p = filepath.Clean(p); name == p || strings.HasPrefix(name, p+"/") {
				part = p
			}
		}
		if part != "" && u.drops.takes(u.text, filepath.ToSlash(rel), entry) {
			found = part
			return fs.SkipAll
		}
		if seen++; seen > maxTree {
			many = true
			return fs.SkipAll
		}
		if entry.IsDir() && u.drops.depth > 0 && len(names) >= u.drops.depth {
			return fs.SkipDir
		}
		return nil
	})
	return found, many || err != nil
}
