use proptest::prelude::*;

use super::*;

const CARD: &str = "4111111111111111";

/// Checks that a text on one line comes out so.
fn check(text: &str, expected: &str) {
    assert_eq!(Masker::default().line(text), expected, "{text}");
}

/// Checks that nothing is left of the secret in the text, in each form in which it may come.
fn check_gone(text: &str, secret: &str) {
    for text in [
        text.to_owned(),
        text.to_uppercase(),
        format!("before {text} after"),
        format!("before\n{text}\nafter"),
    ] {
        let masker = Masker::default();
        for told in [masker.line(&text), masker.text(&text)] {
            let told = told.to_lowercase();
            assert!(!told.contains(&secret.to_lowercase()), "{text} -> {told}");
            assert!(told.contains(MASK), "{text} -> {told}");
        }
    }
}

#[test]
fn every_kind_of_card_number_is_masked() {
    for card in [
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "4111-1111 1111-1111",
        "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "378282246310005",
        "3782 822463 10005",
        "30569309025904",
        "4222222222222",
        "6304000000000000000",
    ] {
        check(card, "***");
        check(&format!("card {card}, declined"), "card ***, declined");
        check(&format!("x{card}y"), "x***y");
        check(&format!("{card}\n{card}"), "*** ***");
    }
    check("12 4111 1111 1111 1111 35", "12 *** 35");
    check("4111\n1111\r1111\t1111", "***");
}

#[test]
fn numbers_that_are_no_cards_stay() {
    for text in [
        "4111111111111112",
        "4111 1111 1111 1112",
        "411111111111",
        "41111111111111110000000000",
        "4111  1111  1111  1111",
        "4111.1111.1111.1111",
        "2026-11-30T20:32:19.805Z",
        "1755933141855",
        "2026-11-30 20:32:19",
        "brew.payments.v1/0/14",
        "fd7af248-ce5c-46a5-93d7-1c0c9005b99d",
    ] {
        check(text, text);
    }
}

#[test]
fn every_spelling_of_a_bearer_token_is_masked() {
    for text in [
        "Bearer sk_live_abc.d-e~f+/==",
        "Bearer  sk_live_abc",
        "Bearer: sk_live_abc",
        "Bearer=sk_live_abc",
        "bearer_token=sk_live_abc",
        "bearer token: sk_live_abc",
        r#""bearer":"sk_live_abc""#,
        r#"{\"bearer\":\"sk_live_abc\"}"#,
        "Bearer%20sk_live_abc",
        "Bearer Bearer sk_live_abc",
        "Bearer\tsk_live_abc",
        "Bearer\r\n sk_live_abc",
    ] {
        check_gone(text, "sk_live_abc");
    }
    check("got Bearer abc: refused", "got Bearer *** refused");
}

#[test]
fn every_spelling_of_an_authorization_value_is_masked() {
    for text in [
        "Authorization: Basic s3cr3tvalue",
        "Authorization: Bearer s3cr3tvalue",
        "Authorization: s3cr3tvalue",
        "authorization:s3cr3tvalue",
        "Authorization:    Basic     s3cr3tvalue",
        "Authorization: Basic\r\n s3cr3tvalue",
        "Proxy-Authorization: Basic s3cr3tvalue",
        "HTTP_AUTHORIZATION=Basic s3cr3tvalue",
        "Authorization header: Custom s3cr3tvalue",
        r#"{"authorization":"Basic s3cr3tvalue","x":"y"}"#,
        r#"{"authorization" : "Custom a b c s3cr3tvalue"}"#,
        r#"{\"authorization\": \"Basic s3cr3tvalue\"}"#,
        r#"{\\\"authorization\\\": \\\"Basic s3cr3tvalue\\\"}"#,
        "{'Authorization': 'Basic s3cr3tvalue'}",
        r#"("authorization", "Basic s3cr3tvalue")"#,
        r#"{"name":"Authorization","value":"Basic s3cr3tvalue"}"#,
        r#"Header { name: "authorization", value: "Basic s3cr3tvalue" }"#,
        r#"{"authorization": ["Basic s3cr3tvalue"]}"#,
        "map[Authorization:[Basic s3cr3tvalue] Accept:[*/*]]",
        "curl -H 'Authorization: Basic s3cr3tvalue' https://provider.example",
        "authorization=Basic%20s3cr3tvalue",
        "authorization%3A%20Basic%20s3cr3tvalue",
        "Authorization => Basic s3cr3tvalue",
        r#"Authorization: Digest username="me", realm="a b", response="s3cr3tvalue""#,
        "Authorization: AWS4-HMAC-SHA256 Credential=AK/2026/s3, SignedHeaders=host, Signature=s3cr3tvalue",
        r#"{"authorization":"Basic s3cr3tvalue"#,
    ] {
        check_gone(text, "s3cr3tvalue");
    }
    check(
        "authorization failed for k-7",
        "authorization failed for k-7",
    );
    check(
        r#"{"authorization":"Basic abc","status":500}"#,
        r#"{"authorization":"***","status":500}"#,
    );
    check(
        "Authorization: Basic abc, status 500",
        "Authorization: ***, status 500",
    );
}

#[test]
fn a_name_and_password_in_base64_is_masked_and_a_basic_word_is_not() {
    check("sent Basic dXNlcjpwYXNz to it", "sent Basic *** to it");
    check("sent basic dXNlcjpwYXNzdw==", "sent basic ***");
    check(
        "a basic understanding of cards",
        "a basic understanding of cards",
    );
}

#[test]
fn passwords_in_urls_are_masked() {
    for text in [
        "https://me:s3cr3t@provider.example/v1",
        "https://:s3cr3t@provider.example",
        "amqp://me:s3cr3t@host:5672/x",
        "postgres://me:a@s3cr3t@host/db",
        "postgres://me:a/s3cr3t@host/db",
        "postgres://me:a?s3cr3t#b@host/db",
        "https://host/login?user=me&password=s3cr3t",
        "https://host/login?access_token=s3cr3t&x=y",
        "https://host/login?api_key=s3cr3t",
    ] {
        check_gone(text, "s3cr3t");
    }
    check("https://me:abc@host/x", "https://me:***@host/x");
    check(
        "http://host:8080/v1/charges?by=me@host",
        "http://host:8080/v1/charges?by=me@host",
    );
    check("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1");
}

#[test]
fn the_given_secrets_are_masked_and_blank_ones_mask_nothing() {
    let secrets = ["tok3n", "", "  ", "two words\n", "a\u{e9}b"].map(str::to_owned);
    let masker = Masker::with_secrets(secrets);
    let check = |text: &str, expected: &str| assert_eq!(masker.line(text), expected, "{text}");
    check("a tok3n, atok3nb", "a ***, a***b");
    check("two words and a\u{e9}b", "*** and ***");
    check("nothing here", "nothing here");
    check("", "");
    assert_eq!(format!("{masker:?}"), "Masker { secrets: 3 }");
}

#[test]
fn a_secret_that_is_a_piece_of_the_mask_ends() {
    for secret in ["a", "*", "**", MASK] {
        let masker = Masker::with_secrets([secret.to_owned()]);
        let once = masker.line(&format!("x{secret}y"));
        assert_eq!(once, "x***y", "{secret}");
        assert_eq!(masker.line(&once), once);
    }
}

#[test]
fn a_line_is_one_line_of_at_most_1024_bytes_cut_on_a_character() {
    check(
        "a\r\nb\u{0}\u{1b}[31m\u{85}c\u{2028}d\u{7f}",
        "a b [31m c d ",
    );
    check("", "");
    let long = "\u{20ac}".repeat(1_000);
    let line = Masker::default().line(&long);
    assert_eq!(line.len(), 1_023);
    check(&format!("{}é", "x".repeat(1_023)), &"x".repeat(1_023));
    check(&"x".repeat(1_024), &"x".repeat(1_024));
}

#[test]
fn a_secret_across_the_cut_leaves_nothing_behind() {
    for before in 990..1_030 {
        for secret in [
            "4111 1111 1111 1111",
            "Bearer abcdefghijklmnop",
            "4111111111111111",
        ] {
            let line = Masker::default().line(&format!("{}{secret} x", " ".repeat(before)));
            for piece in ["4111 1111", "4111111111111111", "abc"] {
                assert!(!line.contains(piece), "{before}: {}", line.trim_start());
            }
        }
    }
}

#[test]
fn the_text_keeps_its_lines_and_its_length() {
    let text = format!("first\nAuthorization: Basic abc\n{}", "x".repeat(2_000));
    let expected = format!("first\nAuthorization: ***\n{}", "x".repeat(2_000));
    assert_eq!(Masker::default().text(&text), expected);
}

#[test]
fn a_providers_error_of_two_mebibytes_is_masked_cut_and_told_from_its_beginning() {
    let secrets = "card 4111 1111 1111 1111 refused\r\nAuthorization: Bearer sk_live_abc\r\n";
    let text = format!("{secrets}{}{secrets}", "\u{20ac}".repeat(700_000));
    let line = Masker::default().line(&text);
    assert!(
        line.starts_with("card *** refused Authorization: *** \u{20ac}"),
        "{line}"
    );
    assert!((1_000..=LINE_LIMIT).contains(&line.len()));
}

/// Runs in a debug build on a busy machine, so that the bound is generous: a pattern that backtracks would take hours.
#[test]
fn two_mebibytes_of_anything_are_masked_in_passing() {
    for piece in [
        "x",
        "1 ",
        "41111111",
        "Bearer ",
        "authorization: \"",
        "://a:",
        "\n",
        "***",
        "é\u{0}",
    ] {
        let mut text = String::new();
        while text.len() < 2 << 20 {
            text.push_str(piece);
        }
        assert!(Masker::default().line(&text).len() <= LINE_LIMIT);
    }
}

/// Makes a number Luhn-valid by its last digit, written down as a table and not as the code under test computes it.
fn with_check_digit(mut digits: Vec<usize>) -> Vec<usize> {
    const DOUBLED: [usize; 10] = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9];
    let sum: usize = digits
        .iter()
        .rev()
        .zip([true, false].into_iter().cycle())
        .map(|(digit, doubled)| if doubled { DOUBLED[*digit] } else { *digit })
        .sum();
    let check = (0..10).find(|check| sum.saturating_add(*check).is_multiple_of(10));
    digits.push(check.unwrap());
    digits
}

fn card() -> impl Strategy<Value = String> {
    let digits = prop::collection::vec(0_usize..10, 12..=18).prop_map(with_check_digit);
    let separators = prop::collection::vec(prop::sample::select(vec!["", "", " ", "-"]), 18);
    (digits, separators).prop_map(|(digits, separators)| {
        let mut card = String::new();
        for (index, digit) in digits.iter().enumerate() {
            card.push_str(if index == 0 {
                ""
            } else {
                separators[index.saturating_sub(1)]
            });
            card.push_str(&digit.to_string());
        }
        card
    })
}

fn digits_of(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Text of the pieces of which secrets are made.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = vec![
        "bearer",
        "authorization",
        "basic",
        "value",
        "token",
        "header",
        "://",
        ":",
        "=",
        "@",
        "/",
        "?",
        ",",
        "\"",
        "'",
        "\\",
        " ",
        "\n",
        "\t",
        "[",
        "]",
        "{",
        "a",
        "b",
        "1",
        "4111",
        "1111",
        CARD,
        "-",
        "%20",
        MASK,
        "**",
        "é",
        "\u{0}",
        "password",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_card_number_never_survives(card in card(), before in "[^0-9]{0,20}", after in "[^0-9]{0,20}") {
        let text = format!("{before}{card}{after}");
        let masker = Masker::default();
        prop_assert_eq!(digits_of(&masker.text(&text)), "");
        prop_assert_eq!(digits_of(&masker.line(&text)), "");
    }

    #[test]
    fn a_line_is_bounded_and_masked_for_good(text in "\\PC{0,1200}|(?s).{0,1200}") {
        let masker = Masker::default();
        let line = masker.line(&text);
        prop_assert!(line.len() <= LINE_LIMIT);
        prop_assert!(!line.contains(char::is_control));
        prop_assert_eq!(masker.line(&line), line);
    }

    #[test]
    fn what_is_masked_once_stays_as_it_is(text in hostile(), secret in "[ab*]{0,2}") {
        let masker = Masker::with_secrets([secret]);
        let told = masker.text(&text);
        prop_assert_eq!(masker.text(&told), told);
        let line = masker.line(&text);
        prop_assert_eq!(masker.line(&line), line);
    }
}
