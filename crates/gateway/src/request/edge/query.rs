//! Selects the parameters of a caller's URL that go upstream.

use crate::accept::admission::decoded_name;

/// Parameters that carry a credential, name an account, or change the kind of a request.
const NEVER: [&str; 10] = [
    "$httpmethod",
    "access_token",
    "api-key",
    "api_key",
    "callback",
    "key",
    "oauth_token",
    "quotauser",
    "userproject",
    "x-http-method-override",
];

/// Adds the caller's parameters to a URL. The URL's own parameters win, because they determine the format of the
/// answer.
pub(crate) fn with_query(url: &str, query: Option<&str>) -> String {
    let (base, own) = url.split_once('?').unwrap_or((url, ""));
    let pairs = |query: &'_ str| -> Vec<String> {
        query.split('&').filter(|pair| !pair.is_empty()).map(str::to_owned).collect()
    };
    let mut all = pairs(own);
    let taken: Vec<String> = all.iter().map(|pair| name(pair)).collect();
    let said = pairs(query.unwrap_or_default()).into_iter().filter(|pair| {
        let name = name(pair);
        // Google's API also accepts its own parameters with a dollar sign.
        let plain = name.trim_start_matches('$');
        !NEVER.contains(&name.as_str()) && !taken.iter().any(|taken| taken == plain)
    });
    all.extend(said);
    if all.is_empty() { base.to_owned() } else { format!("{base}?{}", all.join("&")) }
}

/// The decoded name of a parameter.
fn name(pair: &str) -> String {
    decoded_name(pair.split('=').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoints_own_parameters_stay_and_a_callers_come_behind() {
        for (url, query, expected) in [
            ("http://u/a", None, "http://u/a"),
            ("http://u/a", Some("beta=true"), "http://u/a?beta=true"),
            ("http://u/a?alt=sse", Some(""), "http://u/a?alt=sse"),
            ("http://u/a?alt=sse", Some("alt=json&beta=1"), "http://u/a?alt=sse&beta=1"),
            ("http://u/a?alt=sse", Some("%61lt=json&Alt=x"), "http://u/a?alt=sse"),
            ("http://u/a?alt=sse", Some("$alt=json;enum-encoding=int"), "http://u/a?alt=sse"),
            ("http://u/a?api-version=1", Some("x"), "http://u/a?api-version=1&x"),
        ] {
            assert_eq!(with_query(url, query), expected, "{query:?}");
        }
    }

    #[test]
    fn t_7_no_parameter_carries_a_credential_or_names_an_account() {
        for pair in [
            "key=k",
            "%6bey=k",
            "%256bey=k",
            "KEY=k",
            "k%65y",
            "access_token=t",
            "userProject=p",
            "%24httpMethod=DELETE",
            "$httpMethod=DELETE",
            "callback=f",
        ] {
            let url = with_query("http://u/a", Some(&format!("a=1&{pair}&b=2")));
            assert_eq!(url, "http://u/a?a=1&b=2", "{pair}");
        }
        assert_eq!(with_query("http://u/a", Some("monkey=1&%zz=2")), "http://u/a?monkey=1&%zz=2");
    }
}
