// Package regexp is that of Go.
package regexp

import "regexp"

// Regexp is a compiled pattern.
type Regexp = regexp.Regexp

// MustCompile compiles a pattern.
func MustCompile(text string) *Regexp {
	return regexp.MustCompile(text)
}
