// Command rules prints the texts with which the rules of a checkout are tried, one JSON object a line.
//
// It is built of that checkout's own files of rules, which `run.py` puts beside these, and of `all.go`, which `run.py`
// writes: it calls every rule once. The packages here stand in for those of the checkout that these files import: they
// need nothing but Go, and take the texts instead of trying them.
package main

import (
	"encoding/json"
	"os"

	"github.com/zricethezav/gitleaks/v8/cmd/generate/config/base"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/taken"
)

type sample struct {
	Rule     string `json:"rule"`
	Positive bool   `json:"positive"`
	Path     string `json:"path"`
	Text     string `json:"text"`
	// What the rule's own pattern takes for secrets.
	Secrets []string `json:"secrets"`
	// What other rules of the checkout find in a text in which this one finds nothing.
	Others map[string][]string `json:"others"`
}

func main() {
	all()
	out := json.NewEncoder(os.Stdout)
	for _, text := range taken.Texts {
		found := sample{text.Rule.RuleID, text.Positive, text.Path, text.Text, nil, nil}
		found.Secrets = taken.Secrets(text.Rule, text.Text, nil)
		if !text.Positive {
			found.Others = others(text)
		}
		if err := out.Encode(found); err != nil {
			panic(err)
		}
	}
}

func others(text taken.Text) map[string][]string {
	found := map[string][]string{}
	for _, rule := range taken.Rules {
		if rule == text.Rule || rule.Path != nil {
			continue
		}
		lists := append(append([]*config.Allowlist{}, base.CreateGlobalConfig().Allowlists...), rule.Allowlists...)
		if secrets := taken.Secrets(rule, text.Text, lists); len(secrets) > 0 {
			found[rule.RuleID] = secrets
		}
	}
	return found
}
