//! The tables of the demo.

use pipeline::Incident;

use super::account::{Account, Row};
use super::screen::Screen;

/// The most rows that a table of incidents has.
const MOST_INCIDENTS: usize = 40;

/// Shows incidents, one a row.
pub(super) fn incidents(screen: &Screen, incidents: &[Incident]) {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let rows = incidents.iter().take(MOST_INCIDENTS).map(|incident| {
        let (partition, offset) = (incident.dlq_partition, incident.dlq_offset);
        let at = partition.zip(offset);
        vec![
            at.map_or("-".to_owned(), |(partition, offset)| {
                format!("{partition}/{offset}")
            }),
            text(&incident.key),
            text(&incident.error_class),
            text(&incident.error_code),
            text(&incident.dlq_reason),
            text(&incident.retry_count),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let head = ["dlq", "key", "class", "code", "reason", "retries"];
    screen.table(&head, &rows, &[5]);
    let more = incidents.len().saturating_sub(MOST_INCIDENTS);
    if more > 0 {
        screen.aside(&format!("and {more} more"));
    }
}

/// Shows the account, one row for each kind and way, and the sums.
pub(super) fn account(screen: &Screen, account: &Account) {
    let mut rows: Vec<Vec<String>> = account.rows.iter().map(row).collect();
    let totals = account.totals;
    rows.push(vec![
        "all".to_owned(),
        totals.payments.to_string(),
        String::new(),
        format!("{} charged", totals.charged),
        format!("{} twice", totals.double_charged),
    ]);
    let head = ["what", "payments", "way", "end", "charged each"];
    screen.table(&head, &rows, &[1]);
}

fn row(row: &Row) -> Vec<String> {
    let charged = match row.charges {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        more => format!("{more} times"),
    };
    vec![
        row.kind.to_string(),
        row.payments.to_string(),
        row.route.join(" → "),
        row.end.to_string(),
        charged,
    ]
}
