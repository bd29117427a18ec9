//! Cloud accounts in the configuration and in the environment, checked by the requests on the wire.

use crate::place::Place;
use crate::program::command;
use crate::upstream::{Upstream, chat};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

fn provider(upstream: &Upstream, key: &str) -> String {
    format!(
        "[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{}/v1\"\napi_key = {key}\n",
        upstream.url
    )
}

#[test]
fn a_file_with_amazons_keys_signs_each_request() {
    let place = Place::new("aws-file");
    let upstream = Upstream::start(vec![chat("hm", "blue", None)]);
    let keys = json!({"Version": 1, "AccessKeyId": "AKID", "SecretAccessKey": "canary",
        "Region": "eu-central-1"});
    let file = place.write("aws.json", &keys.to_string());
    let config = place.write("config.toml", &provider(&upstream, "{ file = \"aws.json\" }"));
    let asking = ["--config", &config, "-m", "own/m", "hello"];
    // A key file that others can read is refused with a remedy.
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let open = place.ask(&asking);
    assert_eq!(open.code, Some(1), "{open:?}");
    assert!(
        open.err.contains("`providers.own.api_key`: the file")
            && open.err.contains("chmod 600")
            && !open.err.contains("canary"),
        "{}",
        open.err
    );
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let asked = place.ask(&asking);
    assert_eq!((asked.code, asked.out.trim()), (Some(0), "blue"), "{asked:?}");
    let head = upstream.heads().pop().unwrap();
    let signed = "authorization: aws4-hmac-sha256 credential=akid/";
    assert!(head.contains(signed) && head.contains("/eu-central-1/bedrock/"), "{head}");
}

#[test]
fn an_account_of_azure_asks_with_a_token() {
    let place = Place::new("azure");
    let token = json!({"access_token": "t0k", "expires_in": 3600}).to_string();
    let upstream = Upstream::start(vec![token, chat("hm", "blue", None)]);
    let config = place.write("config.toml", &provider(&upstream, "{ env = \"ACCOUNT\" }"));
    let account = json!({"clientId": "c", "clientSecret": "s", "tenantId": "t",
        "activeDirectoryEndpointUrl": upstream.url});
    let mut think = command(&["ask", "--config", &config, "-m", "own/m", "hello"]);
    let think = think.env("ACCOUNT", account.to_string()).env("HOME", place.home());
    let asked = think.current_dir(place.folder()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&asked.stdout).trim(), "blue", "{asked:?}");
    let heads = upstream.heads();
    assert!(heads[0].starts_with("post /t/oauth2/v2.0/token "), "{}", heads[0]);
    assert!(heads[1].contains("authorization: bearer t0k"), "{}", heads[1]);
}

#[test]
fn the_variables_of_amazons_tools_are_taken_where_no_key_is() {
    let place = Place::new("aws-env");
    let upstream = Upstream::start(vec![String::new()]);
    let config = format!("[providers.bedrock]\nbase_url = \"{}\"\n", upstream.url);
    let config = place.write("config.toml", &config);
    let ask = |variables: &[(&str, &str)]| {
        let mut think = command(&["ask", "--config", &config, "-m", "bedrock/m", "hello"]);
        think.env_remove("AWS_BEARER_TOKEN_BEDROCK").env("HOME", place.home());
        think.envs(variables.iter().copied()).current_dir(place.folder());
        String::from_utf8(think.output().unwrap().stderr).unwrap()
    };
    let half = ask(&[("AWS_ACCESS_KEY_ID", "AKID")]);
    assert!(half.contains("`AWS_SECRET_ACCESS_KEY` is not"), "{half}");
    assert!(upstream.heads().is_empty());
    let keys = ("AWS_ACCESS_KEY_ID", "AKID");
    ask(&[keys, ("AWS_SECRET_ACCESS_KEY", "s"), ("AWS_REGION", "us-west-2")]);
    let head = upstream.heads().pop().unwrap();
    assert!(head.contains("credential=akid/") && head.contains("/us-west-2/bedrock/"), "{head}");
}
