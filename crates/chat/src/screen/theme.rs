//! Maps the meaning of a text to its look, for the terminal's background and number of colours.

use ratatui::style::{Color, Modifier, Style};

use super::colour::{Rgb, indexed, nearest_index};
use super::ink::{Ground, Ink, Tone};

/// The least contrast between letters and their background, as WCAG 2.1 level AA requires for text.
pub const CONTRAST: f64 = 4.5;

/// The number of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Depth {
    /// The 16 colours that users choose themselves.
    Sixteen,
    /// 24 bits.
    True,
    /// The 240 fixed colours of the xterm palette.
    TwoHundredFiftySix,
    /// No colours, because the user does not want them (`NO_COLOR`) or the terminal has none.
    Without,
}

/// The terminal's own background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Background {
    /// Dark; how dark is unknown.
    Dark,
    /// This colour.
    Known(Rgb),
    /// Light; how light is unknown.
    Light,
}

/// The styles of all texts, made once for a background and a depth.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    depth: Depth,
    grounds: [Color; Ground::ALL.len()],
    tones: [[Color; Tone::ALL.len()]; Ground::ALL.len()],
}

impl Background {
    /// The colour. It is a guess if only the lightness is known.
    #[must_use]
    pub fn rgb(self) -> Rgb {
        match self {
            Self::Dark => Rgb(0x14, 0x14, 0x18),
            Self::Known(rgb) => rgb,
            Self::Light => Rgb(0xfa, 0xfa, 0xf8),
        }
    }

    /// Returns true if it is nearer to white than to black.
    #[must_use]
    pub fn is_light(self) -> bool {
        let Rgb(red, green, blue) = self.rgb();
        [red, green, blue].map(u16::from).iter().sum::<u16>() > 3 * 127
    }
}

impl Background {
    /// Reads `COLORFGBG`, for a terminal that does not answer. The value ends with the number of the background among
    /// the 16 colours: 7 and 9 to 15 are light. The default is dark.
    #[must_use]
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = variable("COLORFGBG").unwrap_or_default();
        match value.rsplit(';').next().and_then(|number| number.parse::<u8>().ok()) {
            Some(7 | 9..=15) => Self::Light,
            _ => Self::Dark,
        }
    }
}

impl Depth {
    /// Reads the depth from the environment: `NO_COLOR` (no-color.org), `COLORTERM` and `TERM`.
    #[must_use]
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name| variable(name).unwrap_or_default();
        let (term, colorterm) = (value("TERM"), value("COLORTERM"));
        if !value("NO_COLOR").is_empty() || term == "dumb" {
            Self::Without
        } else if ["truecolor", "24bit"].contains(&colorterm.as_str()) || term.ends_with("-direct")
        {
            Self::True
        } else if term.contains("256color") {
            Self::TwoHundredFiftySix
        } else {
            Self::Sixteen
        }
    }
}

impl Theme {
    /// Makes the theme for this background.
    #[must_use]
    pub fn new(background: Background, depth: Depth) -> Self {
        let ground = |ground| match depth {
            Depth::Without => Color::Reset,
            Depth::Sixteen => sixteen_ground(ground, background.rgb().is_dark()),
            Depth::True => true_ground(ground, background.rgb()).map_or(Color::Reset, rgb),
            Depth::TwoHundredFiftySix => {
                indexed_ground(ground, background.rgb()).map_or(Color::Reset, Color::Indexed)
            }
        };
        let tones = Ground::ALL.map(|on| {
            Tone::ALL.map(|tone| match depth {
                Depth::Without => Color::Reset,
                Depth::Sixteen => sixteen_tone(tone, on, background),
                Depth::True => true_tone(tone, on, background.rgb()).map_or(Color::Reset, rgb),
                Depth::TwoHundredFiftySix => {
                    indexed_tone(tone, on, background.rgb()).map_or(Color::Reset, Color::Indexed)
                }
            })
        });
        Self { depth, grounds: Ground::ALL.map(ground), tones }
    }

    /// Whether there are colours at all.
    pub(super) fn has_colour(&self) -> bool {
        self.depth != Depth::Without
    }

    /// The style of a piece of text.
    pub(super) fn style(&self, ink: Ink, ground: Ground) -> Style {
        let (on, tone) = (place(&Ground::ALL, ground), place(&Tone::ALL, ink.tone));
        let under = self.grounds.get(on).copied().unwrap_or_default();
        let letters = self.tones.get(on).and_then(|tones| tones.get(tone)).copied();
        let mut modifier = Modifier::empty();
        let is_bare = !self.has_colour() || letters == Some(Color::Reset);
        modifier.set(Modifier::BOLD, ink.is_bold || (is_bare && stands_out(ink.tone)));
        modifier.set(Modifier::ITALIC, ink.is_italic || ground == Ground::Thought);
        modifier.set(Modifier::CROSSED_OUT, ink.is_struck);
        modifier.set(Modifier::UNDERLINED, ink.is_underlined);
        // A selection without a ground of its own is reversed.
        let is_reversed = ground == Ground::Selected && under == Color::Reset;
        modifier.set(Modifier::REVERSED, is_reversed);
        Style::new().fg(letters.unwrap_or_default()).bg(under).add_modifier(modifier)
    }
}

/// Tones that are bold if they cannot have a colour.
fn stands_out(tone: Tone) -> bool {
    matches!(tone, Tone::Accent | Tone::Failure | Tone::Heading | Tone::Warning)
}

fn place<T: Copy + PartialEq>(all: &[T], one: T) -> usize {
    all.iter().position(|each| *each == one).unwrap_or(0)
}

fn rgb(Rgb(r, g, b): Rgb) -> Color {
    Color::Rgb(r, g, b)
}

/// A ground lighter than a dark terminal's, or darker than a light one's. `None` is the terminal's own.
fn true_ground(ground: Ground, terminal: Rgb) -> Option<Rgb> {
    let (towards, is_dark) =
        if terminal.is_dark() { (Rgb::WHITE, true) } else { (Rgb::BLACK, false) };
    let percent = match (ground, is_dark) {
        (Ground::Plain, _) => return None,
        (Ground::Code, true) => 5,
        (Ground::Code, false) => 4,
        (Ground::Panel, true) => 7,
        (Ground::Panel, false) => 5,
        (Ground::Thought, true) => 11,
        (Ground::Thought, false) => 8,
        (Ground::User, true) => 16,
        (Ground::User, false) => 12,
        (Ground::Selected, _) => {
            let blue = if is_dark { Rgb(0x2f, 0x5f, 0xb8) } else { Rgb(0xa8, 0xcc, 0xff) };
            return Some(terminal.mixed(blue, 60));
        }
    };
    Some(terminal.mixed(towards, percent))
}

fn true_tone(tone: Tone, on: Ground, terminal: Rgb) -> Option<Rgb> {
    let ground = true_ground(on, terminal);
    let wanted = match hue(tone, terminal.is_dark()) {
        Some(hue) => hue,
        // The terminal's own letters are known to be legible only on its own ground.
        None if ground.is_none() => return None,
        None if on == Ground::Thought && terminal.is_dark() => Rgb(0xb4, 0xb4, 0xc2),
        None if on == Ground::Thought => Rgb(0x4c, 0x4c, 0x58),
        None if terminal.is_dark() => Rgb(0xe6, 0xe6, 0xea),
        None => Rgb(0x1c, 0x1c, 0x22),
    };
    Some(wanted.legible_on(ground.unwrap_or(terminal), CONTRAST))
}

/// The nearest fixed colour that is lighter than a dark terminal, or darker than a light one, so that the ground
/// stays visible.
fn indexed_ground(ground: Ground, terminal: Rgb) -> Option<u8> {
    let wanted = true_ground(ground, terminal)?;
    if ground == Ground::Selected {
        return Some(nearest_index(wanted, None));
    }
    let is_beyond = |candidate: Rgb| {
        let (there, here) = (candidate.luminance(), terminal.luminance());
        if terminal.is_dark() { there > here + 0.002 } else { there < here - 0.01 }
    };
    let greys = (232..=u8::MAX).filter_map(|index| Some((index, indexed(index)?)));
    let beyond = greys.filter(|(_, candidate)| is_beyond(*candidate));
    beyond.min_by_key(|(_, candidate)| candidate.distance(wanted)).map(|(index, _)| index)
}

fn indexed_tone(tone: Tone, on: Ground, terminal: Rgb) -> Option<u8> {
    let wanted = true_tone(tone, on, terminal)?;
    let ground = indexed_ground(on, terminal).and_then(indexed).unwrap_or(terminal);
    Some(nearest_index(wanted, Some((ground, CONTRAST))))
}

/// The hue of a tone; `None` for plain text.
fn hue(tone: Tone, is_dark: bool) -> Option<Rgb> {
    let (dark, light) = match tone {
        Tone::Text => return None,
        Tone::Accent => (Rgb(0x7a, 0xb8, 0xff), Rgb(0x0b, 0x5c, 0xc4)),
        Tone::Added | Tone::Success => (Rgb(0x7f, 0xd1, 0x8a), Rgb(0x1a, 0x7a, 0x35)),
        Tone::Border => (Rgb(0x70, 0x70, 0x7c), Rgb(0x90, 0x90, 0x9c)),
        Tone::Code => (Rgb(0xe8, 0xc0, 0x7d), Rgb(0x8a, 0x4b, 0x00)),
        Tone::Comment | Tone::Dim => (Rgb(0x8e, 0x8e, 0x9c), Rgb(0x68, 0x68, 0x74)),
        Tone::Failure | Tone::Removed => (Rgb(0xff, 0x86, 0x86), Rgb(0xb8, 0x1f, 0x24)),
        Tone::Function => (Rgb(0x82, 0xaa, 0xff), Rgb(0x1f, 0x5f, 0xb0)),
        Tone::Heading => (Rgb(0x8f, 0xd0, 0xe8), Rgb(0x0a, 0x62, 0x7c)),
        Tone::Keyword => (Rgb(0xc9, 0x9a, 0xf0), Rgb(0x7a, 0x34, 0xb0)),
        Tone::Link => (Rgb(0x6f, 0xb4, 0xe8), Rgb(0x0b, 0x5c, 0xa8)),
        Tone::Number => (Rgb(0xf2, 0xa2, 0x6f), Rgb(0xa3, 0x47, 0x0a)),
        Tone::String => (Rgb(0xa5, 0xd6, 0x8c), Rgb(0x2f, 0x6d, 0x1c)),
        Tone::Type => (Rgb(0x6f, 0xd0, 0xc4), Rgb(0x0a, 0x6b, 0x62)),
        Tone::Warning => (Rgb(0xf0, 0xc6, 0x50), Rgb(0x85, 0x5a, 0x00)),
    };
    Some(if is_dark { dark } else { light })
}

/// Backgrounds of the 16 colours. Users choose these colours themselves, and only the two greys are calm in every
/// palette. Letters on them are of the 16 colours too, so that a thought can be read even if the terminal's own
/// ground was guessed wrong. A selected row is reversed instead.
fn sixteen_ground(ground: Ground, is_dark: bool) -> Color {
    match (ground, is_dark) {
        (Ground::Thought, true) => Color::DarkGray,
        (Ground::Thought, false) => Color::Gray,
        (Ground::Code | Ground::Panel | Ground::Plain | Ground::Selected | Ground::User, _) => {
            Color::Reset
        }
    }
}

/// Letters of the 16 colours. If the terminal's background is unknown, only the few colours that can be read on both
/// white and black.
fn sixteen_tone(tone: Tone, on: Ground, background: Background) -> Color {
    let is_dark = background.rgb().is_dark();
    match (on, is_dark) {
        (Ground::Thought, true) => return Color::White,
        (Ground::Thought, false) => return Color::Black,
        (Ground::Selected, _) => return Color::Reset,
        (Ground::Code | Ground::Panel | Ground::Plain | Ground::User, _) => {}
    }
    let is_guessed = background == Background::Dark;
    match tone {
        Tone::Border | Tone::Comment | Tone::Dim | Tone::Text => Color::Reset,
        // The bright red can be read on white and on black.
        Tone::Failure | Tone::Removed if is_dark => Color::LightRed,
        Tone::Failure | Tone::Removed => Color::Red,
        Tone::Code | Tone::Keyword | Tone::Number | Tone::Warning if is_guessed || !is_dark => {
            Color::Magenta
        }
        _ if is_guessed => Color::Reset,
        _ if !is_dark => Color::Blue,
        Tone::Accent | Tone::Function | Tone::Heading | Tone::Link | Tone::Type => Color::Cyan,
        Tone::Added | Tone::String | Tone::Success => Color::Green,
        Tone::Code | Tone::Number | Tone::Warning => Color::Yellow,
        Tone::Keyword => Color::Magenta,
    }
}

#[cfg(test)]
mod tests;
