//! The provider over real HTTP.

use std::time::Duration;

use local::provider::{Provider, ProviderSettings, ProviderState};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

struct Caller {
    http: Client,
    url: String,
}

fn caller(provider: &Provider) -> Caller {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    Caller {
        http: Client::builder()
            .timeout(Duration::from_millis(500))
            .build()
            .unwrap(),
        url: provider.url(),
    }
}

impl Caller {
    async fn charge(&self, id: &str, mode: &str) -> Result<StatusCode, reqwest::Error> {
        let body = json!({
            "payment_id": id, "order_id": "o-1", "amount": 1, "currency": "RUB", "metadata": {"mode": mode},
        });
        let request = self.http.post(format!("{}/v1/charges", self.url));
        let sent = request
            .header("Idempotency-Key", id)
            .body(body.to_string())
            .send()
            .await?;
        Ok(sent.status())
    }

    async fn get(&self, path: &str) -> (StatusCode, Value) {
        let got = self
            .http
            .get(format!("{}{path}", self.url))
            .send()
            .await
            .unwrap();
        (
            got.status(),
            serde_json::from_str(&got.text().await.unwrap()).unwrap(),
        )
    }

    async fn switch(&self, to: &str) {
        let url = format!("{}/admin/{to}", self.url);
        assert_eq!(
            self.http.post(url).send().await.unwrap().status(),
            StatusCode::OK
        );
    }
}

#[tokio::test]
async fn a_charge_is_made_once_and_stands_in_the_ledger() {
    let provider = Provider::start(ProviderSettings::default()).await.unwrap();
    let caller = caller(&provider);
    for _ in 0..3 {
        assert_eq!(
            caller.charge("k/1", "ok").await.unwrap(),
            StatusCode::CREATED
        );
    }
    let (status, body) = caller.get("/v1/charges/k%2F1").await;
    assert_eq!(
        (status, &body["status"]),
        (StatusCode::OK, &json!("succeeded"))
    );
    assert_eq!(caller.get("/v1/charges/k-2").await.0, StatusCode::NOT_FOUND);
    assert_eq!(caller.get("/ledger").await.1, json!({"k/1": 1}));
    assert_eq!(provider.charges()["k/1"], 1);
}

#[tokio::test]
async fn it_is_switched_down_and_up_while_it_runs() {
    let settings = ProviderSettings {
        state: ProviderState::Down,
        ..ProviderSettings::default()
    };
    let provider = Provider::start(settings).await.unwrap();
    let caller = caller(&provider);
    let unavailable = StatusCode::SERVICE_UNAVAILABLE;
    assert_eq!(caller.charge("k-1", "ok").await.unwrap(), unavailable);
    caller.switch("up").await;
    assert_eq!(
        caller.charge("k-1", "transient").await.unwrap(),
        StatusCode::CREATED
    );
    caller.switch("down").await;
    assert_eq!(caller.charge("k-2", "ok").await.unwrap(), unavailable);
    assert_eq!(caller.get("/ledger").await.1, json!({"k-1": 1}));
}

#[tokio::test]
async fn a_call_that_is_never_answered_has_charged_and_frees_its_key_when_the_caller_hangs_up() {
    let provider = Provider::start(ProviderSettings::default()).await.unwrap();
    let caller = caller(&provider);
    for _ in 0..2 {
        assert!(
            caller
                .charge("k-1", "timeout")
                .await
                .unwrap_err()
                .is_timeout()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(caller.get("/v1/charges/k-1").await.1["status"], "succeeded");
    assert_eq!(provider.charges()["k-1"], 1);
}

#[tokio::test]
async fn a_charge_takes_its_latency_and_is_pending_meanwhile() {
    let settings = ProviderSettings {
        latency: Duration::from_millis(300),
        ..ProviderSettings::default()
    };
    let provider = Provider::start(settings).await.unwrap();
    let caller = caller(&provider);
    let meanwhile = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let second = caller.charge("k-1", "ok").await.unwrap();
        (
            second,
            caller.get("/v1/charges/k-1").await.1["status"].clone(),
        )
    };
    let (first, (second, status)) = tokio::join!(caller.charge("k-1", "ok"), meanwhile);
    assert_eq!(first.unwrap(), StatusCode::CREATED);
    assert_eq!((second, status), (StatusCode::CONFLICT, json!("pending")));
    assert_eq!(provider.charges()["k-1"], 1);
}

#[tokio::test]
async fn it_is_gone_when_it_is_dropped_and_cuts_off_what_hangs() {
    let provider = Provider::start(ProviderSettings::default()).await.unwrap();
    let caller = caller(&provider);
    let drop_it = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        drop(provider);
    };
    let (hanging, ()) = tokio::join!(caller.charge("k-1", "timeout"), drop_it);
    assert!(!hanging.unwrap_err().is_timeout());
    assert!(caller.charge("k-2", "ok").await.unwrap_err().is_connect());
}
