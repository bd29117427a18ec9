//! Values that are secrets, and harmless values.

use super::*;

#[test]
fn what_is_typed_idly_is_a_sample() {
    for value in ["abcdefghijklmnopqrst12", "aaaaaaaaaaaaB2c3", "5555555dAAAAA7777777CcccCFaaaaaa"]
    {
        assert!(is_sample(value.as_bytes()), "{value}");
    }
    assert!(!is_sample(b"1234567890ABCDEFH1234567890"));
}

#[test]
fn secrets_and_what_only_stands_in_their_place() {
    let password = |value: &str| is_secret(value.as_bytes(), Kind::Password, false, false);
    for value in ["hunter2x", "Tr0ub4dor&3", "correct-horse-9", "s3cr3tPass"] {
        assert!(password(value), "{value}");
    }
    for value in [
        "string",
        "required",
        "get_password()",
        "$PASSWORD",
        "ERR_INVALID_CHAR",
        "${DB}",
        "config.password",
        "1.2.3",
        "/etc/x1",
    ] {
        assert!(!password(value), "{value}");
    }
    let quoted = |value: &str| is_secret(value.as_bytes(), Kind::Password, true, false);
    assert!(!quoted("$DB_PASSWORD") && !quoted("GOOGLE_CLOUD_APP") && quoted("$ecret99x"));
    let key = |value: &str| is_secret(value.as_bytes(), Kind::Key, true, false);
    assert!(key("9f8a7c6b5d4e3f2a1b0c") && key("q8Zr2LkV0tXw7NfB"));
    assert!(key("name:9f8a7c6b5d4e3f2a1b0c"));
    assert!(is_literal(b"rootpasswd") && is_literal(b"TestSource-Password"));
    assert!(!is_literal(b"new-password") && !is_literal(b"Passwort") && !is_literal(b"secret"));
    for value in [
        "my_token_name_for_v2",
        "sk-xxxxxxxxxxxxxxxxxxxx",
        "https://host/path?x=1234",
        "TokenKind::Identifier99",
        "6632:Acj7t54blwol1iqpf2e6o3tn2i63j4toojg",
    ] {
        assert!(!key(value), "{value}");
    }
}
