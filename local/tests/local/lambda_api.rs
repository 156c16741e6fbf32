//! The Runtime API itself, called by hand.

use std::time::Duration;

use bytes::Bytes;
use local::lambda_api::{Invocation, MAX_ANSWER_BYTES, Reply, RuntimeApi};
use reqwest::{Client, Method, Response, StatusCode};

struct Process {
    http: Client,
    api: String,
}

fn process(api: &RuntimeApi) -> Process {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    Process {
        http: Client::new(),
        api: format!("http://{}/2018-06-01/runtime", api.address()),
    }
}

impl Process {
    async fn next(&self) -> Response {
        let url = format!("{}/invocation/next", self.api);
        self.http.get(url).send().await.unwrap()
    }

    async fn post(&self, path: &str, body: &str) -> StatusCode {
        self.send(Method::POST, path, body).await.status()
    }

    async fn send(&self, method: Method, path: &str, body: &str) -> Response {
        let request = self.http.request(method, format!("{}/{path}", self.api));
        request.body(body.to_owned()).send().await.unwrap()
    }
}

fn invocation() -> Invocation {
    Invocation {
        id: "id-1".to_owned(),
        event: Bytes::from_static(b"{\"a\":1}"),
        deadline_ms: 1_755_933_141_855,
        function_arn: "arn:aws:lambda:us-east-1:000000000000:function:f".to_owned(),
        trace_id: "Root=1-0-0;Sampled=0".to_owned(),
    }
}

#[tokio::test]
async fn an_invocation_is_handed_over_with_lambda_s_headers_and_answered_once() {
    let api = RuntimeApi::start().await.unwrap();
    let process = process(&api);
    let answering = async {
        let next = process.next().await;
        let header = |name: &str| next.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("lambda-runtime-aws-request-id"), "id-1");
        assert_eq!(header("lambda-runtime-deadline-ms"), "1755933141855");
        assert_eq!(
            header("lambda-runtime-invoked-function-arn"),
            "arn:aws:lambda:us-east-1:000000000000:function:f"
        );
        assert_eq!(header("lambda-runtime-trace-id"), "Root=1-0-0;Sampled=0");
        assert_eq!(next.text().await.unwrap(), "{\"a\":1}");
        // It may not ask for more before it has answered, nor answer what it was not asked.
        assert_eq!(process.next().await.status(), StatusCode::FORBIDDEN);
        let other = process.post("invocation/id-2/response", "{}").await;
        assert_eq!(other, StatusCode::BAD_REQUEST);
        let answered = process.post("invocation/id-1/response", "{\"b\":2}").await;
        assert_eq!(answered, StatusCode::ACCEPTED);
        let again = process.post("invocation/id-1/response", "{}").await;
        assert_eq!(again, StatusCode::BAD_REQUEST);
    };
    let (reply, ()) = tokio::join!(api.invoke(invocation()), answering);
    assert_eq!(reply, Reply::Answer(Bytes::from_static(b"{\"b\":2}")));
}

#[tokio::test]
async fn errors_are_read_from_the_body_and_a_body_that_is_no_report_is_the_message() {
    let check = async |body: &'static str, error_type: &str, message: &str| {
        let api = RuntimeApi::start().await.unwrap();
        let process = process(&api);
        let failing = async {
            process.next().await;
            process.post("invocation/id-1/error", body).await
        };
        let (reply, status) = tokio::join!(api.invoke(invocation()), failing);
        assert_eq!(status, StatusCode::ACCEPTED);
        let expected = Reply::Error {
            error_type: error_type.to_owned(),
            message: message.to_owned(),
        };
        assert_eq!(reply, expected, "{body}");
    };
    check(r#"{"errorType":"T","errorMessage":"M"}"#, "T", "M").await;
    check("plain", "Unhandled", "plain").await;
    check("", "Unhandled", "").await;
}

#[tokio::test]
async fn a_process_is_ready_when_it_asks_and_an_init_error_is_told() {
    let api = RuntimeApi::start().await.unwrap();
    let process = process(&api);
    let body = r#"{"errorType":"Settings","errorMessage":"wrong"}"#;
    let (ready, status) = tokio::join!(api.ready(), process.post("init/error", body));
    assert_eq!(status, StatusCode::ACCEPTED);
    assert_eq!(ready.unwrap_err().to_string(), "Settings: wrong");

    let api = RuntimeApi::start().await.unwrap();
    let process = self::process(&api);
    tokio::select! {
        ready = api.ready() => assert_eq!(ready, Ok(())),
        _ = process.next() => panic!("there is no invocation"),
    }
}

#[tokio::test]
async fn a_process_that_asked_and_hung_up_gets_the_invocation_when_it_asks_again() {
    let api = RuntimeApi::start().await.unwrap();
    let process = process(&api);
    let hung_up = tokio::time::timeout(Duration::from_millis(200), process.next()).await;
    assert!(hung_up.is_err());
    // The server notices in a moment.
    let moment = Duration::from_millis(20);
    while tokio::time::timeout(moment, api.ready()).await.is_ok() {
        tokio::time::sleep(moment).await;
    }
    let answering = async {
        assert_eq!(process.next().await.text().await.unwrap(), "{\"a\":1}");
        process.post("invocation/id-1/response", "1").await
    };
    let both = async { tokio::join!(api.invoke(invocation()), answering) };
    let both = tokio::time::timeout(Duration::from_secs(10), both).await;
    let (reply, answered) = both.expect("it is handed over");
    assert_eq!(answered, StatusCode::ACCEPTED);
    assert_eq!(reply, Reply::Answer(Bytes::from_static(b"1")));
}

#[tokio::test]
async fn a_report_as_large_as_an_answer_is_read_and_a_larger_one_is_told_at_once() {
    let report = |bytes: usize| {
        let frame = r#"{"errorType":"T","errorMessage":""}"#.len();
        let message = "m".repeat(bytes - frame);
        format!(r#"{{"errorType":"T","errorMessage":"{message}"}}"#)
    };
    let check = async |bytes: usize, status: StatusCode, is_expected: fn(&Reply) -> bool| {
        let api = RuntimeApi::start().await.unwrap();
        let process = process(&api);
        let failing = async {
            process.next().await;
            process.post("invocation/id-1/error", &report(bytes)).await
        };
        let (reply, answered) = tokio::join!(api.invoke(invocation()), failing);
        assert_eq!(answered, status);
        assert!(is_expected(&reply), "{bytes}");

        let api = RuntimeApi::start().await.unwrap();
        let process = self::process(&api);
        let report = report(bytes);
        let (ready, answered) = tokio::join!(api.ready(), process.post("init/error", &report));
        assert_eq!(answered, status);
        assert!(ready.is_err());
    };
    let is_error =
        |reply: &Reply| matches!(reply, Reply::Error { error_type, .. } if error_type == "T");
    check(MAX_ANSWER_BYTES, StatusCode::ACCEPTED, is_error).await;
    let is_too_large = |reply: &Reply| *reply == Reply::TooLarge;
    check(
        MAX_ANSWER_BYTES + 1,
        StatusCode::PAYLOAD_TOO_LARGE,
        is_too_large,
    )
    .await;
}

#[tokio::test]
async fn what_is_not_in_the_api_is_refused_in_its_form() {
    let api = RuntimeApi::start().await.unwrap();
    let process = process(&api);
    let check = async |method: Method, path: &str, status: StatusCode, error_type: &str| {
        let response = process.send(method, path, "{}").await;
        assert_eq!(response.status(), status, "{path}");
        assert_eq!(response.headers()["content-type"], "application/json");
        let body: serde_json::Value =
            serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
        assert_eq!(body["errorType"], error_type, "{path}");
    };
    let next = "invocation/next";
    check(Method::GET, "nothing", StatusCode::NOT_FOUND, "InvalidPath").await;
    let not_allowed = StatusCode::METHOD_NOT_ALLOWED;
    check(Method::POST, next, not_allowed, "InvalidMethod").await;
    let answer = "invocation/id-7/response";
    check(Method::GET, answer, not_allowed, "InvalidMethod").await;
    let unknown = StatusCode::BAD_REQUEST;
    check(Method::POST, answer, unknown, "InvalidRequestID").await;
    let report = "invocation/id-7/error";
    check(Method::POST, report, unknown, "InvalidRequestID").await;
}
