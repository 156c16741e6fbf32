//! The token: sent, read again when it is refused, and never told.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::token::Token;

/// Gives `token-0`, `token-1`, …: another one at each reading, until it is away.
#[derive(Debug, Default)]
struct Vault {
    readings: Arc<AtomicUsize>,
    away_from: Option<usize>,
}

impl TokenSource for Vault {
    async fn read(&self) -> Result<Option<Token>, TokenFault> {
        let reading = self.readings.fetch_add(1, Ordering::SeqCst);
        if self.away_from.is_some_and(|from| reading >= from) {
            return Err(TokenFault("the vault is away".to_owned()));
        }
        Ok(format!("token-{reading}").parse().ok())
    }
}

fn with<T: TokenSource>(token: T, provider: &Provider) -> Charge<T, TestClock> {
    let parts = Parts {
        limit: "5s",
        token,
        circuit: None,
        clock: TestClock::new(),
    };
    parts.charge(provider)
}

/// A provider that knows one token alone, and no payment.
fn knows(token: &'static str) -> Provider {
    Provider::start(move |request| {
        let known = request.header("authorization") == Some(&format!("Bearer {token}"));
        match (known, request.is_post()) {
            (false, _) => answer(401, "who are you?"),
            (true, true) => answer(201, ""),
            (true, false) => answer(404, ""),
        }
    })
}

async fn handle<T: TokenSource>(
    charge: &Charge<T, TestClock>,
    attempt: Attempt,
) -> Result<Verdict, NoTimeLeft> {
    charge.handle(&record(Some(payment("k-7"))), &attempt).await
}

#[tokio::test]
async fn a_rotated_token_is_read_again_and_the_call_repeated() {
    let provider = knows("token-1");
    let vault = Vault::default();
    let readings = vault.readings.clone();
    let charge = with(vault, &provider);
    for expected in ["POST POST", "POST POST POST"] {
        assert_eq!(word(&handle(&charge, MAIN).await), "done");
        assert_eq!(provider.methods(), expected);
        assert_eq!(readings.load(Ordering::SeqCst), 2);
    }
}

#[tokio::test]
async fn a_rotation_is_noticed_when_asking_too() {
    let provider = knows("token-1");
    let charge = with(Vault::default(), &provider);
    assert_eq!(word(&handle(&charge, RETRY).await), "done");
    assert_eq!(provider.methods(), "GET GET POST");
}

#[tokio::test]
async fn thirty_two_payments_that_meet_a_rotation_at_once_read_the_secret_once() {
    let provider = knows("token-1");
    let vault = Vault::default();
    let readings = vault.readings.clone();
    let charge = with(vault, &provider);
    let all = futures_util::future::join_all((0..32).map(|_| handle(&charge, MAIN))).await;
    assert!(all.iter().all(|verdict| word(verdict) == "done"));
    assert_eq!(readings.load(Ordering::SeqCst), 2);
}

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Handles one payment that fails, and returns how, with every line logged meanwhile.
async fn logged<T: TokenSource>(charge: &Charge<T, TestClock>) -> (Failure, String) {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let failure = failure_of(handle(charge, MAIN).await);
    drop(guard);
    let lines = log.0.lock().unwrap().clone();
    (failure, String::from_utf8(lines).unwrap())
}

#[track_caller]
fn check_told_once(log: &str) {
    assert_eq!(log.matches("\"level\":\"ERROR\"").count(), 1, "{log}");
    assert!(log.contains("\"payment.id\":\"k-7\""), "{log}");
    assert!(!log.contains("token-"), "{log}");
}

#[tokio::test]
async fn a_token_that_is_refused_twice_is_our_fault_and_a_person_is_told() {
    let provider = knows("another");
    let (failure, log) = logged(&with(Vault::default(), &provider)).await;
    assert_eq!(failure.code, ErrorCode::ProviderUnauthorized);
    assert_eq!(provider.methods(), "POST POST");
    check_told_once(&log);
}

#[tokio::test]
async fn a_403_is_told_at_once_and_not_repeated() {
    let provider = Provider::start(|_| answer(403, ""));
    let (failure, log) = logged(&with(Vault::default(), &provider)).await;
    assert_eq!(failure.code, ErrorCode::ProviderUnauthorized);
    assert_eq!(provider.methods(), "POST");
    check_told_once(&log);
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_is_our_fault_and_not_the_payments() {
    for (away_from, methods) in [(0, ""), (1, "POST")] {
        let provider = knows("another");
        let vault = Vault {
            away_from: Some(away_from),
            ..Vault::default()
        };
        let (failure, log) = logged(&with(vault, &provider)).await;
        assert_eq!(failure.code, ErrorCode::ProviderUnauthorized);
        assert!(failure.message.contains("the vault is away"), "{failure}");
        assert_eq!(provider.methods(), methods);
        check_told_once(&log);
    }
}

#[tokio::test]
async fn a_provider_that_repeats_the_token_does_not_spread_it() {
    for prefix in ["", "Bearer "] {
        let provider = Provider::start(move |request| {
            let token = request.header("authorization").unwrap();
            answer(500, &format!("got {}", token.strip_prefix(prefix).unwrap()))
        });
        let token = FixedToken("s3cret-value".parse().ok());
        let (failure, log) = logged(&with(token, &provider)).await;
        assert_eq!(failure.code, ErrorCode::ProviderUnavailable);
        assert!(failure.message.contains("got "), "{failure}");
        assert!(!failure.message.contains("s3cret"), "{failure}");
        assert!(!log.contains("s3cret"), "{log}");
    }
}

/// A vault that never answers.
#[derive(Debug)]
struct Hanging;

impl TokenSource for Hanging {
    async fn read(&self) -> Result<Option<Token>, TokenFault> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_reading_of_the_token_that_hangs_hands_the_payment_back_in_time() {
    let provider = knows("token-0");
    let clock = TestClock::new();
    let parts = Parts {
        limit: "5s",
        token: Hanging,
        circuit: None,
        clock: clock.clone(),
    };
    let charge = parts.charge(&provider);
    let record = record(Some(payment("k-7")));
    let attempt = Attempt {
        last_call: Timestamp::from_millis(NOW + 1_000),
        ..MAIN
    };
    let passing = async {
        tokio::task::yield_now().await;
        clock.advance(1_000);
    };
    let (handled, ()) = tokio::join!(charge.handle(&record, &attempt), passing);
    assert_eq!(handled, Err(NoTimeLeft));
    assert!(provider.requests().is_empty());
}
