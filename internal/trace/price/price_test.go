package price

import (
	"math"
	"strings"
	"testing"
	"time"
)

var september = time.Date(2026, 9, 20, 12, 0, 0, 0, time.UTC)

func TestEmbedded(t *testing.T) {
	l := Embedded()
	if _, err := time.Parse(time.DateOnly, l.Date); err != nil || l.Source == "" || l.License != "MIT" {
		t.Errorf("source %q, date %q, licence %q", l.Source, l.Date, l.License)
	}
	models := 0
	for _, p := range l.Providers {
		for _, m := range p.Models {
			models++
			for _, price := range m.Prices {
				if err := price.check(); err != nil {
					t.Errorf("%s %s: %v", p.ID, m.ID, err)
				}
			}
			if _, ok := Find([]*List{l}, p.ID, m.ID).At(september); !ok && len(m.Match) == 0 {
				t.Errorf("%s %s is not found", p.ID, m.ID)
			}
		}
	}
	if models < 1000 {
		t.Errorf("%d models, want more than 1000", models)
	}
}

// TestCost has figures that were computed by hand from the prices that the
// makers of the models publish.
func TestCost(t *testing.T) {
	for _, tt := range []struct {
		name, provider, model string
		at                    time.Time
		tokens                Tokens
		want                  float64
	}{
		{"input and output", "anthropic", "claude-sonnet-4-20250514", september, Tokens{Input: 1e6, Output: 1e6}, 3 + 15},
		{"a cache", "anthropic", "claude-sonnet-4-20250514", september, Tokens{CacheRead: 1e6, CacheWrite: 1e6}, 0.3 + 3.75},
		{"a cache of an hour", "anthropic", "claude-sonnet-4-20250514", september, Tokens{CacheWrite: 1e6, CacheWrite1h: 1e6},
			6},
		{"a model without a provider", "", "gpt-5-codex", september, Tokens{Input: 1e6, CacheRead: 1e6, Output: 1e6},
			1.25 + 0.125 + 10},
		{"reasoning is output", "openai", "gpt-5", september, Tokens{Output: 2e6, Reasoning: 1e6}, 20},
		{"upper case", "OpenAI", "GPT-5", september, Tokens{Input: 1e6}, 1.25},
		{"another name of the provider", "google-vertex", "gemini-2.5-pro", september, Tokens{Input: 1000}, 1.25 / 1000},
		{"a provider that resells", "azure", "gpt-5", september, Tokens{Input: 1e6}, 1.25},
		{"up to a long context", "anthropic", "claude-sonnet-4-5", september, Tokens{Input: 100_000, CacheRead: 100_000},
			0.3 + 0.03},
		{"a long context", "anthropic", "claude-sonnet-4-5", september,
			Tokens{Input: 100_001, CacheRead: 100_000, Output: 1000}, (100_001*6 + 100_000*0.6 + 1000*22.5) / 1e6},
		{"the fast mode", "", "claude-opus-4-8-fast", september, Tokens{Input: 1e6, CacheWrite: 1e6, CacheWrite1h: 1e6,
			Output: 1e6}, 10 + 20 + 50},
		{"the fast mode of a version", "", "claude-opus-4-6-20260205-fast", september, Tokens{Input: 100_000,
			CacheRead: 100_000}, 3 + 0.3},
		{"the fast mode of a version with a point", "", "claude-opus-4.8-fast", september, Tokens{Input: 1e6}, 10},
		{"the fast mode as a model", "github-copilot", "claude-opus-4.8-fast", september, Tokens{Input: 1e6}, 10},
		{"the priority tier", "openai", "gpt-5.5-priority", september, Tokens{Input: 100_000, Output: 10_000}, 2},
		{"the priority tier at a proxy", "proxy", "openai/GPT-5.6-sol-priority", september, Tokens{Input: 100_000}, 0.8},
		{"before a change", "anthropic", "claude-opus-4-6", time.Date(2026, 3, 12, 23, 0, 0, 0, time.UTC),
			Tokens{Input: 300_000}, 3},
		{"after a change", "anthropic", "claude-opus-4-6", time.Date(2026, 3, 13, 0, 0, 0, 0, time.UTC),
			Tokens{Input: 300_000}, 1.5},
		{"an hour of the day", "deepseek", "deepseek-reasoner", time.Date(2025, 5, 1, 1, 0, 0, 0, time.UTC),
			Tokens{Input: 1e6}, 0.55},
		{"another hour", "deepseek", "deepseek-reasoner", time.Date(2025, 5, 1, 17, 0, 0, 0, time.UTC), Tokens{Input: 1e6},
			0.135},
	} {
		p, ok := Find([]*List{Embedded()}, tt.provider, tt.model).At(tt.at)
		if got := p.Cost(tt.tokens); !ok || math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v, %t, want %v (%s %s)", tt.name, got, ok, tt.want, p.Provider, p.Model)
		}
	}
}

func TestUnknownModel(t *testing.T) {
	for _, name := range [][2]string{{"", "nobodys-model"}, {"anthropic", "nobodys-model"},
		{"nobody", "nobodys-model"}, {"ollama", "gpt-5"}, {"lmstudio", "openai/gpt-5"}, {"custom", "custom:Fake-0"},
		{"openai", "gpt-5-priority"}, {"", ""}} {
		if p, ok := Find([]*List{Embedded()}, name[0], name[1]).At(september); ok {
			t.Errorf("%q has the price of %s %s", name, p.Provider, p.Model)
		}
	}
}

// TestProxies has names of models as Bedrock, Vertex and proxies give them.
func TestProxies(t *testing.T) {
	const hosted = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	for _, tt := range []struct {
		provider, model, from string
		input                 float64
		estimated             bool
	}{
		{"bedrock", hosted, "aws", 3.3, false},
		{"", hosted, "aws", 3.3, false},
		{"", "bedrock/" + hosted, "aws", 3.3, false},
		{"", "arn:aws:bedrock:us-east-1:123456789012:inference-profile/" + hosted, "aws", 3.3, false},
		{"litellm", "bedrock/" + hosted, "aws", 3.3, true},
		{"litellm", hosted, "aws", 3.3, true},
		{"", "global.anthropic.claude-opus-4-6-v1", "aws", 5, false},
		{"", "claude-sonnet-4-5@20250929", "anthropic", 3, false},
		{"", "vertex_ai/claude-sonnet-4-5@20250929", "google", 3, false},
		{"litellm", "vertex_ai/claude-sonnet-4-5@20250929", "google", 3, true},
		{"", "vertex_ai/gemini-2.5-pro", "google", 1.25, false},
		{"", "models/gemini-2.5-pro", "google", 1.25, true},
		{"litellm", "claude-sonnet-4-5", "anthropic", 3, true},
		{"litellm", "anthropic/claude-sonnet-4-5", "anthropic", 3, true},
		{"corp-proxy", "gpt-5.5", "openai", 5, true},
		{"corp-proxy", "openai/gpt-5.5", "openai", 5, true},
		{"corp-proxy", "team/gpt-5.5", "openai", 5, true},
		{"openai", "team/gpt-5.5", "openai", 5, true},
		{"", "openai/gpt-5.5", "openrouter", 5, false},
		{"azure", "gpt-5.5", "openai", 5, false},
		{"openrouter", "anthropic/claude-sonnet-4.5", "openrouter", 3, false},
	} {
		p, ok := Find([]*List{Embedded()}, tt.provider, tt.model).At(september)
		if !ok || p.Provider != tt.from || p.Input != tt.input || p.Estimated != tt.estimated {
			t.Errorf("%s at %q: got %t, %g of %s, estimated %t, want %g of %s, %t", tt.model, tt.provider, ok, p.Input,
				p.Provider, p.Estimated, tt.input, tt.from, tt.estimated)
		}
	}
}

// TestHourWithoutRate has writes to a cache for an hour where no rate for that is known.
func TestHourWithoutRate(t *testing.T) {
	rate := 2.0
	hour := Tokens{CacheWrite: 10, CacheWrite1h: 5}
	long := []Tier{{Above: 5, Rates: Rates{Input: 2, CacheWrite: &rate, CacheWrite1h: &rate}}}
	for _, tt := range []struct {
		name   string
		price  Price
		tokens Tokens
		want   bool
	}{
		{"no rate", Price{Rates: Rates{Input: 1}}, hour, true},
		{"no write", Price{Rates: Rates{Input: 1}}, Tokens{CacheWrite: 10}, false},
		{"a rate", Price{Rates: Rates{Input: 1, CacheWrite1h: &rate}}, hour, false},
		{"a rate of a long context", Price{Rates: Rates{Input: 1}, Tiers: long}, hour, false},
		{"free", Price{}, hour, false},
	} {
		if got := tt.price.IsBound(tt.tokens); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestOwnPrices(t *testing.T) {
	own, err := Parse([]byte(`{"source":"contract","date":"2026-10-01","providers":[
		{"id":"openai","models":[{"id":"gpt-5","prices":[{"input":1,"output":2}]}]},
		{"id":"MyCorp","provider":[["My*"]],"models":[{"id":"Qwen3-X","prices":[{"input":3,"output":2}]},{"id":"y","match":[["Zed-*"],["/^Quux$/"]],"prices":[{"input":4,"output":2}]}]},
		{"id":"local","model":[["mine-*","!*-big"]],"models":[{"id":"mine","match":[["mine-*"]],"prices":[{"input":0,"output":0}]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	lists := []*List{own, Embedded()}
	for _, tt := range []struct {
		model string
		want  float64
		ok    bool
	}{{"gpt-5", 1, true}, {"gpt-5-mini", 0.25, true}, {"mine-small", 0, true}, {"mine-big", 0, false},
		{"Qwen3-X", 3, true}, {"qwen3-x", 3, true}} {
		p, ok := Find(lists, "", tt.model).At(september)
		if got := p.Cost(Tokens{Input: 1e6}); got != tt.want || ok != tt.ok {
			t.Errorf("%s costs %v, %t, want %v, %t", tt.model, got, ok, tt.want, tt.ok)
		}
	}
}

// TestCapitals checks that the names of providers and models match in any case.
func TestCapitals(t *testing.T) {
	own, err := Parse(
		[]byte(
			`{"providers":[{"id":"MyCorp","provider":[["My-*"]],"models":[{"id":"Qwen3-X","prices":[{"input":3,"output":2}]},
		{"id":"y","match":[["Zed-*"],["/^Quux$/"]],"prices":[{"input":4,"output":2}]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		provider, model string
		want            float64
	}{{"MyCorp", "Qwen3-X", 3}, {"mycorp", "qwen3-x", 3}, {"MY-OWN", "zed-1", 4}, {"MyCorp", "Zed-1", 4},
		{"mycorp", "quux", 4}, {"mycorp", "Quux", 4}} {
		p, _ := Find([]*List{own}, tt.provider, tt.model).At(september)
		if got := p.Cost(Tokens{Input: 1e6}); got != tt.want {
			t.Errorf("%s of %s costs %v, want %v", tt.model, tt.provider, got, tt.want)
		}
	}
	cheap := 0.5
	p := Price{Rates: Rates{Output: 2, Reasoning: &cheap, CacheWrite: &cheap}}
	if got := p.Cost(Tokens{Output: 1, Reasoning: 1e6, CacheWrite: 1, CacheWrite1h: 1e6}); got < 0 || got > 1e-5 {
		t.Errorf("more reasoning than output costs %v", got)
	}
}

func TestInvalidPrices(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `{"prices":1}`, `{"providers":[{"models":[{"id":"m","prices":[{"input":1}]}]}]}`,
		`{"providers":[{"id":"p","models":[{"id":"m"}]}]}`,
		`{"providers":[{"id":"p","models":[{"id":"m","prices":[{"input":-1}]}]}]}`,
		`{"providers":[{"id":"p","models":[{"id":"m","prices":[{"input":1,"tiers":[{"above":2},{"above":1}]}]}]}]}`,
		`{"providers":[]} trailing`, `{"providers":[]}{"providers":[]}`,
		`{"providers":[{"id":"p","models":[{"id":"m","match":[["/(/"]],"prices":[{"input":1}]}]}]}`,
		`{"providers":[{"id":"p","model":[["!/(/"]],"models":[]}]}`,
		`{"providers":[{"id":"p","models":[{"id":"m","prices":[{"input":1,"from":"soon"}]}]}]}`,
		`{"providers":[{"id":"p","models":[{"id":"m","prices":[{"input":1,"after":"7 pm"}]}]}]}`,
		`{"providers":[{"id":"secret","models":"secret"}]}`,
	} {
		if _, err := Parse([]byte(text)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Parse(%s) = %v, want an error without content", text, err)
		}
	}
}

// TestFastWithoutPrice checks that a fast mode whose price is not known has not the usual one,
// whatever form the name of the model has.
func TestFastWithoutPrice(t *testing.T) {
	for _, model := range []string{"claude-sonnet-4-5-fast", "claude-3-5-haiku-20241022-fast", "Claude-Sonnet-4-5-fast",
		"claude-sonnet-4-5@20250929-fast", "claude-opus-4-8[1m]-fast"} {
		if p, ok := Find([]*List{Embedded()}, "", model).At(september); ok {
			t.Errorf("%s costs %+v, want that to be unknown", model, p)
		}
	}
}

// TestFastOwnPrices checks that the user's own prices count for the fast mode: that of it, and
// that of the model.
func TestFastOwnPrices(t *testing.T) {
	const router = `{"id":"openrouter","models":[{"id":"x","prices":[{"input":1}]}]}`
	for _, tt := range []struct {
		name, list, model string
		want              float64
	}{
		{"of the fast mode", `{"id":"anthropic","models":[{"id":"claude-sonnet-4-5-fast","prices":[{"input":7}]}]}`,
			"claude-sonnet-4-5-fast", 7},
		{"with another provider",
			`{"id":"anthropic","models":[{"id":"claude-opus-4-8-fast","prices":[{"input":7}]}]},` + router, "claude-opus-4-8-fast", 7},
		{"by a pattern",
			`{"id":"a","model":[["claude-*"]],"models":[{"id":"f","match":[["*-fast"]],"prices":[{"input":7}]}]}`, "claude-opus-4-8-fast", 7},
		{"of the model", `{"id":"anthropic","models":[{"id":"claude-opus-4-8","prices":[{"input":4}]}]}`,
			"claude-opus-4-8-fast", 8},
		{"of the model by a pattern",
			`{"id":"a","model":[["claude-*"]],"models":[{"id":"f","match":[["claude-opus*"]],"prices":[{"input":4}]}]}`,
			"claude-opus-4-8-fast", 8},
	} {
		own, err := Parse([]byte(`{"providers":[` + tt.list + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := Find([]*List{own, Embedded()}, "", tt.model).At(september); !ok || p.Input != tt.want {
			t.Errorf("%s: %s costs %+v, %t, want %v", tt.name, tt.model, p, ok, tt.want)
		}
	}
}
