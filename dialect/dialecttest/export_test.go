package dialecttest

import "wield/chat"

// Invariance checks every split of a text.
func Invariance(mk Maker, text string) error {
	whole, err := decodeFresh(mk, text)
	if err != nil {
		return err
	}
	return (&reader{mk: mk}).invariance(text, whole, splits(text))
}

// Decode returns the events of a text.
func Decode(mk Maker, text string) ([]chat.Event, error) { return decodeFresh(mk, text) }
