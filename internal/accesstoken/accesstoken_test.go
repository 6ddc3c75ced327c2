package accesstoken

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// An issuer signs tokens, and shows its keys where its metadata say.
type issuer struct {
	*httptest.Server
	*testing.T

	mu    sync.Mutex
	key   *ecdsa.PrivateKey
	id    string
	asked int  // for keys
	ill   bool // answers requests for keys by 503
}

func newIssuer(t *testing.T, metadata string) *issuer {
	t.Helper()
	is := &issuer{T: t}
	is.rotate("first")
	is.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		is.mu.Lock()
		defer is.mu.Unlock()
		switch r.URL.Path {
		case metadata:
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, is.URL, is.URL+"/keys")
		case "/keys":
			if is.asked++; is.ill {
				http.Error(w, "later", http.StatusServiceUnavailable)
				return
			}
			json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
				{Key: is.key.Public(), KeyID: is.id, Algorithm: "ES256", Use: "sig"}}})
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(is.Close)
	return is
}

func (is *issuer) rotate(id string) {
	is.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		is.Fatal(err)
	}
	is.mu.Lock()
	is.key, is.id = key, id
	is.mu.Unlock()
}

const resource = "https://wield.example.com/mcp"

// token signs claims, beside those that every token has.
func (is *issuer) token(claims map[string]any) string {
	is.Helper()
	all := map[string]any{"iss": is.URL, "aud": resource, "sub": "ada", "scope": "tools other",
		"exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	body, err := json.Marshal(all)
	if err != nil {
		is.Fatal(err)
	}
	key := jose.JSONWebKey{Key: is.key, KeyID: is.id}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	if err != nil {
		is.Fatal(err)
	}
	signed, err := signer.Sign(body)
	if err != nil {
		is.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		is.Fatal(err)
	}
	return text
}

func (is *issuer) verifier(change func(*Options)) *Verifier {
	is.Helper()
	o := Options{Issuer: is.URL, Resource: resource, Scopes: []string{"tools"}, Grants: []Grant{
		{Claim: "realm.roles", Value: "admin", Key: "root"},
		{Claim: "groups", Value: "staff", Key: "desk"}, {Key: "guest"}}}
	if change != nil {
		change(&o)
	}
	v, err := New(o)
	if err != nil {
		is.Fatal(err)
	}
	return v
}

// TestCheck checks tokens that are right, and tokens of which one thing is wrong.
func TestCheck(t *testing.T) {
	t.Parallel()
	is := newIssuer(t, "/.well-known/openid-configuration")
	v := is.verifier(func(o *Options) { o.Audiences = []string{"client-7"} })
	other := newIssuer(t, "/")
	foreign := other.token(map[string]any{"iss": is.URL})
	head, rest, _ := strings.Cut(is.token(nil), ".")
	body, signature, _ := strings.Cut(rest, ".")
	unsigned := "eyJhbGciOiJub25lIn0." + body + "."
	claims := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	for _, test := range []struct {
		name   string
		token  string
		below  string
		want   string // name and key, or the error
		status int
	}{
		{"anybody", is.token(nil), "", "guest/ada guest", 0},
		{"group", is.token(claims("groups", []string{"x", "staff"})), "", "desk/ada desk", 0},
		{"nested claim", is.token(claims("realm", claims("roles", []string{"admin"}), "groups", "staff")), "",
			"root/ada root", 0},
		{"audiences", is.token(claims("aud", []string{"x", resource})), "tickets", "guest/ada guest", 0},
		{"audience below", is.token(claims("aud", resource+"/tickets")), "tickets", "guest/ada guest", 0},
		{"further audience", is.token(claims("aud", "client-7")), "", "guest/ada guest", 0},
		{"scp", is.token(claims("scope", "", "scp", []string{"tools"})), "", "guest/ada guest", 0},
		{"none", "", "", "is needed", 401},
		{"audience of another", is.token(claims("aud", "https://other.example.com/mcp")), "", "is for", 401},
		{"audience of another server below", is.token(claims("aud", resource+"/tickets")), "", "is for", 401},
		{"audience that begins alike", is.token(claims("aud", resource+".evil")), "", "is for", 401},
		{"no audience", is.token(claims("aud", nil)), "", "is for", 401},
		{"expired", is.token(claims("exp", time.Now().Add(-time.Minute).Unix())), "", "expired", 401},
		{"no expiry", is.token(claims("exp", nil)), "", "not valid", 401},
		{"not yet", is.token(claims("nbf", time.Now().Add(time.Hour).Unix())), "", "not valid", 401},
		{"another issuer", is.token(claims("iss", "https://other.example.com")), "", "issue", 401},
		{"foreign key", foreign, "", "signature", 401},
		{"unsigned", unsigned, "", "not valid", 401},
		{"changed", head + "." + strings.Replace(body, "a", "b", 1) + "." + signature, "", "not valid", 401},
		{"no scope", is.token(claims("scope", "toolsmith")), "", "scope tools", 403},
		{"nobody", is.token(claims("sub", "")), "", "names nobody", 401},
		{"control characters", is.token(claims("sub", "a\nb")), "", "names nobody", 401},
		{"long", strings.Repeat("a", maxToken+1), "", "longer", 401},
		{"no token", "a.b.c", "", "not valid", 401},
	} {
		h, err := v.Check(t.Context(), test.token, test.below)
		var e *Error
		switch {
		case test.status == 0 && (err != nil || h.Name+" "+h.Key != test.want):
			t.Errorf("%s: %+v, %v", test.name, h, err)
		case test.status == 0:
		case !errors.As(err, &e) || e.Status != test.status || !strings.Contains(e.Message, test.want):
			t.Errorf("%s: %+v, %v", test.name, h, err)
		case test.token != "" && strings.Contains(e.Message, test.token):
			t.Errorf("%s: the error says the token", test.name)
		}
	}
	none := is.verifier(func(o *Options) { o.Grants = o.Grants[:1] })
	var e *Error
	if _, err := none.Check(t.Context(), is.token(nil), ""); !errors.As(err, &e) || e.Status != 403 {
		t.Errorf("no grant fits: %v", err)
	}
	if is.asked > 3 {
		t.Errorf("the issuer was asked %d times", is.asked)
	}
}

// TestKeys: keys of the issuer may change, and it is not asked for each token of an unknown key. While it cannot be
// reached, no token is called wrong.
func TestKeys(t *testing.T) {
	t.Parallel()
	is := newIssuer(t, "/.well-known/oauth-authorization-server")
	v := is.verifier(nil)
	if _, err := v.Check(t.Context(), is.token(nil), ""); err != nil {
		t.Fatal(err)
	}
	other := newIssuer(t, "/")
	for i := range 20 {
		other.rotate(fmt.Sprint("unknown", i))
		if _, err := v.Check(t.Context(), other.token(map[string]any{"iss": is.URL}), ""); err == nil {
			t.Fatal("a foreign token is taken")
		}
	}
	if is.asked > 2 {
		t.Errorf("the issuer was asked %d times", is.asked)
	}
	is.rotate("second")
	if _, err := is.verifier(nil).Check(t.Context(), is.token(nil), ""); err != nil {
		t.Errorf("a new key: %v", err)
	}
	token := is.token(nil)
	unavailable := func(name string, v *Verifier) {
		t.Helper()
		var e *Error
		for range 2 { // the issuer is not asked twice within a moment
			_, err := v.Check(t.Context(), token, "")
			if !errors.As(err, &e) || e.Status != http.StatusServiceUnavailable {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	is.mu.Lock()
	is.ill = true
	is.mu.Unlock()
	unavailable("an issuer that has no keys now", is.verifier(nil))
	gone, keyless := is.verifier(nil), is.verifier(nil)
	if _, err := keyless.issuerKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	is.Close()
	unavailable("an issuer that is away", gone)
	unavailable("an issuer that is away since it said where its keys are", keyless)
}

// TestMetadata: the challenge leads to the metadata, of the resource and of what is below.
func TestMetadata(t *testing.T) {
	t.Parallel()
	is := newIssuer(t, "/")
	v := is.verifier(nil)
	for below, path := range map[string]string{
		"":        "/.well-known/oauth-protected-resource/mcp",
		"tickets": "/.well-known/oauth-protected-resource/mcp/tickets",
	} {
		want := fmt.Sprintf(`Bearer scope="tools", resource_metadata="https://wield.example.com%s"`, path)
		_, err := v.Check(t.Context(), "", below)
		var e *Error
		if !errors.As(err, &e) || v.Challenge(below, e) != want {
			t.Errorf("%q: %v", below, v.Challenge(below, e))
		}
		var meta struct {
			Resource string
			Issuers  []string `json:"authorization_servers"`
		}
		err = json.Unmarshal(v.Metadata(v.Below(path)), &meta)
		if err != nil || !slices.Equal(meta.Issuers, []string{is.URL}) ||
			meta.Resource != strings.TrimSuffix(resource+"/"+below, "/") {
			t.Errorf("%q: %+v, %v", below, meta, err)
		}
	}
}
