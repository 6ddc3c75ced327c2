package main

import "testing"

func TestRows(t *testing.T) {
	for symbol, want := range map[string]string{
		"example.com/me/wield/dialect.(*decoder).next":                   "wield: dialects, decoder, schemas",
		"example.com/me/wield/internal/webhook.send":                     "wield: everything else",
		"example.com/me/wield.New":                                       "wield: everything else",
		"example.com/me/wielder.New":                                     other,
		"main.main":                                                      "wield: terminal and commands",
		"github.com/nats-io/nats-server/v2/server.(*stream).store":       "NATS (workers, several services)",
		"type:.eq.modernc.org/sqlite/lib.Tsqlite3":                       "SQLite",
		"go:itab.*github.com/jackc/pgx/v5.conn,database/sql/driver.Conn": "PostgreSQL driver",
		"slices.SortFunc[go.shape.[]example.com/me/wield/tool.Call]":     "Go: rest of the standard library",
		"crypto/tls.(*Conn).Read":                                        "Go: cryptography and TLS",
		"vendor/golang.org/x/net/idna.idnaValues":                        "Go: network and HTTP",
		"net/http.(*Transport).RoundTrip":                                "Go: network and HTTP",
		"runtime.mallocgc":                                               "Go: runtime",
		"gopkg%2ein/yaml.parse":                                          other,
	} {
		if got := of(packageOf(symbol), "example.com/me/wield"); got != want {
			t.Errorf("%s: %q, want %q", symbol, got, want)
		}
	}
	if got := packageOf("_cgo_init"); got != "" {
		t.Errorf("a symbol without a package: %q", got)
	}
}
