use ratatui::style::{Color, Modifier};

use super::{Background, CONTRAST, Depth, Theme};
use crate::screen::colour::{Rgb, indexed};
use crate::screen::ink::{Ground, Ink, Tone};

/// The default palettes of xterm and of a Linux console.
const PALETTES: [[Rgb; 16]; 2] = [
    [
        Rgb(0, 0, 0),
        Rgb(205, 0, 0),
        Rgb(0, 205, 0),
        Rgb(205, 205, 0),
        Rgb(0, 0, 238),
        Rgb(205, 0, 205),
        Rgb(0, 205, 205),
        Rgb(229, 229, 229),
        Rgb(127, 127, 127),
        Rgb(255, 0, 0),
        Rgb(0, 255, 0),
        Rgb(255, 255, 0),
        Rgb(92, 92, 255),
        Rgb(255, 0, 255),
        Rgb(0, 255, 255),
        Rgb(255, 255, 255),
    ],
    [
        Rgb(0, 0, 0),
        Rgb(170, 0, 0),
        Rgb(0, 170, 0),
        Rgb(170, 85, 0),
        Rgb(0, 0, 170),
        Rgb(170, 0, 170),
        Rgb(0, 170, 170),
        Rgb(170, 170, 170),
        Rgb(85, 85, 85),
        Rgb(255, 85, 85),
        Rgb(85, 255, 85),
        Rgb(255, 255, 85),
        Rgb(85, 85, 255),
        Rgb(255, 85, 255),
        Rgb(85, 255, 255),
        Rgb(255, 255, 255),
    ],
];

fn seen(colour: Color, palette: &[Rgb; 16], otherwise: Rgb) -> Rgb {
    match colour {
        Color::Reset => otherwise,
        Color::Rgb(r, g, b) => Rgb(r, g, b),
        Color::Indexed(index) => indexed(index).unwrap(),
        Color::Black => palette[0],
        Color::Red => palette[1],
        Color::Green => palette[2],
        Color::Yellow => palette[3],
        Color::Blue => palette[4],
        Color::Magenta => palette[5],
        Color::Cyan => palette[6],
        Color::Gray => palette[7],
        Color::DarkGray => palette[8],
        Color::LightRed => palette[9],
        Color::White => palette[15],
        other => panic!("no tone or ground is {other}"),
    }
}

fn backgrounds() -> Vec<Background> {
    let greys = (0..=255).step_by(3).map(|grey| Background::Known(Rgb(grey, grey, grey)));
    let schemes = [Rgb(0, 43, 54), Rgb(253, 246, 227), Rgb(40, 42, 54), Rgb(30, 30, 46)];
    let schemes = schemes.map(Background::Known);
    greys.chain(schemes).chain([Background::Dark, Background::Light]).collect()
}

#[test]
fn req_think_007_3_thoughts_are_lighter_on_dark_and_darker_on_light() {
    for background in backgrounds() {
        let terminal = background.rgb();
        for depth in [Depth::True, Depth::TwoHundredFiftySix] {
            let style = Theme::new(background, depth).style(Ink::default(), Ground::Thought);
            let ground = seen(style.bg.unwrap(), &PALETTES[0], terminal);
            let letters = seen(style.fg.unwrap(), &PALETTES[0], terminal);
            if terminal.is_dark() {
                assert!(ground.luminance() > terminal.luminance(), "{background:?} {depth:?}");
            } else {
                assert!(ground.luminance() < terminal.luminance(), "{background:?} {depth:?}");
            }
            let contrast = letters.contrast(ground);
            assert!(contrast >= CONTRAST, "{contrast} {background:?} {depth:?}");
        }
    }
}

#[test]
fn req_think_007_3_thoughts_are_legible_in_the_usual_palettes_of_16_colours() {
    for palette in &PALETTES {
        for (background, terminal) in
            [(Background::Dark, Rgb::BLACK), (Background::Light, Rgb::WHITE)]
        {
            let theme = Theme::new(background, Depth::Sixteen);
            let style = theme.style(Ink::default(), Ground::Thought);
            let ground = seen(style.bg.unwrap(), palette, terminal);
            let letters = seen(style.fg.unwrap(), palette, terminal);
            // White on xterm's own bright black has 4.0; the greys of other palettes are darker. No calm ground has
            // more.
            assert!(letters.contrast(ground) >= 4.0, "{background:?}");
            let is_lighter = ground.luminance() > terminal.luminance();
            assert_eq!(is_lighter, background == Background::Dark);
        }
    }
}

/// Greys are the only grounds that are calm in every palette of 16 colours. Letters can be read even if the terminal
/// does not report whether it is dark.
#[test]
fn b_11_sixteen_colours_are_calm_and_legible_on_light_and_dark() {
    let (dark, light) = (Rgb(0x14, 0x14, 0x18), Rgb(0xfa, 0xfa, 0xf8));
    for (background, grounds) in [
        (Background::Dark, &[dark, light][..]),
        (Background::Known(dark), &[dark]),
        (Background::Known(light), &[light]),
        (Background::Light, &[light]),
    ] {
        let theme = Theme::new(background, Depth::Sixteen);
        for ground in Ground::ALL {
            for tone in Tone::ALL {
                let style = theme.style(Ink::of(tone), ground);
                let under = style.bg.unwrap();
                assert!(
                    matches!(under, Color::Reset | Color::Gray | Color::DarkGray),
                    "{under:?} is loud under {ground:?}"
                );
                let is_reversed = style.add_modifier.contains(Modifier::REVERSED);
                assert_eq!(is_reversed, ground == Ground::Selected);
                for (terminal, palette) in
                    grounds.iter().flat_map(|it| PALETTES.iter().map(move |palette| (*it, palette)))
                {
                    let own = if terminal.is_dark() { Rgb::WHITE } else { Rgb::BLACK };
                    let letters = seen(style.fg.unwrap(), palette, own);
                    let contrast = letters.contrast(seen(under, palette, terminal));
                    let what = format!("{contrast} {tone:?} on {ground:?}, {background:?}");
                    // Code has 2.88 in the palette that is worst for it.
                    assert!(contrast >= 2.8, "{what}");
                }
            }
        }
    }
}

#[test]
fn all_text_is_legible() {
    for background in backgrounds() {
        for depth in [Depth::True, Depth::TwoHundredFiftySix] {
            let theme = Theme::new(background, depth);
            for ground in Ground::ALL {
                for tone in Tone::ALL.into_iter().filter(|tone| *tone != Tone::Text) {
                    let style = theme.style(Ink::of(tone), ground);
                    let under = seen(style.bg.unwrap(), &PALETTES[0], background.rgb());
                    let letters = seen(style.fg.unwrap(), &PALETTES[0], background.rgb());
                    let contrast = letters.contrast(under);
                    assert!(contrast >= CONTRAST, "{contrast} {tone:?} {ground:?} {background:?}");
                }
            }
        }
    }
}

#[test]
fn req_think_007_2_thoughts_are_italic_in_every_depth() {
    for depth in [Depth::Sixteen, Depth::True, Depth::TwoHundredFiftySix, Depth::Without] {
        let style = Theme::new(Background::Dark, depth).style(Ink::default(), Ground::Thought);
        assert!(style.add_modifier.contains(Modifier::ITALIC), "{depth:?}");
    }
}

#[test]
fn without_colour_nothing_has_one() {
    let theme = Theme::new(Background::Dark, Depth::Without);
    for ground in Ground::ALL {
        for tone in Tone::ALL {
            let style = theme.style(Ink::of(tone), ground);
            assert_eq!((style.fg, style.bg), (Some(Color::Reset), Some(Color::Reset)));
        }
    }
}

#[test]
fn the_environment_tells_the_depth() {
    let depth = |pairs: &[(&str, &str)]| {
        let find = |name: &str| pairs.iter().find(|(key, _)| *key == name);
        Depth::of(|name| find(name).map(|(_, value)| (*value).to_owned()))
    };
    assert_eq!(depth(&[("NO_COLOR", "1"), ("COLORTERM", "truecolor")]), Depth::Without);
    assert_eq!(depth(&[("NO_COLOR", ""), ("COLORTERM", "24bit")]), Depth::True);
    assert_eq!(depth(&[("TERM", "tmux-256color")]), Depth::TwoHundredFiftySix);
    assert_eq!(depth(&[("TERM", "xterm")]), Depth::Sixteen);
    assert_eq!(depth(&[("TERM", "dumb")]), Depth::Without);
}

#[test]
fn the_environment_tells_light_from_dark() {
    let found = ["15;0", "0;15", "0;default;7", "12;8", "", "x"]
        .map(|value| Background::of(|_| Some(value.to_owned())));
    use Background::{Dark, Light};
    assert_eq!(found, [Dark, Light, Light, Dark, Dark, Dark]);
}
