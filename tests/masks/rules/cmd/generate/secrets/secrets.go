// Package secrets draws texts that a pattern fits, the same ones in each run.
package secrets

import (
	"math/rand"
	"os"
	"regexp/syntax"
	"strconv"
	"strings"
)

var drawn = rand.New(rand.NewSource(seed()))

// The environment's `SEED`, or 1.
func seed() int64 {
	if seed, err := strconv.ParseInt(os.Getenv("SEED"), 10, 64); err == nil {
		return seed
	}
	return 1
}

// NewSecret draws a text for a pattern; what may be repeated without an end is there as seldom as it may be, but once.
func NewSecret(pattern string) string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err)
	}
	var text strings.Builder
	write(&text, parsed)
	return text.String()
}

func write(text *strings.Builder, at *syntax.Regexp) {
	switch at.Op {
	case syntax.OpLiteral:
		text.WriteString(string(at.Rune))
	case syntax.OpCharClass:
		text.WriteRune(letter(at.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		text.WriteRune(letter([]rune{' ', '~'}))
	case syntax.OpConcat, syntax.OpCapture:
		for _, part := range at.Sub {
			write(text, part)
		}
	case syntax.OpAlternate:
		write(text, at.Sub[drawn.Intn(len(at.Sub))])
	case syntax.OpStar, syntax.OpQuest:
		repeat(text, at.Sub[0], 0, 1)
	case syntax.OpPlus:
		repeat(text, at.Sub[0], 1, 1)
	case syntax.OpRepeat:
		repeat(text, at.Sub[0], at.Min, max(at.Min, at.Max))
	}
}

func repeat(text *strings.Builder, part *syntax.Regexp, least, most int) {
	for range make([]struct{}, least+drawn.Intn(most-least+1)) {
		write(text, part)
	}
}

// One letter of a class, which is a list of first and last ones.
func letter(class []rune) rune {
	size := 0
	for at := 0; at < len(class); at += 2 {
		size += len(only(class[at], class[at+1]))
	}
	which := drawn.Intn(max(size, 1))
	for at := 0; at < len(class); at += 2 {
		letters := only(class[at], class[at+1])
		if which < len(letters) {
			return letters[which]
		}
		which -= len(letters)
	}
	return class[0]
}

// What can be printed of the letters between two.
func only(first, last rune) []rune {
	var letters []rune
	for letter := first; letter <= min(last, '~'); letter++ {
		if letter >= ' ' {
			letters = append(letters, letter)
		}
	}
	return letters
}
