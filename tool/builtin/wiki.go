package builtin

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"wield/tool"
)

type wikipediaInput struct {
	Query    string `json:"query" jsonschema:"what to search for"`
	Max      int    `json:"max_results,omitempty" jsonschema:"maximum number of articles. Default: 5"`
	Language string `json:"language,omitempty" jsonschema:"language code, such as en or de. Default: en"`
}

func wikipediaSearch(o *Options) *tool.Tool {
	t := tool.Stream("wikipedia_search",
		`Search Wikipedia and return titles, snippets and URLs. Example: {"query": "leek soup", "language": "en"}`,
		func(ctx context.Context, _ *tool.Call, in wikipediaInput) (internetOutput, error) {
			base, err := o.wiki(&in.Language)
			if err != nil {
				return internetOutput{}, err
			}
			if in.Max <= 0 {
				in.Max = usualResults
			}
			body, err := ask(ctx, o, withQuery(base, "action", "query", "list", "search", "format", "json",
				"formatversion", "2", "srsearch", in.Query, "srlimit", strconv.Itoa(min(in.Max, mostResults))), nil)
			if err != nil {
				return internetOutput{}, err
			}
			return readWikipedia(body, in, o.Wikipedia)
		})
	t.Facts = tool.Facts{Network: true, ReadOnly: true}
	t.Idempotent = true
	return t
}

// wiki returns the address of the interface of the wiki in a language; en if there is none.
func (o *Options) wiki(code *string) (string, error) {
	if *code == "" {
		*code = "en"
	}
	if !language(*code) {
		return "", tool.Errorf(tool.ErrInvalid, "language: %q is no code of a language, such as en", *code)
	}
	if o.Wikipedia != "" {
		return o.Wikipedia, nil
	}
	return strings.Replace(wikipediaURL, "%s", *code, 1), nil
}

// language reports whether a code is one of letters and hyphens: it becomes part of a host's name.
func language(code string) bool {
	for i := range len(code) {
		if c := code[i]; !('a' <= c && c <= 'z' || c == '-' && i > 0) {
			return false
		}
	}
	return len(code) >= 2 && len(code) <= 12 && !strings.HasSuffix(code, "-")
}

// readWikipedia reads what Wikipedia answered, or the wiki whose interface is at the address api.
func readWikipedia(body []byte, in wikipediaInput, api string) (internetOutput, error) {
	var answer struct {
		Error *struct{ Info string }
		Query struct {
			Search []struct{ Title, Snippet string }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return internetOutput{}, tool.Errorf(tool.ErrTool, "Wikipedia's answer is no JSON: %w", err)
	}
	if answer.Error != nil {
		return internetOutput{}, tool.Errorf(tool.ErrTool, "Wikipedia: %s", answer.Error.Info)
	}
	hits := []hit{}
	for _, r := range answer.Query.Search {
		page := url.URL{Scheme: "https", Host: in.Language + ".wikipedia.org",
			Path: "/wiki/" + strings.ReplaceAll(r.Title, " ", "_")}
		address := page.String()
		if dir, ok := strings.CutSuffix(api, "api.php"); ok { // every MediaWiki has both programs in one directory
			address = withQuery(dir+"index.php", "title", r.Title)
		}
		hits = append(hits, hit{r.Title, plainText(r.Snippet), address})
	}
	return internetOutput{Results: hits, Count: len(hits), Num: len(hits), Query: in.Query}, nil
}

type articleInput struct {
	Title    string `json:"title" jsonschema:"title of the article, as returned by wikipedia_search"`
	Language string `json:"language,omitempty" jsonschema:"language code, such as en or de. Default: en"`
}

type article struct {
	Title   string `json:"title"`
	Content string `json:"content"`
}

func wikipediaArticle(o *Options) *tool.Tool {
	t := tool.Stream("wikipedia_get_article",
		`Return the text of a Wikipedia article. Example: {"title": "Leek soup", "language": "en"}`,
		func(ctx context.Context, _ *tool.Call, in articleInput) (article, error) {
			base, err := o.wiki(&in.Language)
			if err != nil {
				return article{}, err
			}
			body, err := ask(ctx, o, withQuery(base, "action", "query", "prop", "extracts", "explaintext", "1",
				"redirects", "1", "format", "json", "formatversion", "2", "titles", in.Title), nil)
			if err != nil {
				return article{}, err
			}
			return readArticle(body, in.Title)
		})
	t.Facts = tool.Facts{Network: true, ReadOnly: true}
	t.Idempotent = true
	return t
}

func readArticle(body []byte, title string) (article, error) {
	var answer struct {
		Error *struct{ Info string }
		Query struct {
			Pages []struct {
				Title, Extract string
				Missing        bool
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return article{}, tool.Errorf(tool.ErrTool, "Wikipedia's answer is no JSON: %w", err)
	}
	switch pages := answer.Query.Pages; {
	case answer.Error != nil:
		return article{}, tool.Errorf(tool.ErrTool, "Wikipedia: %s", answer.Error.Info)
	case len(pages) == 0 || pages[0].Missing:
		return article{}, tool.Errorf(tool.ErrTool, "there is no article %q; wikipedia_search finds titles", title)
	default:
		return article{pages[0].Title, pages[0].Extract}, nil
	}
}

type pageInput struct {
	Page string `json:"page" jsonschema:"name of the page, without .md, such as Projects/Garden"`
}

// silverBullet reads pages of a SilverBullet server, which serves each as a file below /.fs.
func silverBullet(o *Options) *tool.Tool {
	t := tool.Stream("silver_bullet_get",
		`Return a page of the SilverBullet notes as Markdown. Example: {"page": "Projects/Garden"}`,
		func(ctx context.Context, _ *tool.Call, in pageInput) (string, error) {
			if o.SilverBullet == "" {
				return "",
					tool.Errorf(tool.ErrNotAvailable,
						"no SilverBullet server is configured: tools.silverbullet.url says where it is")
			}
			name := strings.TrimSuffix(strings.Trim(in.Page, "/"), ".md")
			parts := strings.Split(name, "/")
			for i, part := range parts {
				if part == "" || part == "." || part == ".." {
					return "", tool.Errorf(tool.ErrInvalid, "page: %q is no name of a page", in.Page)
				}
				parts[i] = url.PathEscape(part) // %2e%2e is a name, too
			}
			base, err := url.Parse(o.SilverBullet)
			if err != nil {
				return "", tool.Errorf(tool.ErrNotAvailable, "tools.silverbullet.url is no address")
			}
			header := http.Header{"X-Sync-Mode": {"true"}} // the file and not the program that shows it
			if o.SilverBulletToken != "" {
				header.Set("Authorization", "Bearer "+o.SilverBulletToken)
			}
			// #nosec G125 -- each part is escaped, and none is . or ..
			body, err := ask(ctx, o, base.JoinPath(".fs", strings.Join(parts, "/")+".md").String(), header)
			return strings.ToValidUTF8(string(body), "\uFFFD"), err
		})
	t.Facts = tool.Facts{Network: true, ReadOnly: true}
	t.Idempotent = true
	return t
}
