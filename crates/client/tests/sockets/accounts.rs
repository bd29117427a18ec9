//! Accounts of clouds: tokens are fetched when they are needed and not twice, and Amazon's keys sign.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use thinkthrough_client::{Auth, Request, Secret, Transport, account};

use crate::client;
use crate::server::{Seen, ok, serve};

/// Made for these tests and good for nothing else.
const KEY: &str = include_str!("service-account.pem");

/// A provider with a token endpoint: what was asked of both, and the head of the answers of the API.
struct Cloud {
    url: String,
    tokens: Arc<Mutex<Vec<String>>>,
    calls: Arc<Mutex<Vec<Seen>>>,
}

async fn cloud(token: &'static str, refuse_first: usize) -> Cloud {
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let calls = Arc::new(Mutex::new(Vec::new()));
    let (forms, seen) = (Arc::clone(&tokens), Arc::clone(&calls));
    let count = Arc::new(AtomicUsize::new(0));
    let (address, _) = serve(move |mut peer, _| {
        let (forms, seen, count) = (Arc::clone(&forms), Arc::clone(&seen), Arc::clone(&count));
        async move {
            while let Some(asked) = peer.request().await {
                if asked.head.starts_with("POST /token") || asked.head.contains("/oauth2/") {
                    let number = {
                        let mut forms = forms.lock().unwrap();
                        forms.push(String::from_utf8(asked.body).unwrap());
                        forms.len()
                    };
                    peer.write(token.replace("NUMBER", &number.to_string())).await;
                    continue;
                }
                seen.lock().unwrap().push(asked);
                let answer = match count.fetch_add(1, Ordering::SeqCst) < refuse_first {
                    true => "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n".to_owned(),
                    false => ok("{}"),
                };
                peer.write(answer).await;
            }
        }
    })
    .await;
    Cloud { url: format!("http://{address}"), tokens, calls }
}

impl Cloud {
    fn service_account(&self) -> Auth {
        credential(&json!({
            "type": "service_account", "private_key": KEY, "private_key_id": "k1",
            "client_email": "robot@project.example", "token_uri": format!("{}/token", self.url),
        }))
    }

    async fn ask(&self, auth: &Auth) -> Result<u16, String> {
        let mut request = Request::post(&format!("{}/api", self.url), "{}").unwrap();
        request.headers.insert("content-type", "application/json".parse().unwrap());
        request.headers.insert("authorization", "Bearer of-somebody-else".parse().unwrap());
        request.auth = auth.clone();
        let answer = Transport::Http(client()).send(&request).await;
        answer.map(|answer| answer.status.as_u16()).map_err(|error| error.to_string())
    }

    /// The credentials that the API saw.
    fn seen(&self, header: &str) -> Vec<String> {
        let start = format!("{header}: ");
        let calls = self.calls.lock().unwrap();
        let lines = calls.iter().flat_map(|seen| seen.head.lines());
        lines.filter_map(|line| line.strip_prefix(&start)).map(str::to_owned).collect()
    }
}

fn credential(json: &Value) -> Auth {
    account::read(&Secret::new(json.to_string())).unwrap().unwrap()
}

const LONG: &str = "HTTP/1.1 200 OK\r\ncontent-length: 42\r\n\r\n{\"access_token\":\"t0k-NUMBER\",\"expires_in\":3599}";
const SHORT: &str = "HTTP/1.1 200 OK\r\ncontent-length: 42\r\n\r\n{\"access_token\":\"t0k-NUMBER\",\"expires_in\":\"60\"}";

#[tokio::test(flavor = "multi_thread")]
async fn a_service_account_signs_once_and_many_requests_use_its_token() {
    let cloud = cloud(LONG, 0).await;
    let auth = cloud.service_account();
    let asked = tokio::join!(cloud.ask(&auth), cloud.ask(&auth), cloud.ask(&auth));
    assert_eq!(asked, (Ok(200), Ok(200), Ok(200)));
    assert_eq!(cloud.seen("authorization"), ["Bearer t0k-1"; 3]);
    let forms = cloud.tokens.lock().unwrap().clone();
    let [form] = &forms[..] else { panic!("{forms:?}") };
    let start = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    let (said, signature) = form.strip_prefix(start).unwrap().rsplit_once('.').unwrap();
    let key = PrivatePkcs8KeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    let key = RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).unwrap();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref());
    public.verify(said.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
    let parts: Vec<Value> = said
        .split('.')
        .map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap())
        .collect();
    assert_eq!(parts[0], json!({"alg": "RS256", "typ": "JWT", "kid": "k1"}));
    assert_eq!(parts[1]["iss"], "robot@project.example");
    assert_eq!(parts[1]["aud"], format!("{}/token", cloud.url));
    assert_eq!(parts[1]["exp"].as_u64().unwrap() - parts[1]["iat"].as_u64().unwrap(), 3600);
}

#[tokio::test]
async fn a_token_that_ends_soon_or_was_refused_is_fetched_anew() {
    let ending = cloud(SHORT, 0).await;
    let auth = ending.service_account();
    assert_eq!(ending.ask(&auth).await, Ok(200));
    assert_eq!(ending.ask(&auth).await, Ok(200));
    assert_eq!(ending.seen("authorization"), ["Bearer t0k-1", "Bearer t0k-2"]);
    let refusing = cloud(LONG, 1).await;
    let auth = refusing.service_account();
    assert_eq!(refusing.ask(&auth).await, Ok(401));
    assert_eq!(refusing.ask(&auth).await, Ok(200));
    assert_eq!(refusing.seen("authorization"), ["Bearer t0k-1", "Bearer t0k-2"]);
}

#[tokio::test]
async fn azures_and_a_users_credentials_are_sent_in_a_form() {
    let cloud = cloud(LONG, 0).await;
    let azure = credential(&json!({"clientId": "c", "clientSecret": "s/1", "tenantId": "t",
        "activeDirectoryEndpointUrl": format!("{}/", cloud.url)}));
    assert_eq!(cloud.ask(&azure).await, Ok(200));
    let user =
        credential(&json!({"type": "authorized_user", "client_id": "c", "client_secret": "s",
        "refresh_token": "r", "token_uri": format!("{}/token", cloud.url)}));
    assert_eq!(cloud.ask(&user).await, Ok(200));
    let scope = "https%3A%2F%2Fcognitiveservices.azure.com%2F.default";
    let azure =
        format!("grant_type=client_credentials&client_id=c&client_secret=s%2F1&scope={scope}");
    let user = "grant_type=refresh_token&client_id=c&client_secret=s&refresh_token=r";
    assert_eq!(*cloud.tokens.lock().unwrap(), [azure.as_str(), user]);
    assert_eq!(cloud.seen("authorization"), ["Bearer t0k-1", "Bearer t0k-2"]);
}

#[tokio::test]
async fn a_refused_credential_is_said_with_the_endpoints_words_and_without_the_secret() {
    const NO: &str = "HTTP/1.1 400 Bad Request\r\ncontent-length: 68\r\n\r\n{\"error\":\"invalid_grant\",\"error_description\":\"the account is gone.\"}";
    let cloud = cloud(NO, 0).await;
    let error = cloud.ask(&cloud.service_account()).await.unwrap_err();
    let expected = format!(
        "`{}/token` gives no access token (it answered with status 400, invalid_grant: the account is gone); \
         check the credential",
        cloud.url
    );
    assert_eq!(error, expected);
    assert!(cloud.calls.lock().unwrap().is_empty(), "nothing is asked without a token");
}

#[tokio::test]
async fn amazons_keys_sign_what_goes_out() {
    let cloud = cloud(LONG, 0).await;
    let auth = credential(&json!({"Version": 1, "AccessKeyId": "AKID", "SecretAccessKey": "s",
        "SessionToken": "t0k", "Region": "eu-central-1"}));
    assert_eq!(cloud.ask(&auth).await, Ok(200));
    let [header] = &cloud.seen("authorization")[..] else { panic!("one credential") };
    assert!(header.starts_with("AWS4-HMAC-SHA256 Credential=AKID/"), "{header}");
    let signed = "/eu-central-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=";
    assert!(header.contains(signed), "{header}");
    assert_eq!(cloud.seen("x-amz-security-token"), ["t0k"]);
    assert_eq!(cloud.seen("x-amz-date").len(), 1);
    assert!(cloud.tokens.lock().unwrap().is_empty());
}
