// Package atomicfile puts files in place as a whole: who reads one, or starts after a crash, sees the old text or the
// new one, and never a part of either.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write makes the file at path, or takes its place, with the text and the permissions. The text is on the disk when
// it returns. A file that could not be written is as it was, and nothing else is left.
func Write(path string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".wield-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
