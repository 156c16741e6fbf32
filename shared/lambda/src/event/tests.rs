use super::*;

#[test]
fn an_event_without_records_is_refused() {
    assert_eq!(decode("{}"), Err(EventError::NoRecords));
}
