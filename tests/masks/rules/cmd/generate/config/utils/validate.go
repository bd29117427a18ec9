// Takes the texts of rules: this file stands in the place of one that tries them.
package utils

import (
	"sort"

	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/taken"
)

// Validate takes the texts in which a rule finds something and those in which it does not.
func Validate(rule config.Rule, positives []string, negatives []string) *config.Rule {
	kept := &rule
	taken.Rules = append(taken.Rules, kept)
	for _, text := range positives {
		taken.Texts = append(taken.Texts, taken.Text{Rule: kept, Positive: true, Text: text})
	}
	for _, text := range negatives {
		taken.Texts = append(taken.Texts, taken.Text{Rule: kept, Text: text})
	}
	return kept
}

// ValidateWithPaths takes texts of files.
func ValidateWithPaths(rule config.Rule, positives map[string]string, negatives map[string]string) *config.Rule {
	kept := &rule
	taken.Rules = append(taken.Rules, kept)
	for _, path := range sorted(positives) {
		text := taken.Text{Rule: kept, Positive: true, Path: path, Text: positives[path]}
		taken.Texts = append(taken.Texts, text)
	}
	for _, path := range sorted(negatives) {
		taken.Texts = append(taken.Texts, taken.Text{Rule: kept, Path: path, Text: negatives[path]})
	}
	return kept
}

func sorted(texts map[string]string) []string {
	var paths []string
	for path := range texts {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	return paths
}
