//! The Runtime API itself, called by hand.

use bytes::Bytes;
use local::lambda_api::{Invocation, Reply, RuntimeApi};
use reqwest::{Client, Response, StatusCode};

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
        let request = self.http.post(format!("{}/{path}", self.api));
        request.body(body.to_owned()).send().await.unwrap().status()
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
    assert_eq!(reply, Some(Reply::Answer(Bytes::from_static(b"{\"b\":2}"))));
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
        assert_eq!(reply, Some(expected), "{body}");
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
