//! Never two charges for one payment, whatever is delivered twice, crashes, times out or is replayed.

use std::sync::Mutex;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const HOUR: i64 = 3_600_000;

/// What the provider does once it has handled a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    /// Answers.
    Answers,
    /// Does its work and never answers.
    Hangs,
    /// Does its work and resets the connection.
    Resets,
    /// Answers 503 and does nothing.
    Down,
}

/// A provider with a ledger, and with keys that it forgets.
#[derive(Debug)]
struct Ledger {
    mood: Mood,
    charged: u32,
    key_known: bool,
}

struct Stand {
    provider: Provider,
    ledger: Arc<Mutex<Ledger>>,
    clock: TestClock,
}

impl Stand {
    fn new() -> Self {
        let ledger = Arc::new(Mutex::new(Ledger {
            mood: Mood::Answers,
            charged: 0,
            key_known: false,
        }));
        let shared = ledger.clone();
        let provider = Provider::start(move |request| shared.lock().unwrap().handle(request));
        Self {
            provider,
            ledger,
            clock: TestClock::new(),
        }
    }

    /// A new process: nothing is remembered from the one before.
    fn process(&self, limit: &'static str) -> Charge<FixedToken, TestClock> {
        Parts {
            limit,
            clock: self.clock.clone(),
            ..Parts::default()
        }
        .charge(&self.provider)
    }

    fn charged(&self) -> u32 {
        self.ledger.lock().unwrap().charged
    }
}

impl Ledger {
    fn handle(&mut self, request: &Request) -> Reply {
        let reply = if self.mood == Mood::Down {
            answer(503, "")
        } else if request.is_post() {
            assert_eq!(request.header("idempotency-key"), Some("k-7"));
            if !self.key_known {
                self.charged += 1;
                self.key_known = true;
            }
            answer(201, r#"{"status":"succeeded"}"#)
        } else if self.charged > 0 {
            answer(200, r#"{"status":"succeeded"}"#)
        } else {
            answer(404, "")
        };
        match self.mood {
            Mood::Answers | Mood::Down => reply,
            Mood::Hangs => Reply::Hang(Vec::new()),
            Mood::Resets => Reply::Reset(Vec::new()),
        }
    }
}

/// Row 63.
#[tokio::test]
async fn a_process_killed_between_charge_and_answer_does_not_charge_again() {
    let stand = Stand::new();
    stand.ledger.lock().unwrap().mood = Mood::Hangs;
    let record = record(Some(payment("k-7")));
    let killed = stand.process("5s");
    let death = async {
        while stand.charged() == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::select! {
        verdict = killed.handle(&record, &MAIN) => panic!("{verdict:?}"),
        () = death => {}
    }
    drop(killed);
    assert_eq!(stand.charged(), 1);
    {
        let mut ledger = stand.ledger.lock().unwrap();
        ledger.mood = Mood::Answers;
        ledger.key_known = false;
    }
    let suspect = Attempt {
        suspect: true,
        ..MAIN
    };
    let verdict = stand.process("5s").handle(&record, &suspect).await;
    assert_eq!(word(&verdict), "done");
    assert_eq!(stand.provider.methods(), "POST GET");
    assert_eq!(stand.charged(), 1);
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The same record of main again: an answer of ours got lost, or its batch was handed back.
    Main(Mood),
    /// On a retry stage.
    Retry(Mood),
    /// Replayed from the dead letters onto main.
    Replayed(Mood),
    /// So many hours pass; the provider forgets a key after a day.
    Hours(i64),
    /// The process dies.
    Dies,
}

fn event() -> impl Strategy<Value = Event> {
    let mood = prop_oneof![
        Just(Mood::Answers),
        Just(Mood::Hangs),
        Just(Mood::Resets),
        Just(Mood::Down),
    ];
    prop_oneof![
        3 => mood.clone().prop_map(Event::Main),
        3 => mood.clone().prop_map(Event::Retry),
        2 => mood.prop_map(Event::Replayed),
        2 => (1..30_i64).prop_map(Event::Hours),
        1 => Just(Event::Dies),
    ]
}

/// Runs a history; returns how often the payment was charged, and whether it was ever said to be done.
async fn play(events: &[Event]) -> (u32, bool) {
    let stand = Stand::new();
    let mut process = stand.process("60ms");
    let mut done = false;
    let mut first_charge = None;
    for event in events {
        let mut record = record(Some(payment("k-7")));
        let now = stand.clock.now();
        let (mood, attempt) = match *event {
            Event::Main(mood) => (mood, MAIN),
            Event::Retry(mood) => {
                record.timestamp = now;
                (mood, RETRY)
            }
            Event::Replayed(mood) => {
                record.timestamp = now;
                let once = Some(Bytes::from_static(b"1"));
                record.headers.push(names::REPLAY_COUNT, once);
                (mood, MAIN)
            }
            Event::Hours(hours) => {
                stand.clock.advance(hours * HOUR);
                continue;
            }
            Event::Dies => {
                process = stand.process("60ms");
                continue;
            }
        };
        {
            let mut ledger = stand.ledger.lock().unwrap();
            ledger.mood = mood;
            let age = first_charge.map_or(0, |since| now.millis_since(since));
            ledger.key_known &= age < 24 * HOUR;
        }
        done |= word(&process.handle(&record, &attempt).await) == "done";
        if first_charge.is_none() && stand.charged() > 0 {
            first_charge = Some(now);
        }
    }
    (stand.charged(), done)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_history_charges_at_most_once(events in proptest::collection::vec(event(), 1..10)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (charged, done) = runtime.block_on(play(&events));
        prop_assert!(charged <= 1, "{charged} charges");
        prop_assert!(charged == 1 || !done, "done without a charge");
    }
}
