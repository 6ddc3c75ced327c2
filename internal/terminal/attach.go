package terminal

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"

	"wield/chat"
	"wield/tool/files"
)

// maxMention limits the size of a mentioned file, maxImage that of a picture.
const (
	maxMention = 360 << 10
	maxImage   = 8 << 20
)

// imageTypes are the pictures that models take.
var imageTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// parts returns a message with the files that it mentions, and the names of those that are not there. What is wrong
// with a file is told, and nothing is sent: half of what was meant would be worse.
func (c *conversation) parts(text string) (parts []chat.Part, missing, problems []string) {
	parts = chat.Text(text)
	for _, name := range mentions(text) {
		p, err := c.attach(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if strings.ContainsAny(strings.TrimRight(name, "."), "./") {
				// else it is more often a person or a sign of a language
				missing = append(missing, name)
			}
		case err != nil:
			problems = append(problems, fmt.Sprintf("@%s cannot be sent: %v", name, err))
		default:
			parts = append(parts, p)
		}
	}
	return parts, missing, problems
}

// meant reports whether a message is to be sent although it mentions files that are not there: what begins with @ may
// be something else. The first time that is asked below the input, in which the message stays; sent once more, it is
// meant. Where there are lines only, nobody can be asked, and it is sent with a word.
func (c *conversation) meant(text string, missing []string) bool {
	if len(missing) == 0 || c.unsent == text {
		c.unsent = ""
		return true
	}
	words := "There is no file " + strings.Join(missing, ", ")
	if c.screen.plain {
		c.say(styleWarn, "%s.", words)
		return true
	}
	c.unsent, c.hint = text, words+". Enter sends the message as it is."
	return false
}

// mentions returns the names behind @ at the beginning of words.
func mentions(text string) []string {
	var names []string
	seen := map[string]bool{}
	for _, word := range strings.Fields(text) {
		name, ok := strings.CutPrefix(word, "@")
		name = strings.TrimRight(name, ",;:!?)\"'")
		if !ok || name == "" || seen[name] {
			continue
		}
		seen[name] = true
		names = append(names, name)
	}
	return names
}

// attach reads a file that was mentioned. A point at the end of a sentence is no part of a name, unless there is such
// a file.
func (c *conversation) attach(name string) (chat.Part, error) {
	root, err := files.Open(c.o.Root, files.Options{MaxFile: maxImage})
	if err != nil {
		return chat.Part{}, err
	}
	defer root.Close()
	data, err := root.ReadFile(name)
	if short := strings.TrimRight(name, "."); errors.Is(err, fs.ErrNotExist) && short != name && short != "" {
		name = short
		data, err = root.ReadFile(name)
	}
	switch {
	case errors.Is(err, files.ErrIsDir):
		return chat.Part{}, errors.New("it is a directory; mention files")
	case err != nil:
		return chat.Part{}, err
	}
	if kind := http.DetectContentType(data); imageTypes[kind] {
		return chat.Part{Kind: chat.PartImage, MediaType: kind, Data: data, Name: filepath.Base(name)}, nil
	}
	switch {
	case !files.IsText(data):
		return chat.Part{}, errors.New("it is neither text nor a picture (PNG, JPEG, GIF, WebP)")
	case len(data) > maxMention:
		return chat.Part{}, fmt.Errorf("it has %s, and %s is the most; let the model read parts of it", size(len(data)),
			size(maxMention))
	}
	return chat.Part{Kind: chat.PartText, Text: "=== FILE: " + name + "\n" + string(data)}, nil
}
