package patch

import (
	"bytes"
	"errors"
	"io"
	"io/fs"

	"wield/tool/edit"
	"wield/tool/files"
)

// Apply puts changes in place: all of them, or none. First every file is compared with what the changes were made of;
// then each is replaced in one step, and compared once more right before. If one fails, those before it are put back.
// The error is a *Failure, or several errors joined if putting back failed as well.
func Apply(root *files.Root, changes []edit.Change) error {
	for i := range changes {
		if err := (&change{changes[i]}).check(root); err != nil {
			return err
		}
	}
	order := byRisk(changes)
	for i, c := range order {
		if err := c.apply(root); err != nil {
			errs := []error{err}
			for k := i - 1; k >= 0; k-- {
				back := change{order[k].Reverse()}
				if err := back.apply(root); err != nil {
					errs = append(errs, err)
				}
			}
			return errors.Join(errs...)
		}
	}
	return nil
}

// byRisk puts the files that go behind those that come: a file that moves is then never nowhere.
func byRisk(changes []edit.Change) []*change {
	var come, gone []*change
	for i := range changes {
		if c := (&change{changes[i]}); c.Exists {
			come = append(come, c)
		} else {
			gone = append(gone, c)
		}
	}
	return append(come, gone...)
}

func (c *change) stale() *Failure {
	return &Failure{Reason: Stale, Path: c.Path, Hint: "Read it again, and make the edit for what is there now."}
}

// check compares a file with what the change was made of.
func (c *change) check(root *files.Root) error {
	now, err := root.ReadFile(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if c.Existed {
			return c.stale()
		}
		return nil
	case err != nil:
		return &Failure{Reason: Unusable, Path: c.Path, Err: err}
	case !c.Existed || !bytes.Equal(now, c.Before):
		return c.stale()
	}
	return nil
}

// apply puts one change in place.
func (c *change) apply(root *files.Root) error {
	if !c.Changed() {
		return nil
	}
	var err error
	if c.Exists {
		err = root.WriteFile(c.Path, c.After, files.WriteOptions{New: !c.Existed, Parents: true, Mode: c.Mode,
			Expect: c.expect})
	} else if err = c.check(root); err == nil {
		err = root.Remove(c.Path)
	}
	var f *Failure
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		return f
	case errors.Is(err, fs.ErrExist):
		return c.stale()
	}
	return &Failure{Reason: Unusable, Path: c.Path, Err: err}
}

// expect compares the file that is about to be replaced.
func (c *change) expect(old *files.File) error {
	if old == nil {
		if c.Existed {
			return c.stale()
		}
		return nil
	}
	now, err := io.ReadAll(io.LimitReader(old, int64(len(c.Before))+1))
	if err != nil {
		return err
	}
	if !c.Existed || !bytes.Equal(now, c.Before) {
		return c.stale()
	}
	return nil
}
