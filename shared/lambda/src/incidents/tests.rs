use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use pipeline::{Header, Headers};

use super::*;

const SPILL: &str = "spill/main-3-00000000000000000042-1755933141805.json";
const INCIDENT: &str =
    "incidents/dt=2025-08-23/error_class=permanent/main-3-00000000000000000042-1755933141805.json";

/// A store in memory; the next puts end as told, the others work.
#[derive(Clone, Default)]
struct Store {
    objects: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    next: Arc<Mutex<VecDeque<bool>>>,
}

impl Objects for Store {
    async fn put_new(&self, key: &str, body: Vec<u8>) -> Result<Put, StoreFault> {
        if self.next.lock().unwrap().pop_front() == Some(false) {
            return Err(StoreFault("it is away".to_owned()));
        }
        let known = self.objects.lock().unwrap().insert(key.to_owned(), body);
        Ok(known.map_or(Put::Created, |_| Put::Existed))
    }
}

impl Store {
    fn keys(&self) -> Vec<String> {
        self.objects.lock().unwrap().keys().cloned().collect()
    }
}

#[derive(Clone, Default)]
struct Out(Arc<Mutex<Vec<u8>>>);

impl Out {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn outgoing() -> Outgoing {
    let header = |name: &str, value: &'static str| Header {
        name: name.to_owned(),
        value: Some(Bytes::from_static(value.as_bytes())),
    };
    Outgoing {
        topic: "dlq".parse().unwrap(),
        key: Some(Bytes::from_static(b"k-7")),
        value: None,
        headers: Headers::new(vec![
            header("error.class", "permanent"),
            header("error.message", "the token tok3n is too large"),
        ]),
    }
}

async fn spill<O: Objects>(incidents: &Incidents<O>) -> Result<Recorded, StoreFault> {
    let time = Timestamp::from_millis(1_755_933_141_805);
    incidents
        .spill(&outgoing(), &"main/3/42".parse().unwrap(), time)
        .await
}

fn incidents(store: &Store, out: impl Write + Send + 'static) -> Incidents<Store> {
    let masker = Masker::with_secrets(["tok3n".to_owned()]);
    Incidents::new(store.clone(), masker, Box::new(out))
}

#[tokio::test]
async fn a_spilled_record_is_kept_whole_before_the_incident_that_names_it() {
    let (store, out) = (Store::default(), Out::default());
    let incidents = incidents(&store, out.clone());
    assert!(matches!(spill(&incidents).await, Ok(Recorded::New(_))));
    assert_eq!(store.keys(), [INCIDENT, SPILL]);
    let spilled = SpilledRecord::from_json(&store.objects.lock().unwrap()[SPILL]).unwrap();
    assert_eq!(spilled.outgoing, outgoing());
    let incident = Incident::from_json(INCIDENT, &store.objects.lock().unwrap()[INCIDENT]).unwrap();
    assert_eq!(incident.spill.as_deref(), Some(SPILL));
    assert_eq!(
        out.text(),
        format!(
            "[ALERT] #1  dlq=- p=- off=- key=k-7
        original=-/-/- previous=- retries=-
        class=permanent message=\"the token *** is too large\"
        payload=0 bytes spill={SPILL}
"
        )
    );
    assert_eq!(spill(&incidents).await, Ok(Recorded::Known));
    assert_eq!(out.text().lines().count(), 4);
}

#[tokio::test]
async fn whichever_put_fails_the_next_delivery_ends_it_with_one_alert() {
    for faults in [vec![false], vec![true, false], vec![false, true, false]] {
        let (store, out) = (Store::default(), Out::default());
        let incidents = incidents(&store, out.clone());
        *store.next.lock().unwrap() = faults.iter().copied().collect();
        while !store.next.lock().unwrap().is_empty() {
            assert!(spill(&incidents).await.is_err(), "{faults:?}");
            assert_eq!(out.text(), "", "{faults:?}");
        }
        assert!(matches!(spill(&incidents).await, Ok(Recorded::New(_))));
        assert_eq!(spill(&incidents).await, Ok(Recorded::Known));
        assert_eq!(store.keys(), [INCIDENT, SPILL]);
        assert_eq!(out.text().matches("[ALERT] #1 ").count(), 1);
    }
}

#[tokio::test]
async fn an_alert_that_cannot_be_written_hands_nothing_back() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let store = Store::default();
    assert!(matches!(
        spill(&incidents(&store, Closed)).await,
        Ok(Recorded::Unheard(_))
    ));
    assert_eq!(store.keys(), [INCIDENT, SPILL]);
}
