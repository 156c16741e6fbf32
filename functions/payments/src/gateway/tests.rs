use std::net::TcpListener;
use std::sync::atomic::AtomicUsize;

use futures_util::stream::{self, StreamExt};
use lambda::{Clock, SystemClock};

use super::*;
use crate::provider::{Provider, Reply, answer, bytes_of};

const LIMIT: &str = "5s";

fn payment(id: &str) -> Payment {
    let value = serde_json::json!({
        "schema_version": 1, "payment_id": id, "order_id": "o-7", "amount": 1250, "currency": "RUB", "metadata": {"b": "2", "a": "1"},
    });
    Payment::decode(Some(value.to_string().as_bytes())).unwrap()
}

fn gateway(url: &str, limit: &str) -> Gateway {
    Gateway::new(url.parse().unwrap(), limit.parse().unwrap())
}

async fn charge(gateway: &Gateway) -> Result<Answer, Fault> {
    gateway.send(Call::Charge(&payment("k-7")), None).await
}

/// Makes a charge and a question and returns the word for the fault of each, which must be the same.
async fn fault_of(url: &str, limit: &str) -> (&'static str, String) {
    let mut faults = Vec::new();
    for call in [
        Call::Charge(&payment("k-7")),
        Call::Ask(payment("k-7").id()),
    ] {
        let started = SystemClock.now();
        let fault = gateway(url, limit).send(call, None).await.unwrap_err();
        let took = SystemClock.now().millis_since(started);
        assert!(took < 3_000, "{fault} took {took} ms");
        faults.push(match fault {
            Fault::Timeout(message) => ("timeout", message),
            Fault::Unreachable(message) => ("unreachable", message),
        });
    }
    assert_eq!(faults[0].0, faults[1].0, "{faults:?}");
    faults.swap_remove(0)
}

async fn check_fault(reply: Reply, expected: &str) {
    let provider = Provider::start(move |_| reply.clone());
    let (fault, message) = fault_of(&provider.url(), "300ms").await;
    assert_eq!(fault, expected, "{message}");
    assert_eq!(
        provider.methods(),
        "POST GET",
        "no call is repeated on a connection of its own"
    );
}

#[tokio::test]
async fn a_charge_is_what_the_contract_says() {
    let provider = Provider::start(|_| answer(201, r#"{"status":"succeeded"}"#));
    let gateway = gateway(&format!("{}/api/", provider.url()), LIMIT);
    let token: Token = "s3cret".parse().unwrap();
    let got = gateway
        .send(Call::Charge(&payment("k-7")), Some(&token))
        .await;
    let expected = Answer {
        status: 201,
        body: br#"{"status":"succeeded"}"#.to_vec(),
        end: BodyEnd::Whole,
    };
    assert_eq!(got, Ok(expected));
    let request = provider.requests().remove(0);
    assert_eq!(request.line, "POST /api/v1/charges HTTP/1.1");
    assert_eq!(request.header("idempotency-key"), Some("k-7"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(
        request.body,
        r#"{"payment_id":"k-7","order_id":"o-7","amount":1250,"currency":"RUB","metadata":{"a":"1","b":"2"}}"#
    );
}

#[tokio::test]
async fn a_question_names_the_payment_in_one_segment() {
    let provider = Provider::start(|_| answer(404, ""));
    let gateway = gateway(&provider.url(), LIMIT);
    for id in ["k-7", "a/../b?c#d%2e", "..%2f"] {
        let got = gateway.send(Call::Ask(payment(id).id()), None).await;
        assert_eq!(got.unwrap().status, 404);
    }
    let lines: Vec<String> = provider
        .requests()
        .into_iter()
        .map(|request| {
            assert_eq!(request.header("authorization"), None);
            assert_eq!(request.header("idempotency-key"), None);
            request.line
        })
        .collect();
    assert_eq!(
        lines,
        [
            "GET /v1/charges/k-7 HTTP/1.1",
            "GET /v1/charges/a%2F..%2Fb%3Fc%23d%252e HTTP/1.1",
            "GET /v1/charges/..%252f HTTP/1.1",
        ]
    );
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_unreachable() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let no_host = format!("http://{}.invalid", "x".repeat(64));
    for url in [format!("http://127.0.0.1:{port}"), no_host] {
        let (fault, message) = fault_of(&url, "2s").await;
        assert_eq!(fault, "unreachable", "{message}");
        assert!(
            message.contains("was not sent: cannot connect: "),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_provider_that_speaks_no_tls_is_unreachable() {
    let provider = Provider::start(|_| Reply::Close(Vec::new()));
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = plain.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in plain.incoming() {
            drop(std::io::Write::write_all(
                &mut stream.unwrap(),
                b"HTTP/1.1 400 Bad Request\r\n\r\n",
            ));
        }
    });
    let (fault, message) = fault_of(&format!("https://127.0.0.1:{port}"), "2s").await;
    assert_eq!(fault, "unreachable", "{message}");
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn without_a_complete_status_line_the_provider_is_unreachable() {
    for bytes in [
        "",
        "HTTP/1.1",
        "HTTP/1.1 20",
        "HTTP/1.1 200 OK",
        "garbage\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/1.1 99 X\r\n\r\n",
        "\u{16}\u{3}\u{1}\r\n\r\n",
    ] {
        check_fault(Reply::Close(bytes.into()), "unreachable").await;
    }
    check_fault(Reply::Reset(Vec::new()), "unreachable").await;
    check_fault(Reply::Reset(b"HTTP/1.1 2".to_vec()), "unreachable").await;
}

#[tokio::test]
async fn a_provider_that_hangs_anywhere_times_out() {
    for bytes in [
        "",
        "HTTP/1.1 2",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n",
        "HTTP/1.1 402 No\r\ncontent-length: 9\r\n\r\n1234",
        "HTTP/1.1 503 No\r\ntransfer-encoding: chunked\r\n\r\n4\r\n1234\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
    ] {
        check_fault(Reply::Hang(bytes.into()), "timeout").await;
    }
}

#[tokio::test]
async fn a_provider_that_never_takes_the_connection_times_out() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    loop {
        let connect = tokio::net::TcpStream::connect(address);
        match tokio::time::timeout(Duration::from_millis(100), connect).await {
            Ok(stream) => waiting.push(stream.unwrap()),
            Err(_) => break,
        }
    }
    let (fault, message) = fault_of(&format!("http://{address}"), "300ms").await;
    assert_eq!(fault, "timeout", "{message}");
    assert_eq!(message, "POST /v1/charges was not answered within 300ms");
}

#[tokio::test]
async fn of_an_endless_body_only_the_most_is_kept_and_the_call_ends() {
    for chunk in [vec![b'x'; 100], vec![b'x'; 1_000_000]] {
        let provider = Provider::start(move |_| {
            Reply::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), chunk.clone())
        });
        let got = charge(&gateway(&provider.url(), LIMIT)).await.unwrap();
        assert_eq!((got.status, got.body.len()), (200, 65_536));
        assert_eq!(got.end, BodyEnd::Capped);
    }
}

#[tokio::test]
async fn a_body_of_just_the_most_is_whole() {
    for (length, end) in [
        (65_535, BodyEnd::Whole),
        (65_536, BodyEnd::Whole),
        (65_537, BodyEnd::Capped),
    ] {
        let provider = Provider::start(move |_| answer(200, &"x".repeat(length)));
        let got = charge(&gateway(&provider.url(), LIMIT)).await.unwrap();
        assert_eq!((got.body.len(), got.end), (length.min(65_536), end));
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_leaves_the_status() {
    let head = b"HTTP/1.1 402 No\r\ncontent-length: 9\r\n\r\n1234";
    for reply in [Reply::Close(head.to_vec()), Reply::Reset(head.to_vec())] {
        let provider = Provider::start(move |_| reply.clone());
        let got = charge(&gateway(&provider.url(), LIMIT)).await.unwrap();
        assert_eq!((got.status, got.body.as_slice()), (402, b"1234".as_slice()));
        assert!(matches!(got.end, BodyEnd::Cut(_)), "{got:?}");
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let provider = Provider::start(move |request| {
            let target = request.line.split(' ').nth(1).unwrap();
            let reply =
                format!("HTTP/1.1 {status} X\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n");
            Reply::Keep(reply.into_bytes())
        });
        let got = charge(&gateway(&provider.url(), LIMIT)).await.unwrap();
        assert_eq!((got.status, provider.methods().as_str()), (status, "POST"));
    }
}

#[tokio::test]
async fn an_interim_answer_is_passed_over() {
    let provider = Provider::start(|_| {
        let mut bytes = b"HTTP/1.1 100 Continue\r\n\r\n".to_vec();
        bytes.extend(bytes_of(201, "{}"));
        Reply::Keep(bytes)
    });
    let got = charge(&gateway(&provider.url(), LIMIT)).await.unwrap();
    assert_eq!((got.status, got.body.as_slice()), (201, b"{}".as_slice()));
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_call() {
    let provider = Provider::start(|_| answer(201, "{}"));
    let gateway = gateway(&provider.url(), LIMIT);
    for _ in 0..3 {
        charge(&gateway).await.unwrap();
    }
    assert_eq!((provider.connections(), provider.requests().len()), (1, 3));
}

/// The second request of any connection meets `reply`.
async fn check_stale(reply: Reply) {
    let provider = Provider::start(move |request| match request.nth {
        0 => answer(201, "{}"),
        _ => reply.clone(),
    });
    let gateway = gateway(&provider.url(), LIMIT);
    for call in 0..3 {
        let got = charge(&gateway).await;
        assert_eq!(got.map(|answer| answer.status), Ok(201), "call {call}");
    }
    let requests = provider.requests();
    assert!(
        requests
            .iter()
            .all(|request| request.header("idempotency-key") == Some("k-7")
                && request.body == requests[0].body)
    );
}

#[tokio::test]
async fn a_kept_connection_that_is_dead_by_the_next_call_costs_no_failure() {
    check_stale(Reply::Close(Vec::new())).await;
    check_stale(Reply::Reset(Vec::new())).await;
    check_stale(Reply::Close(b"HTTP/1.1 408 Request Time".to_vec())).await;
}

#[tokio::test]
async fn a_connection_that_the_peer_closed_between_two_calls_costs_no_failure() {
    let provider = Provider::start(|_| Reply::Close(bytes_of(201, "{}")));
    let gateway = gateway(&provider.url(), LIMIT);
    for _ in 0..20 {
        assert_eq!(charge(&gateway).await.map(|answer| answer.status), Ok(201));
    }
}

#[tokio::test]
async fn many_dead_connections_at_once_cost_no_failure() {
    let provider = Provider::start(|request| match request.nth {
        0 => Reply::Slowly(Duration::from_millis(50), bytes_of(201, "{}")),
        _ => Reply::Reset(Vec::new()),
    });
    let gateway = gateway(&provider.url(), LIMIT);
    for _ in 0..2 {
        let answers = futures_util::future::join_all((0..32).map(|_| charge(&gateway))).await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_not_answered_twice_is_unreachable() {
    let calls = AtomicUsize::new(0);
    let provider = Provider::start(move |_| match calls.fetch_add(1, Ordering::SeqCst) {
        0 => answer(201, "{}"),
        _ => Reply::Close(Vec::new()),
    });
    let gateway = gateway(&provider.url(), LIMIT);
    charge(&gateway).await.unwrap();
    let fault = charge(&gateway).await.unwrap_err();
    assert!(matches!(fault, Fault::Unreachable(_)), "{fault:?}");
    assert_eq!(provider.requests().len(), 3, "it is repeated once");
}

#[tokio::test]
async fn a_repetition_stays_within_the_limit_of_the_one_call() {
    let provider = Provider::start(|request| match (request.connection, request.nth) {
        (0, 0) => answer(201, "{}"),
        (0, _) => {
            std::thread::sleep(Duration::from_millis(700));
            Reply::Reset(Vec::new())
        }
        _ => Reply::Hang(Vec::new()),
    });
    let gateway = gateway(&provider.url(), "1s");
    charge(&gateway).await.unwrap();
    let started = SystemClock.now();
    let fault = charge(&gateway).await.unwrap_err();
    assert!(matches!(fault, Fault::Timeout(_)), "{fault:?}");
    let took = SystemClock.now().millis_since(started);
    assert!((950..1_500).contains(&took), "{took} ms");
}

#[tokio::test]
async fn a_hundred_payments_of_200_ms_take_under_2_s() {
    let provider =
        Provider::start(|_| Reply::Slowly(Duration::from_millis(200), bytes_of(201, "{}")));
    let gateway = gateway(&provider.url(), LIMIT);
    let started = SystemClock.now();
    let charged = stream::iter(0..100)
        .map(|_| charge(&gateway))
        .buffer_unordered(32)
        .filter(|answer| std::future::ready(answer.is_ok()))
        .count()
        .await;
    let took = SystemClock.now().millis_since(started);
    assert_eq!(charged, 100);
    assert!(took < 2_000, "{took} ms");
    assert!(provider.connections() <= 32, "{}", provider.connections());
}

#[test]
fn the_token_is_in_no_debug_text_of_a_request() {
    let gateway = gateway("http://127.0.0.1:1", LIMIT);
    let token: Token = "s3cret".parse().unwrap();
    let client = Client::builder().tls_certs_only([]);
    drop(rustls::crypto::ring::default_provider().install_default());
    let request = gateway
        .request(
            &client.build().unwrap(),
            Call::Charge(&payment("k-7")),
            Some(&token),
        )
        .unwrap();
    assert!(!format!("{request:?}").contains("s3cret"));
}
