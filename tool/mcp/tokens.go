package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"wield/tool/atomicfile"
)

// Tokens keeps the tokens of logins, in a file that only its owner can read. Its methods may be called by several
// goroutines; nil keeps nothing.
type Tokens struct {
	File string

	mu sync.Mutex
}

// A Token comes from a login: it is sent to one address, and renewed at one other.
type Token struct {
	Issuer       string    `json:"issuer"`   // who gave it
	Resource     string    `json:"resource"` // the service that it is for
	ClientID     string    `json:"client_id"`
	ClientSecret string    `json:"client_secret,omitempty"`
	Endpoint     string    `json:"token_endpoint"`
	Style        int       `json:"auth_style,omitempty"`
	Scopes       []string  `json:"scopes,omitempty"`
	Access       string    `json:"access_token"`
	Refresh      string    `json:"refresh_token,omitempty"`
	Expires      time.Time `json:"expires,omitzero"`
}

// keptTokens is the content of the file: tokens by server, and by who has logged in; empty: everybody.
type keptTokens struct {
	Servers map[string]map[string]*Token `json:"servers"`
}

// Get returns a token; nil: there is none, or the file cannot be read.
func (t *Tokens) Get(server, who string) *Token {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	all, err := t.read()
	if err != nil {
		return nil
	}
	return all.Servers[server][who]
}

// Put keeps a token.
func (t *Tokens) Put(server, who string, k *Token) error {
	if t == nil {
		return nil
	}
	return t.change(func(all *keptTokens) {
		if all.Servers[server] == nil {
			all.Servers[server] = map[string]*Token{}
		}
		all.Servers[server][who] = k
	})
}

// Forget drops the token of somebody.
func (t *Tokens) Forget(server, who string) error {
	return t.change(func(all *keptTokens) { delete(all.Servers[server], who) })
}

func (t *Tokens) read() (*keptTokens, error) {
	all := &keptTokens{}
	data, err := os.ReadFile(t.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(data, all); err != nil {
			return nil, fmt.Errorf("%s: %w", t.File, err)
		}
	}
	if all.Servers == nil {
		all.Servers = map[string]map[string]*Token{}
	}
	return all, nil
}

func (t *Tokens) change(change func(*keptTokens)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, err := t.read()
	if err != nil {
		return err
	}
	change(all)
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(t.File), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(t.File, append(data, '\n'), 0o600)
}
