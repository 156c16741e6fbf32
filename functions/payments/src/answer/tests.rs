use super::*;

fn answer(status: u16, body: &[u8], end: BodyEnd) -> Answer {
    Answer {
        status,
        body: body.to_vec(),
        end,
    }
}

fn whole(status: u16, body: &str) -> Answer {
    answer(status, body.as_bytes(), BodyEnd::Whole)
}

/// Returns what an answer means as one short word, or the code of its failure.
fn charged(answer: &Answer) -> String {
    match Charged::of(answer) {
        Charged::Yes => "charged".to_owned(),
        Charged::Unsure(failure) => format!("ask, else {}", failure.code),
        Charged::Failed(failure) => failure.code.to_string(),
    }
}

fn asked(answer: &Answer) -> String {
    match Asked::of(answer) {
        Asked::Succeeded => "charged".to_owned(),
        Asked::NotCharged => "not charged".to_owned(),
        Asked::Unknown(failure) => failure.code.to_string(),
    }
}

/// The contract's table, written a second time in another form.
fn expected(status: u16) -> &'static str {
    if (500..600).contains(&status) {
        return "provider.unavailable";
    }
    let table: [(&[u16], &str); 6] = [
        (&[402], "provider.declined"),
        (&[400, 413, 422], "provider.rejected"),
        (&[429], "provider.rate_limited"),
        (&[408, 409, 423, 425], "provider.busy"),
        (&[401, 403], "provider.unauthorized"),
        (&[], ""),
    ];
    table
        .iter()
        .find(|(statuses, _)| statuses.contains(&status))
        .map_or("provider.unexpected", |(_, code)| code)
}

#[test]
fn every_status_of_a_charge_means_what_the_contract_says() {
    for status in 100..=999 {
        for body in ["", "{", "null", "[]", r#"{"status":"succeeded"}"#, "<html>"] {
            let expected = match status {
                200 | 201 => "charged".to_owned(),
                400 | 409 | 422 => format!("ask, else {}", expected(status)),
                _ => expected(status).to_owned(),
            };
            assert_eq!(charged(&whole(status, body)), expected, "{status} {body}");
        }
    }
}

#[test]
fn every_status_of_a_question_means_what_the_contract_says() {
    for status in 100..=999 {
        for body in ["", "{", "null", "[]", r#"{"status":"new"}"#, "<html>"] {
            let expected = match status {
                404 => "not charged",
                _ => expected(status),
            };
            assert_eq!(asked(&whole(status, body)), expected, "{status} {body}");
        }
        let succeeded = asked(&whole(status, r#"{"status":"succeeded"}"#));
        assert_eq!(succeeded == "charged", status == 200, "{status}");
    }
}

#[test]
fn a_success_whose_body_says_otherwise_is_none() {
    let check = |body: &str, of_charge: &str, of_question: &str| {
        for status in [200, 201] {
            assert_eq!(charged(&whole(status, body)), of_charge, "{body}");
        }
        assert_eq!(asked(&whole(200, body)), of_question, "{body}");
    };
    check(r#"{"status":"pending"}"#, "provider.busy", "provider.busy");
    check(r#"{"status":"failed"}"#, "provider.declined", "not charged");
    check(r#"{"status":"succeeded"}"#, "charged", "charged");
    check(
        " {\"id\":{\"status\":\"failed\"},\"st\\u0061tus\" : \"pen\\u0064ing\"}\n",
        "provider.busy",
        "provider.busy",
    );
    for unclear in [
        r#"{"status":"PENDING"}"#,
        r#"{"status":null}"#,
        r#"{"status":["pending"]}"#,
        r#"{"status":7}"#,
        r#"{"Status":"pending"}"#,
        r#"{"id":{"status":"pending"}}"#,
        r#"["pending"]"#,
        r#""pending""#,
        r#"{"status":"pending""#,
        r#"{"status":"pending"} x"#,
        "\u{feff}{\"status\":\"pending\"}",
    ] {
        check(unclear, "charged", "provider.unexpected");
    }
}

#[test]
fn of_a_body_that_is_too_long_the_beginning_counts() {
    let check = |body: &str, of_charge: &str, of_question: &str| {
        let capped = |status| answer(status, body.as_bytes(), BodyEnd::Capped);
        assert_eq!(charged(&capped(201)), of_charge, "{body}");
        assert_eq!(asked(&capped(200)), of_question, "{body}");
    };
    check(
        r#"{"status":"pending","log":"aaaa"#,
        "provider.busy",
        "provider.busy",
    );
    check(r#"{"status":"succeeded","log":"aaaa"#, "charged", "charged");
    check(r#"{"log":"aaaa"#, "charged", "provider.unexpected");
}

#[test]
fn a_body_that_broke_off_matters_only_where_the_body_decides() {
    let cut = |status, body: &str| {
        answer(
            status,
            body.as_bytes(),
            BodyEnd::Cut("connection reset".to_owned()),
        )
    };
    for body in ["", r#"{"status":"succeeded"}"#] {
        assert_eq!(charged(&cut(200, body)), "provider.unreachable");
        assert_eq!(charged(&cut(201, body)), "provider.unreachable");
        assert_eq!(asked(&cut(200, body)), "provider.unreachable");
    }
    assert_eq!(charged(&cut(402, "")), "provider.declined");
    assert_eq!(charged(&cut(503, "")), "provider.unavailable");
    assert_eq!(charged(&cut(409, "")), "ask, else provider.busy");
    assert_eq!(asked(&cut(404, "")), "not charged");
}

#[test]
fn the_message_tells_the_call_the_status_and_what_the_body_says() {
    let message = |answer: &Answer| match Charged::of(answer) {
        Charged::Failed(failure) | Charged::Unsure(failure) => failure.message,
        Charged::Yes => panic!("charged"),
    };
    assert_eq!(
        message(&whole(402, " card expired\n")),
        "POST /v1/charges answered 402: card expired"
    );
    assert_eq!(
        message(&whole(503, "")),
        "POST /v1/charges answered 503 without a body"
    );
    assert_eq!(
        message(&answer(500, b"\xff\xfe oops", BodyEnd::Whole)),
        "POST /v1/charges answered 500: \u{fffd}\u{fffd} oops"
    );
    let capped = answer(500, b"declined 4111 1111 1111 111", BodyEnd::Capped);
    assert_eq!(message(&capped), "POST /v1/charges answered 500: declined");
}
