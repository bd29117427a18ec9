// Package config has the members of rules that the files of rules fill in.
package config

import (
	"regexp"
	"strings"
)

// Rule is what is looked for.
type Rule struct {
	RuleID        string
	Description   string
	Entropy       float64
	SecretGroup   int
	Regex         *regexp.Regexp
	Path          *regexp.Regexp
	Tags          []string
	Keywords      []string
	Allowlists    []*Allowlist
	RequiredRules []*Required
	SkipReport    bool
}

// Required is another rule that has to be met.
type Required struct {
	RuleID        string
	WithinLines   *int
	WithinColumns *int
}

// AllowlistMatchCondition says whether one member of a list or all of them have to be met.
type AllowlistMatchCondition int

// The two conditions.
const (
	AllowlistMatchOr AllowlistMatchCondition = iota
	AllowlistMatchAnd
)

// Allowlist is what a rule leaves alone.
type Allowlist struct {
	Description    string
	MatchCondition AllowlistMatchCondition
	Commits        []string
	Paths          []*regexp.Regexp
	RegexTarget    string
	Regexes        []*regexp.Regexp
	StopWords      []string
}

// ContainsStopWord says which of the list's words stands in a text, in any case.
func (list *Allowlist) ContainsStopWord(text string) (bool, string) {
	lower := strings.ToLower(text)
	for _, word := range list.StopWords {
		if strings.Contains(lower, strings.ToLower(word)) {
			return true, word
		}
	}
	return false, ""
}

// Config is what holds for all rules.
type Config struct {
	Title      string
	Rules      map[string]Rule
	Keywords   map[string]struct{}
	Allowlists []*Allowlist
}
