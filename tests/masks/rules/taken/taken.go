// Package taken has the rules of a checkout, their texts, and what a rule finds in a text.
package taken

import (
	"math"
	"regexp"
	"strings"

	"github.com/zricethezav/gitleaks/v8/config"
)

// Text is one with which a rule is tried.
type Text struct {
	Rule     *config.Rule
	Positive bool
	Path     string
	Text     string
}

// Rules are all rules, Texts all texts of them.
var (
	Rules []*config.Rule
	Texts []Text
)

// Secrets says what a rule's pattern takes for secrets: its group, or the first that holds something, or all of it.
// With `lists` what it leaves alone is left out, and so is what is drawn too evenly for it.
func Secrets(rule *config.Rule, text string, lists []*config.Allowlist) []string {
	all := []string{}
	if rule.Regex == nil || (lists != nil && !hasWord(rule, text)) {
		return all
	}
	for _, at := range rule.Regex.FindAllStringSubmatchIndex(text, -1) {
		match, secret := text[at[0]:at[1]], text[at[0]:at[1]]
		for group := 1; group < len(at)/2; group++ {
			is := rule.SecretGroup == group || rule.SecretGroup == 0
			if is && at[2*group] >= 0 && at[2*group] < at[2*group+1] {
				secret = text[at[2*group]:at[2*group+1]]
				break
			}
		}
		if lists != nil && (isAllowed(lists, secret, match, line(text, at)) || bits(secret) <= rule.Entropy) {
			continue
		}
		all = append(all, secret)
	}
	return all
}

// Whether one of the words stands in a text without which a rule is not tried.
func hasWord(rule *config.Rule, text string) bool {
	lower := strings.ToLower(text)
	for _, word := range rule.Keywords {
		if strings.Contains(lower, strings.ToLower(word)) {
			return true
		}
	}
	return len(rule.Keywords) == 0
}

// The lines that a match stands in.
func line(text string, at []int) string {
	from := strings.LastIndexByte(text[:at[0]], '\n') + 1
	to := strings.IndexByte(text[at[1]:], '\n')
	if to < 0 {
		return text[from:]
	}
	return text[from : at[1]+to]
}

func isAllowed(lists []*config.Allowlist, secret, match, line string) bool {
	for _, list := range lists {
		target := map[string]string{"": secret, "match": match, "line": line}[list.RegexTarget]
		byWord, _ := list.ContainsStopWord(secret)
		met, asked := 0, 0
		for _, check := range []struct{ asked, met bool }{
			{len(list.StopWords) > 0, byWord},
			{len(list.Regexes) > 0, matches(list.Regexes, target)},
			// The texts that are tried against other rules stand in no file.
			{len(list.Paths) > 0, false},
		} {
			if check.asked {
				asked++
			}
			if check.asked && check.met {
				met++
			}
		}
		if met > 0 && (list.MatchCondition == config.AllowlistMatchOr || met == asked) {
			return true
		}
	}
	return false
}

func matches(patterns []*regexp.Regexp, text string) bool {
	for _, pattern := range patterns {
		if pattern.MatchString(text) {
			return true
		}
	}
	return false
}

// Shannon's entropy in bits a letter.
func bits(text string) float64 {
	counts := map[rune]float64{}
	all := 0.0
	for _, letter := range text {
		counts[letter]++
		all++
	}
	sum := 0.0
	for _, count := range counts {
		sum -= count / all * math.Log2(count/all)
	}
	return sum
}
