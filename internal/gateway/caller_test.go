package gateway_test

import (
	"testing"

	"wield/internal/gateway"
)

func TestWhoHas(t *testing.T) {
	keys := []gateway.Key{
		{Name: "home", Hash: gateway.HashKey("k-1"), Models: []string{"home-*"}},
		{Name: "ada", Hash: gateway.HashKey("k-2"), Role: gateway.RoleAdmin},
	}
	g := gateway.New(gateway.Options{Keys: keys})
	for secret, want := range map[string]gateway.Caller{"k-1": {Name: "home", Role: gateway.RoleClient},
		"k-2": {Name: "ada", Role: gateway.RoleAdmin}, "k-3": {}} {
		if got, ok := g.WhoHas(gateway.HashKey(secret)); got.Name != want.Name || got.Role != want.Role ||
			ok != (want.Name != "") {
			t.Errorf("%s is of %+v, %v", secret, got, ok)
		}
	}
	if !g.Sees("home", "home-1") || g.Sees("home", "other") || !g.Sees("ada", "other") || g.Sees("nobody", "other") {
		t.Error("who sees what is wrong")
	}
	ada, _ := g.WhoHas(gateway.HashKey("k-2"))
	g.Replace(gateway.Options{Keys: keys[1:]})
	if !g.Known(ada) {
		t.Error("a key that has stayed is not known")
	}
	if _, ok := g.WhoHas(gateway.HashKey("k-1")); ok {
		t.Error("a key that was taken away still is somebody's")
	}
	g.Replace(
		gateway.Options{Keys: []gateway.Key{{Name: "ada", Hash: gateway.HashKey("k-4"), Role: gateway.RoleAdmin}}})
	if g.Known(ada) {
		t.Error("a key whose secret was replaced is still known")
	}
}
