//! The ladder of effort.

/// How much effort a model should spend on thinking, as an ordered ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effort {
    /// No thinking.
    None,
    /// The least thinking.
    Minimal,
    /// Little thinking.
    Low,
    /// Some thinking.
    Medium,
    /// Much thinking.
    High,
    /// Very much thinking.
    Xhigh,
    /// All the thinking there is.
    Max,
}

impl Effort {
    /// The ladder from the bottom.
    pub const ALL: [Effort; 7] = [
        Effort::None,
        Effort::Minimal,
        Effort::Low,
        Effort::Medium,
        Effort::High,
        Effort::Xhigh,
        Effort::Max,
    ];

    /// The public spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Effort::None => "none",
            Effort::Minimal => "minimal",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::Xhigh => "xhigh",
            Effort::Max => "max",
        }
    }

    /// The effort of this spelling, in any case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effort| effort.as_str().eq_ignore_ascii_case(text))
    }
}

/// A set of efforts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Efforts(u8);

impl Efforts {
    /// Parses comma-separated efforts. An empty text is an empty set. `None` if a word is unknown.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let words = text.split(',').filter(|word| !word.is_empty());
        let efforts: Option<Vec<Effort>> = words.map(Effort::parse).collect();
        Some(efforts?.into_iter().collect())
    }

    /// The efforts, lowest first.
    pub fn all(self) -> impl Iterator<Item = Effort> {
        Effort::ALL.into_iter().filter(move |effort| self.0 & bit(*effort) != 0)
    }

    /// The nearest effort, the lower one of two. `none` replaces an effort only if the set has no other.
    #[must_use]
    pub fn nearest(self, wanted: Effort) -> Option<Effort> {
        let rank =
            |effort: Effort| Effort::ALL.iter().position(|it| *it == effort).unwrap_or_default();
        let is_kind = |effort: Effort| (effort == Effort::None) == (wanted == Effort::None);
        let distance = |effort: &Effort| (!is_kind(*effort), rank(*effort).abs_diff(rank(wanted)));
        self.all().min_by_key(|effort| (distance(effort), *effort))
    }
}

const fn bit(effort: Effort) -> u8 {
    1 << effort as u8
}

impl FromIterator<Effort> for Efforts {
    fn from_iter<I: IntoIterator<Item = Effort>>(efforts: I) -> Self {
        Efforts(efforts.into_iter().fold(0, |all, effort| all | bit(effort)))
    }
}

impl std::fmt::Display for Efforts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<&str> = self.all().map(Effort::as_str).collect();
        f.write_str(&words.join(","))
    }
}
