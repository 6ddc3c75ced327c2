package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// A KeySecret says what a client's key is: a reference as a Secret is one, or the hash of the key, which is no secret.
type KeySecret struct {
	Ref  Secret
	hash string
}

// hashPrefix stands before the hash of a key, in the configuration and in what a reference leads to.
const hashPrefix = "sha256:"

func (s *KeySecret) Parse(text string) error {
	if strings.HasPrefix(text, hashPrefix) {
		s.hash = text
		_, err := hashOf(text)
		return err
	}
	if err := s.Ref.Parse(text); errors.Is(err, errSecret) {
		return errors.New("a key does not stand in the file: write env:NAME, file:PATH, or its hash as wield config " +
			"key prints it (sha256:...)")
	} else if err != nil {
		return err
	}
	return nil
}

func (s *KeySecret) pattern() string { return `^(env:[^ =$]+|file:.+|sha256:[0-9a-fA-F]{64})$` }

// String returns the reference or the hash, never the key.
func (s KeySecret) String() string { return s.hash + s.Ref.String() }

// Hash returns the hash of the key.
func (s KeySecret) Hash(getenv func(string) string) ([sha256.Size]byte, error) {
	text := s.hash
	if text == "" {
		var err error
		if text, err = s.Ref.Resolve(getenv); err != nil {
			return [sha256.Size]byte{}, err
		}
	}
	if !strings.HasPrefix(text, hashPrefix) {
		return sha256.Sum256([]byte(text)), nil
	}
	h, err := hashOf(text)
	if err != nil {
		return h, fmt.Errorf("%s: %w", s, err)
	}
	return h, nil
}

// minKey is the length below which a key can be guessed.
const minKey = 16

// GuessableKeys warns of keys of clients that are too short.
func (c *Config) GuessableKeys(getenv func(string) string) (warnings Problems) {
	for _, k := range c.Keys {
		if key, err := k.Secret.Ref.Resolve(getenv); err == nil && key != "" && len(key) < minKey {
			warnings = append(warnings, &Problem{Path: "key " + k.Name, Warning: true, Message: fmt.Sprintf(
				"it has %d bytes and can be guessed; wield config key makes a longer one", len(key))})
		}
	}
	return warnings
}

func hashOf(text string) (h [sha256.Size]byte, err error) {
	b, err := hex.DecodeString(strings.TrimPrefix(text, hashPrefix))
	if err != nil || len(b) != len(h) {
		return h, errors.New("after sha256: stand the 64 hexadecimal digits of a key's hash; wield config key prints " +
			"one")
	}
	return [sha256.Size]byte(b), nil
}
