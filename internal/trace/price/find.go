package price

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Model has the prices of a model, best source first.
type Model []Price

// At returns the price of a model at a time.
func (m Model) At(at time.Time) (Price, bool) {
	i := slices.IndexFunc(m, func(p Price) bool { return p.appliesAt(at) })
	if i < 0 {
		return Price{}, false
	}
	return m[i], true
}

// Find returns the prices of a model. The provider may be "". What lists before l, such
// as the user's own, have is preferred.
//
// A provider that has no price of the model may be a proxy: then the price is that of the
// provider in the model's name, as in bedrock/us.anthropic.claude-opus-4-8, or else that of
// whoever makes the model, and is estimated. Programs that run models on this machine have
// no estimated prices.
func Find(lists []*List, providerName, modelName string) (m Model) {
	names := readings(lists, providerName, modelName)
	for _, l := range lists {
		for _, n := range names {
			for _, p := range l.mode(lists, n.provider, n.model) {
				p.Estimated = n.estimated
				m = append(m, p)
			}
		}
	}
	// What is known of the provider is preferred, whichever list has the rest.
	slices.SortStableFunc(m, func(a, b Price) int { return order(a.Estimated) - order(b.Estimated) })
	return m
}

func order(estimated bool) int {
	if estimated {
		return 1
	}
	return 0
}

// A reading is what the names of a provider and a model can mean.
type reading struct {
	provider, model string
	estimated       bool
}

// here are names of programs and servers that run models on the user's machine.
var here = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)ollama|lm-?_?studio|llama-?_?\.?cpp|vllm|mlx|^local`)
})

// readings returns what the names can mean, the best first.
func readings(lists []*List, providerName, modelName string) []reading {
	list := []reading{{providerName, modelName, false}}
	if here().MatchString(providerName) {
		return list
	}
	estimated := providerName != ""
	hint, rest := "", modelName
	for {
		first, more := cutName(rest)
		if more == "" {
			break
		}
		rest = more
		if isProvider(lists, first) {
			hint = first
			list = append(list, reading{hint, rest, estimated})
		}
	}
	if hosted := bedrock().FindStringSubmatch(rest); hosted != nil {
		list = append(list, reading{"bedrock", rest, estimated})
		rest = hosted[1]
	}
	rest = version().ReplaceAllString(rest, "")
	if hint != "" || estimated || rest != modelName {
		list = append(list, reading{"", rest, true})
	}
	return list
}

// cutName returns the parts of a model's name before and after its first slash. The name
// of a resource of Bedrock begins like that of a provider.
func cutName(name string) (first, more string) {
	first, more, found := strings.Cut(name, "/")
	if !found {
		return name, ""
	}
	if strings.HasPrefix(first, "arn:aws:bedrock:") {
		return "bedrock", more
	}
	return first, more
}

// bedrock is the form of names at Bedrock: a region, the maker and the model.
var bedrock = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[a-z]{2,6}(?:-gov)?\.)?(?:anthropic|openai|amazon|meta|mistral|deepseek|qwen|cohere)\.(.+)$`)
})

// version is the end of names at Bedrock and Vertex that makers do not use.
var version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-v\d+(:\d+)?$|@(default|latest)$`) })

func isProvider(lists []*List, name string) bool {
	return name != "" && slices.ContainsFunc(lists, func(l *List) bool { return len(l.candidates(name, "")) > 0 })
}

// The ends that readers of transcripts give the names of models whose requests were made
// in a mode that costs more.
const (
	fastEnd     = "-fast"     // of Claude models
	priorityEnd = "-priority" // the service tier of OpenAI
)

// splitMode returns the name of a model without the end of a mode, and that; a name
// without one is returned as usual.
func splitMode(name string) (usual, mode string) {
	low := strings.ToLower(name)
	if usual, found := strings.CutSuffix(low, fastEnd); found && strings.HasPrefix(usual, "claude-") {
		return usual, fastEnd
	}
	if usual, found := strings.CutSuffix(low, priorityEnd); found {
		return usual, priorityEnd
	}
	return name, ""
}

// mode returns the prices of a model. One in a mode has those of a model that is only
// that, and then those of the model times what it costs more, if that is known.
func (l *List) mode(lists []*List, providerName, modelName string) Model {
	usual, mode := splitMode(modelName)
	if mode == "" {
		return l.find(providerName, modelName, "")
	}
	m := l.find(providerName, modelName, usual)
	more := priority(usual)
	if mode == fastEnd {
		more = fastMode(lists, usual)
	}
	if more == 0 {
		return m
	}
	for _, p := range l.find(providerName, usual, "") {
		m = append(m, p.times(more))
	}
	return m
}

// find returns the prices of the models with a name that have not the name except.
func (l *List) find(providerName, modelName, except string) (m Model) {
	for _, p := range l.candidates(providerName, modelName) {
		for _, name := range append([]string{p.ID}, p.Fallback...) {
			if from := l.provider(name); from != nil {
				m = append(m, from.find(modelName, except)...)
			}
		}
	}
	return m
}

func (l *List) provider(id string) *provider {
	if i := slices.IndexFunc(l.Providers, func(p provider) bool { return p.ID == id }); i >= 0 {
		return &l.Providers[i]
	}
	return nil
}

// candidates returns the providers that a name means, in any case. Without one, it is
// whoever makes the model.
func (l *List) candidates(name, modelName string) (list []provider) {
	var others []provider
	for _, p := range l.Providers {
		switch {
		case name != "" && strings.EqualFold(p.ID, name), name == "" && matches(p.Model, modelName):
			list = append(list, p)
		case name != "" && matches(p.Provider, name), name == "" && p.has(modelName):
			others = append(others, p)
		}
	}
	return append(list, others...)
}

// claude is the name of a Claude model: the model, the major and minor version, and the date.
var claude = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(claude-[a-z]+-\d+)(?:[-.](\d{1,2}))?(-\d{8})?$`)
})

// fastMode returns how many times as much the fast mode of a Claude model costs at
// OpenRouter, the only one in the embedded list that has it as a model.
func fastMode(lists []*List, model string) float64 {
	parts := claude().FindStringSubmatch(model)
	if parts == nil {
		return 0
	}
	listed := "anthropic/" + parts[1]
	if parts[2] != "" {
		listed += "." + parts[2]
	}
	for _, l := range lists {
		router := l.provider("openrouter")
		if router == nil {
			continue
		}
		usual, mode := router.find(listed, ""), router.find(listed+"-fast", "")
		if len(usual) > 0 && len(mode) > 0 && usual[0].Input > 0 {
			return mode[0].Input / usual[0].Input
		}
	}
	return 0
}

// priority returns how many times as much the priority tier of a model of OpenAI costs, for
// the models for which that is known. The embedded list does not have it.
func priority(model string) float64 {
	_, model = path.Split(model)
	switch {
	case model == "gpt-5.5":
		return 2.5
	case strings.HasPrefix(model, "gpt-5.6-"):
		return 2
	}
	return 0
}
