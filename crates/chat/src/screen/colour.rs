//! Colours and their contrast.

/// A colour of the sRGB space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    pub(super) const BLACK: Self = Self(0, 0, 0);
    pub(super) const WHITE: Self = Self(255, 255, 255);

    /// The relative luminance as WCAG 2.1 defines it, from 0 to 1.
    #[must_use]
    pub fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let channel = f64::from(channel) / 255.0;
            if channel <= 0.04045 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }

    /// The contrast of two colours as WCAG 2.1 defines it, from 1 to 21.
    #[must_use]
    pub fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Whether white letters read better on this colour than black letters.
    #[must_use]
    pub fn is_dark(self) -> bool {
        self.contrast(Self::WHITE) >= self.contrast(Self::BLACK)
    }

    /// This colour with a share of another one, in percent.
    #[must_use]
    pub fn mixed(self, other: Self, percent: u8) -> Self {
        let mix = |from: u8, to: u8| {
            let percent = u32::from(percent.min(100));
            let sum = u32::from(from) * (100 - percent) + u32::from(to) * percent;
            u8::try_from((sum + 50) / 100).unwrap_or(u8::MAX)
        };
        Self(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }

    /// The nearest colour with at least this contrast on `ground`, made by mixing in as little white or black as
    /// possible. White or black reaches 4.5 on every ground.
    #[must_use]
    pub fn legible_on(self, ground: Self, contrast: f64) -> Self {
        let (first, second) =
            if ground.is_dark() { (Self::WHITE, Self::BLACK) } else { (Self::BLACK, Self::WHITE) };
        for towards in [first, second] {
            for percent in (0..=100).step_by(4) {
                let colour = self.mixed(towards, percent);
                if colour.contrast(ground) >= contrast {
                    return colour;
                }
            }
        }
        first
    }

    /// The square of the distance, weighted as the eye is.
    pub(super) fn distance(self, other: Self) -> u32 {
        let part = |a: u8, b: u8, weight: u32| u32::from(a.abs_diff(b)).pow(2) * weight;
        part(self.0, other.0, 3) + part(self.1, other.1, 6) + part(self.2, other.2, 1)
    }
}

/// The colour of an index in the xterm palette. `None` for the first 16, which users choose themselves.
pub(super) fn indexed(index: u8) -> Option<Rgb> {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let cube = index.checked_sub(16)?;
    if let Some(grey) = index.checked_sub(232) {
        let level = 8 + grey * 10;
        return Some(Rgb(level, level, level));
    }
    let step = |at: u8| STEPS.get(usize::from(at)).copied().unwrap_or(0);
    Some(Rgb(step(cube / 36), step(cube / 6 % 6), step(cube % 6)))
}

/// The nearest of the 240 fixed colours that has at least this contrast on `ground`, or else one with the highest
/// contrast.
pub(super) fn nearest_index(colour: Rgb, ground: Option<(Rgb, f64)>) -> u8 {
    let enough = |candidate: Rgb| {
        ground.is_none_or(|(ground, contrast)| candidate.contrast(ground) >= contrast)
    };
    let all = (16..=u8::MAX).filter_map(|index| Some((index, indexed(index)?)));
    let legible = all.filter(|(_, candidate)| enough(*candidate));
    let nearest = legible.min_by_key(|(_, candidate)| candidate.distance(colour));
    let extreme = if ground.is_some_and(|(ground, _)| ground.is_dark()) { 231 } else { 16 };
    nearest.map_or(extreme, |(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::{Rgb, indexed, nearest_index};

    #[test]
    fn contrast_is_that_of_the_standard() {
        assert!((Rgb::WHITE.contrast(Rgb::BLACK) - 21.0).abs() < 0.001);
        // A known pair: #767676 is the lightest grey that passes on white.
        assert!(Rgb(0x76, 0x76, 0x76).contrast(Rgb::WHITE) >= 4.5);
        assert!(Rgb(0x77, 0x77, 0x77).contrast(Rgb::WHITE) < 4.5);
    }

    #[test]
    fn text_can_be_made_legible_on_every_grey() {
        for grey in 0..=255 {
            let ground = Rgb(grey, grey, grey);
            let text = Rgb(0xd0, 0x60, 0x60).legible_on(ground, 4.5);
            assert!(text.contrast(ground) >= 4.5, "{text:?} on {ground:?}");
            let index = nearest_index(text, Some((ground, 4.5)));
            assert!(indexed(index).unwrap().contrast(ground) >= 4.5, "{index} on {ground:?}");
        }
    }

    #[test]
    fn indexed_colours_are_those_of_xterm() {
        assert_eq!(indexed(15), None);
        assert_eq!(indexed(16), Some(Rgb(0, 0, 0)));
        assert_eq!(indexed(208), Some(Rgb(255, 135, 0)));
        assert_eq!(indexed(231), Some(Rgb::WHITE));
        assert_eq!(indexed(244), Some(Rgb(128, 128, 128)));
        assert_eq!(nearest_index(Rgb(250, 130, 10), None), 208);
    }
}
