package builtin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"wield/tool"
	"wield/tool/runner"
)

// called runs one tool of a set.
func called(t *testing.T, o Options, name, arguments string) tool.Result {
	t.Helper()
	reg := new(runner.Registry)
	for _, one := range Tools(o) {
		if one.Name() == name {
			one.State = tool.StateEnabled
			if err := reg.Add(one); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := runner.New(runner.Settings{Tools: reg, Root: t.TempDir(), Temp: t.TempDir()})
	res, err := r.Call(t.Context(), name, arguments)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestWikis asks servers over HTTP for articles and notes.
func TestWikis(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/w/api.php", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch {
		case q.Get("list") == "search":
			w.Write([]byte(`{"query":{"search":[{"title":"Leek soup","snippet":"a <b>soup</b>"}]}}`))
		case q.Get("titles") == "Leek soup" && q.Get("prop") == "extracts":
			w.Write([]byte(`{"query":{"pages":[{"title":"Leek soup","extract":"It is green."}]}}`))
		default:
			w.Write([]byte(`{"query":{"pages":[{"title":"None","missing":true}]}}`))
		}
	})
	mux.HandleFunc("/notes/.fs/Projects/{page}", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" || r.PathValue("page") != "My garden.md" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		w.Write([]byte("# Garden\n"))
	})
	mux.HandleFunc("/notes/", func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.RequestURI, "%25") || strings.Contains(r.RequestURI, "secret") {
			w.Write([]byte(r.RequestURI))
			return
		}
		http.NotFound(w, r)
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	o := Options{Transport: transport, Wikipedia: s.URL + "/w/api.php", SilverBullet: s.URL + "/notes",
		SilverBulletToken: "sesame"}
	for _, tt := range []struct{ tool, arguments, want string }{
		{"wikipedia_search", `{"query":"leek"}`, `"title":"Leek soup","snippet":"a soup","url":"` + s.URL +
			`/w/index.php?title=Leek+soup"`},
		{"wikipedia_get_article", `{"title":"Leek soup"}`, `{"title":"Leek soup","content":"It is green."}`},
		{"wikipedia_get_article", `{"title":"Nothing"}`, `there is no article "Nothing"`},
		{"silver_bullet_get", `{"page":"Projects/My garden"}`, `"# Garden\n"`},
		{"silver_bullet_get", `{"page":"Projects/My garden.md"}`, `"# Garden\n"`},
		{"silver_bullet_get", `{"page":"../secrets"}`, `is no name of a page`},
		{"silver_bullet_get", `{"page":"a/%2e%2e/%2e%2e/secret"}`, `/notes/.fs/a/%252e%252e/%252e%252e/secret.md`},
		{"silver_bullet_get", `{"page":"Nowhere"}`, `404`},
	} {
		if res := called(t, o, tt.tool, tt.arguments); !strings.Contains(string(res.Data)+res.Error, tt.want) {
			t.Errorf("%s %s: %s %s; want %s", tt.tool, tt.arguments, res.Data, res.Error, tt.want)
		}
	}
	if res := called(t, Options{Transport: transport}, "silver_bullet_get", `{"page":"x"}`); !strings.Contains(
		res.Error, "tools.silverbullet.url") {
		t.Errorf("no server: %s", res.Error)
	}
}

// TestFunctions of the calculator.
func TestFunctions(t *testing.T) {
	for expr, want := range map[string]string{
		"sqrt(16)": "4", "sqrt(1/4)": "0.5", "sqrt(2)": "1.4142135623731", "2^0.5": "1.4142135623731",
		"abs(-3.5)": "3.5", "round(2.5)": "3", "round(-2.5)": "-3", "round(3.14159, 2)": "3.14", "floor(-1.5)": "-2",
		"ceil(1.2)": "2", "min(3, 1, 2)": "1", "max(3, 1+4, 2)": "5", "sum(1,2,3)": "6", "avg(1,2)": "1.5",
		"factorial(20)": "2432902008176640000", "2*pi": "6.28318530717958", "sin(0)": "0", "cos(0)": "1",
		"log10(1000)": "3", "log2(8)": "3", "ln(e)": "1", "log(1)": "0", "exp(0)": "1", "SQRT(9)": "3", "5!": "120",
		"-3!+2^3!": "58", "10 mod 3": "1", "(7)mod(4)": "3", "mod(10, 3)": "1", "pow(2, 10)": "1024",
		"log(8, 2)": "3", "log(100, 10)": "2", "2*π": "6.28318530717958", "gcd(12, 18, 27)": "3", "trunc(-2.7)": "-2",
		"sign(-4)": "-1", "degrees(pi)": "180", "atan2(0, 1)": "0", "((10 + 5) * 2) - 8": "22", "50%": "0.5",
		"15% of 80": "12", "200 * 10%": "20", "(5%) + 1": "1.05", "50% - 3": "-2.5", "10 % -3": "-2", "10%3": "1",
		"max(5%, 1%)": "0.05", "17 % (4)": "1", "hypot(3, 4)": "5", "lcm(4, 6)": "12", "lcm(0, 3)": "0",
		"sinh(0)": "0", "cosh(0)": "1", "tanh(0)": "0", "round(phi, 3)": "1.618",
	} {
		if res := called(t, Options{}, "calculator", `{"expression":"`+expr+`"}`); string(res.Data) != `"`+want+`"` {
			t.Errorf("%s: %s %s; want %s", expr, res.Data, res.Error, want)
		}
	}
	for arguments, want := range map[string]string{
		`{}`: "Missing 'expression' parameter", `{"expression":" "}`: "Missing 'expression' parameter",
		`{"expression":"sqrt(-1)"}`: "Invalid expression: a square root of a negative number",
		`{"expression":"foo(1)"}`:   `Invalid expression: there is no "foo" at position 1`,
		`{"expression":"sqrt 4"}`:   "Invalid expression: ", `{"expression":"log(0)"}`: "Invalid expression: ",
		`{"expression":"factorial(1e4)"}`: "Invalid expression: ", `{"expression":"sqrt()"}`: "Invalid expression: ",
		`{"expression":"sin(1,2)"}`:        "Invalid expression: sin does not take 2 arguments",
		`{"expression":"round(1, 1e999)"}`: "Invalid expression: ",
		`{"expression":"5000!!"}`:          "Invalid expression: factorial takes",
		`{"expression":"pow(9, 9^9)"}`:     "Invalid expression: ",
		`{"expression":"gcd(1.5, 2)"}`:     "Invalid expression: gcd takes whole numbers",
		`{"expression":"log(8, 1)"}`:       "Invalid expression: ",
		`{"expression":"10 mod 0"}`:        "Invalid expression: a division by zero",
		`{"expression":"!5"}`:              "Invalid expression: ",
		`{"expression":"lcm(1.5)"}`:        "Invalid expression: lcm takes whole numbers",
		`{"expression":"% 3"}`:             "Invalid expression: ", `{"expression":"3 of"}`: "Invalid expression: ",
		`{"expression":"mod 3"}`: "Invalid expression: ",
	} {
		if res := called(t, Options{}, "calculator", arguments); !strings.HasPrefix(res.Error, want) {
			t.Errorf("%s: %s %s; want %s", arguments, res.Data, res.Error, want)
		}
	}
}
