//! A store in memory, with faults on demand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws::{Object, Swap};
use lambda::{Objects, Put, StoreFault};
use tokio::time::{Instant, sleep};

use crate::Store;

/// What a store does with a call; it is told the call and the key.
type Rule = Box<dyn Fn(&str, &str) -> Kept + Send + Sync>;

/// How a store answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kept {
    /// As it should.
    Well,
    /// It does nothing and says so.
    Fault,
    /// It does it and says that it did not.
    Lost,
    /// It takes so long.
    Slowly(Duration),
}

/// Body, tag, and when it was written.
type Written = (Vec<u8>, u64, Instant);

/// The objects, and how the store behaves.
pub(crate) struct State {
    objects: Mutex<BTreeMap<String, Written>>,
    tags: Mutex<u64>,
    pub(crate) rule: Mutex<Rule>,
    pub(crate) calls: Mutex<Vec<(String, String)>>,
}

#[derive(Clone, Default)]
pub(crate) struct SharedState(pub(super) Arc<State>);

impl Default for State {
    fn default() -> Self {
        Self {
            objects: Mutex::default(),
            tags: Mutex::default(),
            rule: Mutex::new(Box::new(|_, _| Kept::Well)),
            calls: Mutex::default(),
        }
    }
}

impl State {
    pub(crate) fn set_rule(&self, rule: impl Fn(&str, &str) -> Kept + Send + Sync + 'static) {
        *self.rule.lock().unwrap() = Box::new(rule);
    }

    /// Returns the keys that begin so.
    pub(crate) fn keys(&self, prefix: &str) -> Vec<String> {
        let objects = self.objects.lock().unwrap();
        let keys = objects.keys().filter(|key| key.starts_with(prefix));
        keys.cloned().collect()
    }

    pub(crate) fn json(&self, key: &str) -> serde_json::Value {
        serde_json::from_slice(&self.objects.lock().unwrap()[key].0).unwrap()
    }

    /// Puts whatever a test wants there.
    pub(crate) fn put(&self, key: &str, body: Vec<u8>) {
        let mut tag = self.tags.lock().unwrap();
        *tag += 1;
        let object = (body, *tag, Instant::now());
        self.objects.lock().unwrap().insert(key.to_owned(), object);
    }

    fn swap(&self, key: &str, body: Vec<u8>, etag: Option<&str>) -> Option<String> {
        let there = self
            .objects
            .lock()
            .unwrap()
            .get(key)
            .map(|(_, tag, _)| tag.to_string());
        if there.as_deref() != etag {
            return None;
        }
        self.put(key, body);
        Some(self.tags.lock().unwrap().to_string())
    }
}

impl SharedState {
    /// Lets the store behave as its rule says.
    async fn call<T>(
        &self,
        call: &str,
        key: &str,
        does: impl FnOnce(&State) -> T,
    ) -> Result<T, StoreFault> {
        let state = &self.0;
        let called = (call.to_owned(), key.to_owned());
        state.calls.lock().unwrap().push(called);
        let fault = StoreFault(format!("bucket b: {call} {key}: as told"));
        let kept = (state.rule.lock().unwrap())(call, key);
        match kept {
            Kept::Well => Ok(does(state)),
            Kept::Fault => Err(fault),
            Kept::Lost => {
                does(state);
                Err(fault)
            }
            Kept::Slowly(time) => {
                sleep(time).await;
                Ok(does(state))
            }
        }
    }
}

impl Objects for SharedState {
    async fn put_new(&self, key: &str, body: Vec<u8>) -> Result<Put, StoreFault> {
        let put = |state: &State| state.swap(key, body, None);
        let put = self.call("put", key, put).await?;
        Ok(put.map_or(Put::Existed, |_| Put::Created))
    }
}

impl Store for SharedState {
    async fn get(&self, key: &str) -> Result<Option<Object>, StoreFault> {
        let get = |state: &State| {
            let objects = state.objects.lock().unwrap();
            let (body, tag, written) = objects.get(key)?.clone();
            Some(Object {
                body,
                etag: tag.to_string(),
                age_ms: Some(i64::try_from(written.elapsed().as_millis()).unwrap()),
            })
        };
        self.call("get", key, get).await
    }

    async fn replace(&self, key: &str, body: Vec<u8>, etag: &str) -> Result<Swap, StoreFault> {
        let put = |state: &State| state.swap(key, body, Some(etag));
        let put = self.call("replace", key, put).await?;
        Ok(put.map_or(Swap::Changed, Swap::Swapped))
    }

    async fn keys_after(&self, prefix: &str, after: &str) -> Result<Vec<String>, StoreFault> {
        let list = |state: &State| {
            let mut keys = state.keys(prefix);
            keys.retain(|key| key.as_str() > after);
            keys
        };
        self.call("list", prefix, list).await
    }
}
