//! The answer in one plain sentence.

use pipeline::Timestamp;

use super::{Charge, Sighting, State, Whereabouts};

/// Says where a payment is: what the provider says of it first, then where it waits, then where it lies dead.
pub(super) fn sentence(found: &Whereabouts, now: Timestamp) -> String {
    let mut parts = Vec::new();
    match found.provider {
        Some(Charge::Succeeded) => parts.push("charged".to_owned()),
        Some(Charge::Failed) => {
            parts.push("not charged: the provider says that it failed".to_owned());
        }
        Some(Charge::Pending) => parts.push("being charged by the provider".to_owned()),
        Some(Charge::Unknown) => parts.push("not charged".to_owned()),
        None => {}
    }
    let nothing = found.sightings.is_empty();
    let before = parts.len();
    for sighting in &found.sightings {
        parts.extend(open_end(found, sighting, now));
    }
    if nothing {
        let incidents = found.incidents.as_ref().map_or(0, Vec::len);
        parts.push(match incidents {
            0 => "in no topic".to_owned(),
            _ => "in no topic any more, though it was dead".to_owned(),
        });
    } else if parts.len() == before {
        parts.push("waits nowhere".to_owned());
    }
    parts.join("; ")
}

/// Says of a record that is not over and done with where it is.
fn open_end(found: &Whereabouts, sighting: &Sighting, now: Timestamp) -> Option<String> {
    let at = &sighting.at;
    match sighting.state {
        State::Passed | State::Replayed => None,
        State::Waits => Some(match sighting.due_at {
            Some(due) if due > now => {
                let until = due.to_rfc3339().unwrap_or_default();
                format!("waits in {at} until {until}")
            }
            Some(_) => format!("due in {at}, and not done yet"),
            None => format!("waits in {at} for its turn"),
        }),
        State::Unknown => Some(match sighting.due_at {
            Some(due) if due > now => {
                let until = due.to_rfc3339().unwrap_or_default();
                format!("waits in {at} until {until}")
            }
            Some(_) | None => format!(
                "in {at}, whose consumer group has committed nothing, so that it may be done or not"
            ),
        }),
        State::Dead => {
            let incident = sighting.incident.as_deref().unwrap_or_default();
            let known = found
                .incidents
                .as_ref()
                .map(|incidents| incidents.iter().any(|known| known.object == incident));
            Some(match known {
                Some(true) => format!("dead in {at}, incident {incident}"),
                Some(false) => format!("dead in {at}, without an incident yet"),
                None => format!("dead in {at}"),
            })
        }
    }
}
