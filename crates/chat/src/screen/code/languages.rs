//! The languages that the scanner knows.

/// A language, or a family of them.
#[derive(Debug)]
pub(super) struct Language {
    /// The names for a fence, in lower case, separated by spaces.
    names: &'static str,
    /// Its keywords and named values, separated by spaces.
    pub(super) keywords: &'static str,
    pub(super) line_comments: &'static [&'static str],
    pub(super) comments: &'static [(&'static str, &'static str)],
    /// Marks that begin and end strings which may go over several lines.
    pub(super) long_strings: &'static [&'static str],
    /// Characters that begin and end strings on one line.
    pub(super) quotes: &'static str,
    /// Whether `'` encloses one character and also stands alone.
    pub(super) has_chars: bool,
    /// Characters that a word may have besides letters, digits and `_`.
    pub(super) joins: &'static str,
    /// Whether a word before `:` or `=` is a key.
    pub(super) has_keys: bool,
    pub(super) ignores_case: bool,
    pub(super) is_diff: bool,
}

impl Language {
    /// Whether a piece that the scanner handles may begin with this character.
    pub(super) fn stops(&self, char: char) -> bool {
        let begins = |marks: &[&str]| marks.iter().any(|mark| mark.starts_with(char));
        char.is_alphanumeric()
            || char == '_'
            || self.quotes.contains(char)
            || (char == '\'' && self.has_chars)
            || begins(self.line_comments)
            || begins(self.long_strings)
            || self.comments.iter().any(|(open, _)| open.starts_with(char))
    }
}

/// The language of this name.
pub(super) fn find(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.names.split(' ').any(|known| known == name))
}

const C_LIKE: Language = Language {
    names: "",
    keywords: "",
    line_comments: &["//"],
    comments: &[("/*", "*/")],
    long_strings: &[],
    quotes: "\"'",
    has_chars: false,
    joins: "",
    has_keys: false,
    ignores_case: false,
    is_diff: false,
};

const WITH_CHARS: Language = Language { quotes: "\"", has_chars: true, ..C_LIKE };

const HASHED: Language = Language { line_comments: &["#"], comments: &[], ..C_LIKE };

const LANGUAGES: &[Language] = &[
    Language {
        names: "rust rs",
        keywords: "as async await bool break char const continue crate dyn else enum extern f32 f64 false fn for i16 \
                   i32 i64 i8 if impl in isize let loop match mod move mut pub ref return self Self static str struct \
                   super trait true type u16 u32 u64 u8 union unsafe use usize where while",
        ..WITH_CHARS
    },
    Language {
        names: "python py python3",
        keywords: "and as assert async await break case class continue def del elif else except False finally for \
                   from global if import in is lambda match None nonlocal not or pass raise return self True try \
                   while with yield",
        long_strings: &["\"\"\"", "'''"],
        ..HASHED
    },
    Language {
        names: "javascript js jsx typescript ts tsx mjs",
        keywords: "abstract any as async await boolean break case catch class const continue debugger declare default \
                   delete do else enum export extends false finally for from function get if implements import in \
                   instanceof interface keyof let never new null number of private protected public readonly return \
                   set static string super switch this throw true try type typeof undefined unknown var void while \
                   with yield",
        long_strings: &["`"],
        ..C_LIKE
    },
    Language {
        names: "c h cpp c++ cc cxx hpp objc cuda",
        keywords: "alignas auto bool break case catch char class const constexpr continue default delete do double \
                   else enum explicit extern false float for friend goto if inline int long namespace new nullptr \
                   NULL operator override private protected public return short signed sizeof static struct switch \
                   template this throw true try typedef typename union unsigned using virtual void volatile while \
                   include define ifdef ifndef endif pragma",
        ..WITH_CHARS
    },
    Language {
        names: "java kotlin kt scala csharp cs c# swift dart",
        keywords: "abstract as async await base bool boolean break byte case catch char class const continue data def \
                   default do double else enum extends extension false final finally float for fun func guard if \
                   implements import in init int interface internal is let long namespace new nil null object open \
                   operator out override package private protected protocol public return sealed self short static \
                   string struct super suspend switch this throw throws trait true try typealias using val var void \
                   when where while with yield",
        ..WITH_CHARS
    },
    Language {
        names: "go golang",
        keywords: "any bool break byte case chan const continue default defer else error fallthrough false float64 \
                   for func go goto if import int int64 interface iota map nil package range return rune select \
                   string struct switch true type uint64 var",
        long_strings: &["`"],
        ..WITH_CHARS
    },
    Language {
        names: "sh bash shell zsh console fish",
        keywords: "alias break case cd continue do done echo elif else esac eval exec exit export false fi for \
                   function if in local read return set shift source sudo then trap true unset until while",
        joins: "-",
        ..HASHED
    },
    Language {
        names: "ruby rb elixir ex perl pl r julia jl php",
        keywords: "and array begin break case class def defmodule do echo else elsif end ensure false fn for foreach \
                   function if in include module my new nil not null or our private protected public raise require \
                   rescue return self sub super then true undef unless until use when while yield",
        ..HASHED
    },
    Language {
        names: "json jsonc json5 jsonl",
        keywords: "false null true",
        has_keys: true,
        ..C_LIKE
    },
    Language {
        names: "yaml yml",
        keywords: "false no null true yes",
        joins: "-.",
        has_keys: true,
        ..HASHED
    },
    Language {
        names: "toml ini cfg conf dockerfile make makefile cmake properties nix",
        keywords: "false true FROM RUN COPY ENV ARG CMD ENTRYPOINT WORKDIR EXPOSE",
        long_strings: &["\"\"\"", "'''"],
        joins: "-.",
        has_keys: true,
        ..HASHED
    },
    Language {
        names: "sql sqlite postgresql postgres mysql",
        keywords: "all alter and as asc begin between by case check commit constraint create default delete desc \
                   distinct drop else end exists foreign from group having if in index inner insert into is join key \
                   left like limit not null offset on or order outer primary references returning right select set \
                   table then union unique update using values view when where with",
        line_comments: &["--"],
        ignores_case: true,
        ..C_LIKE
    },
    Language {
        names: "lua haskell hs ada elm",
        keywords: "and break case class data deriving do else elseif end false for function if import in instance let \
                   local module newtype nil not of or repeat return then true type until where while",
        line_comments: &["--"],
        comments: &[("--[[", "]]"), ("{-", "-}")],
        ..C_LIKE
    },
    Language {
        names: "html xml svg vue svelte xhtml",
        keywords: "a body button div form h1 h2 h3 head html img input li link meta p script section span style svg \
                   table td th title tr ul",
        line_comments: &[],
        comments: &[("<!--", "-->")],
        joins: "-",
        ignores_case: true,
        ..C_LIKE
    },
    Language {
        names: "css scss less",
        keywords: "important media import keyframes supports",
        joins: "-",
        has_keys: true,
        ..C_LIKE
    },
    Language {
        names: "lisp scheme clojure clj elisp",
        keywords: "cond def defn defun define do fn if lambda let let* loop nil ns quote recur require set! t true false",
        line_comments: &[";"],
        comments: &[],
        quotes: "\"",
        joins: "-!?*",
        ..C_LIKE
    },
    Language { names: "diff patch", is_diff: true, ..C_LIKE },
];
