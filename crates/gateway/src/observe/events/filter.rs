//! The parameters of a listener's address.

use super::event::{Event, Stream};
use crate::accept::place::unescaped;

/// Chooses events. An event matches if it has one of the values of every given parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    streams: Vec<String>,
    types: Vec<String>,
    sessions: Vec<String>,
    traces: Vec<String>,
    models: Vec<String>,
    providers: Vec<String>,
}

/// The wanted events, and the starting point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Subscription {
    pub(super) filter: Filter,
    /// The id of the last event that the listener received.
    pub(crate) after: Option<String>,
}

/// The known parameters.
const NAMES: &str = "stream, types, session, trace, model, provider, after";

impl Subscription {
    /// Reads the parameters.
    pub(crate) fn of(query: Option<&str>) -> Result<Self, String> {
        let mut subscription = Subscription::default();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = unescaped(&value.replace('+', " "))
                .ok_or_else(|| format!("the value of `{}` cannot be read", plain(name)))?;
            let filter = &mut subscription.filter;
            let list = match name {
                "stream" => &mut filter.streams,
                "types" => &mut filter.types,
                "session" => &mut filter.sessions,
                "trace" => &mut filter.traces,
                "model" => &mut filter.models,
                "provider" => &mut filter.providers,
                "after" => {
                    subscription.after = Some(value);
                    continue;
                }
                // A credential.
                "key" => continue,
                _ => return Err(format!("`{}` is none of {NAMES}", plain(name))),
            };
            match name {
                // These are the gateway's own names, which contain no comma.
                "stream" | "types" => list.extend(value.split(',').map(str::to_owned)),
                _ => list.push(value),
            }
        }
        let unknown =
            subscription.filter.streams.iter().find(|it| !Stream::ALL.contains(&it.as_str()));
        match unknown {
            Some(name) => Err(format!("`{}` is none of {}", plain(name), Stream::ALL.join(", "))),
            None => Ok(subscription),
        }
    }
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_graphic).take(40).collect()
}

impl Filter {
    pub(super) fn wants(&self, event: &Event) -> bool {
        let about = &event.about;
        let is = |list: &[String], values: &[&str]| {
            list.is_empty() || list.iter().any(|wanted| values.contains(&wanted.as_str()))
        };
        is(&self.streams, &[event.stream.as_str()])
            && is(&self.types, &[event.kind])
            && is(&self.sessions, &[about.session.as_deref().unwrap_or_default()])
            && is(&self.traces, &[&about.trace])
            && is(&self.models, &[&about.asked, &about.model])
            && is(&self.providers, &[&about.provider])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_and_what_nobody_knows_is_refused() {
        let subscription = Subscription::of(Some(
            "stream=thinking,budget&session=a%20b&session=c&after=x-1&key=k",
        ));
        let subscription = subscription.unwrap();
        assert_eq!(subscription.filter.streams, ["thinking", "budget"]);
        assert_eq!(subscription.filter.sessions, ["a b", "c"]);
        assert_eq!(subscription.after.as_deref(), Some("x-1"));
        assert_eq!(Subscription::of(None), Ok(Subscription::default()));
        for (query, named) in [("streams=a", "stream, types"), ("stream=all", "lifecycle")] {
            let refused = Subscription::of(Some(query)).unwrap_err();
            assert!(refused.contains(named), "{refused}");
        }
    }
}
