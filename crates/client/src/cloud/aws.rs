//! Requests that are signed with Amazon's keys.
//!
//! Source: <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderName, HeaderValue, Request, Uri};
use ring::{digest, hmac};

use crate::error::{ClientError, shown};
use crate::secret::Secret;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const SESSION: HeaderName = HeaderName::from_static("x-amz-security-token");
/// The service that all of Bedrock's hosts belong to.
const SERVICE: &str = "bedrock";

/// Amazon's keys of an account or a role.
#[derive(Clone, Debug)]
pub struct AwsKeys {
    id: String,
    secret: Secret,
    session: Option<Secret>,
    region: Option<String>,
}

impl AwsKeys {
    /// Takes the id of the key, the key, the token of its session if it is a temporary one, and the region, for
    /// addresses that do not tell it.
    #[must_use]
    pub fn new(id: &str, secret: Secret, session: Option<Secret>, region: Option<&str>) -> Self {
        AwsKeys { id: id.to_owned(), secret, session, region: region.map(str::to_owned) }
    }

    /// The public id of the key pair.
    #[must_use]
    pub fn who(&self) -> &str {
        &self.id
    }

    /// The secret parts of these keys.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        std::iter::once(&self.secret).chain(&self.session)
    }

    /// Puts the date, the session and the signature into a request that is otherwise complete.
    pub(crate) fn sign(
        &self,
        request: &mut Request<Bytes>,
        at: SystemTime,
    ) -> Result<(), ClientError> {
        let host = request.uri().host().unwrap_or_default();
        let region = region_of(host).or(self.region.as_deref()).ok_or_else(|| {
            ClientError::Request(format!(
                "`{}` does not tell its region; add `Region` to the credential",
                shown(request.uri())
            ))
        })?;
        let region = region.to_owned();
        self.sign_for(request, &region, SERVICE, at)
    }

    fn sign_for(
        &self,
        request: &mut Request<Bytes>,
        region: &str,
        service: &str,
        at: SystemTime,
    ) -> Result<(), ClientError> {
        let time = basic_time(at);
        let day = time.get(..8).unwrap_or_default();
        let scope = format!("{day}/{region}/{service}/aws4_request");
        request.headers_mut().insert(DATE, value(&time)?);
        if let Some(session) = &self.session {
            request.headers_mut().insert(SESSION, value(session.expose())?);
        }
        let (canonical, signed) = canonical(request);
        let to_sign = format!("{ALGORITHM}\n{time}\n{scope}\n{}", sha256(canonical.as_bytes()));
        let first = format!("AWS4{}", self.secret.expose());
        let key = [day, region, service, "aws4_request"]
            .iter()
            .fold(first.into_bytes(), |key, part| mac(&key, part.as_bytes()));
        let signature = hex(&mac(&key, to_sign.as_bytes()));
        let id = &self.id;
        let header = format!(
            "{ALGORITHM} Credential={id}/{scope}, SignedHeaders={signed}, Signature={signature}"
        );
        request.headers_mut().insert(AUTHORIZATION, value(&header)?);
        Ok(())
    }
}

/// The region in the name of a host of Bedrock, such as `bedrock-runtime.eu-central-1.amazonaws.com`.
fn region_of(host: &str) -> Option<&str> {
    let mut labels = host.split('.');
    labels.find(|label| label.starts_with(SERVICE))?;
    labels.next().filter(|region| region.contains('-'))
}

/// Returns the text to sign, and the names of the headers in it. Only headers that stay unchanged on the way are
/// signed.
fn canonical(request: &Request<Bytes>) -> (String, String) {
    let uri = request.uri();
    let host = uri.authority().map_or("", http::uri::Authority::as_str).to_owned();
    let mut headers = vec![(HOST, host)];
    for name in [CONTENT_TYPE, DATE, SESSION] {
        if let Some(value) = request.headers().get(&name).and_then(|value| value.to_str().ok()) {
            headers.push((name, value.split_ascii_whitespace().collect::<Vec<_>>().join(" ")));
        }
    }
    headers.sort_by(|one, other| one.0.as_str().cmp(other.0.as_str()));
    let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    let signed = names.join(";");
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let path = escaped(uri.path(), true);
    let canonical = format!(
        "{}\n{path}\n{}\n{lines}\n{signed}\n{}",
        request.method(),
        query(uri),
        sha256(request.body())
    );
    (canonical, signed)
}

/// The parameters in order, each escaped in the one way that signatures know.
fn query(uri: &Uri) -> String {
    let pairs = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<(String, String)> = pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (escaped(unescaped(name), false), escaped(unescaped(value), false))
        })
        .collect();
    pairs.sort();
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

fn escaped(text: impl AsRef<[u8]>, is_path: bool) -> String {
    let mut out = String::new();
    for byte in text.as_ref() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(*byte));
            }
            b'/' if is_path => out.push('/'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut rest = text.as_bytes();
    let mut out = Vec::with_capacity(rest.len());
    while let Some((byte, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *byte == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    out
}

/// `20150830T123600Z`.
fn basic_time(at: SystemTime) -> String {
    let seconds = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hours, minutes, seconds) = (time / 3600, time / 60 % 60, time % 60);
    format!("{year:04}{month:02}{day:02}T{hours:02}{minutes:02}{seconds:02}Z")
}

/// Returns the date of a day after the beginning of 1970, by counting years and months: requests are too rare for a
/// faster algorithm.
fn date(mut days: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

fn value(text: &str) -> Result<HeaderValue, ClientError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        ClientError::Request(
            "the credential holds a character that no header can carry; copy it again".to_owned(),
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn mac(key: &[u8], data: &[u8]) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, data).as_ref().to_vec()
}

fn sha256(data: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, data).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// The keys and the moment of Amazon's published examples of signatures.
    fn signed(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> String {
        let secret = Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
        let keys = AwsKeys::new("AKIDEXAMPLE", secret, None, None);
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Bytes::copy_from_slice(body.as_bytes())).unwrap();
        let at = UNIX_EPOCH + Duration::from_secs(1_440_938_160);
        keys.sign_for(&mut request, "us-east-1", "service", at).unwrap();
        assert_eq!(request.headers()["x-amz-date"], "20150830T123600Z");
        let header = request.headers()[AUTHORIZATION].to_str().unwrap();
        assert!(header.starts_with(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders="
        ));
        header.rsplit_once('=').unwrap().1.to_owned()
    }

    #[test]
    fn signatures_are_those_of_amazons_examples() {
        let base = "https://example.amazonaws.com";
        assert_eq!(
            signed("GET", &format!("{base}/"), &[], ""),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
        );
        assert_eq!(
            signed("POST", &format!("{base}/"), &[], ""),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
        );
        assert_eq!(
            signed("GET", &format!("{base}/?Param2=value2&Param1=value1"), &[], ""),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
        );
        let form = [("content-type", "application/x-www-form-urlencoded")];
        assert_eq!(
            signed("POST", &format!("{base}/"), &form, "Param1=value1"),
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"
        );
    }

    #[test]
    fn the_path_is_escaped_once_more_and_the_session_is_signed() {
        let keys = AwsKeys::new("AKID", Secret::new("s"), Some(Secret::new("t0k")), None);
        let url =
            "https://bedrock-runtime.eu-central-1.amazonaws.com/model/a%3A0/converse?b=2&a=%20";
        let mut request = Request::post(url).body(Bytes::new()).unwrap();
        keys.sign(&mut request, UNIX_EPOCH).unwrap();
        let (text, signed) = canonical(&request);
        assert_eq!(signed, "host;x-amz-date;x-amz-security-token");
        assert!(
            text.starts_with("POST\n/model/a%253A0/converse\na=%20&b=2\nhost:bedrock-runtime.")
        );
        assert!(text.contains("\nx-amz-security-token:t0k\n"), "{text}");
        let header = request.headers()[AUTHORIZATION].to_str().unwrap();
        assert!(header.contains("/19700101/eu-central-1/bedrock/aws4_request"), "{header}");
    }

    #[test]
    fn the_region_is_the_hosts_or_that_of_the_credential() {
        assert_eq!(region_of("bedrock-runtime.us-east-1.amazonaws.com"), Some("us-east-1"));
        let within = "vpce-0a.bedrock-runtime.eu-west-3.vpce.amazonaws.com";
        assert_eq!(region_of(within), Some("eu-west-3"));
        assert_eq!(region_of("bedrock.example"), None);
        let mut request = Request::post("http://10.0.0.5/model").body(Bytes::new()).unwrap();
        let keys = AwsKeys::new("AKID", Secret::new("s"), None, None);
        let error = keys.sign(&mut request, UNIX_EPOCH).unwrap_err().to_string();
        assert!(error.contains("add `Region` to the credential"), "{error}");
        let keys = AwsKeys::new("AKID", Secret::new("s"), None, Some("ap-south-1"));
        keys.sign(&mut request, UNIX_EPOCH).unwrap();
        assert!(request.headers()[AUTHORIZATION].to_str().unwrap().contains("/ap-south-1/"));
    }

    #[test]
    fn dates_are_right_over_leap_years() {
        let day = |days: u64| basic_time(UNIX_EPOCH + Duration::from_secs(days * 86_400 + 3661));
        assert_eq!(day(0), "19700101T010101Z");
        assert_eq!(day(11_016), "20000229T010101Z");
        assert_eq!(day(20_778), "20261121T010101Z");
        assert_eq!(day(47_540), "21000228T010101Z");
        assert_eq!(day(47_541), "21000301T010101Z");
    }
}
