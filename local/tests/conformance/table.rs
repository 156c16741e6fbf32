//! The table, run; and what holds for the table itself.

use std::collections::BTreeSet;

use crate::row::Source;
use crate::rows;
use crate::run::check;

#[test]
fn there_are_at_least_forty_rows_and_each_has_a_name_of_its_own_and_says_where_it_comes_from() {
    let rows = rows::all();
    assert!(rows.len() >= 40, "{} rows", rows.len());
    let mut names = BTreeSet::new();
    for row in &rows {
        assert!(
            !row.name.is_empty() && names.insert(row.name),
            "{}",
            row.name
        );
        assert!(!row.answers.is_empty(), "{} never runs", row.name);
        let told = match row.source {
            Source::Aws { page, says } => {
                assert!(page.contains("AWS"), "{}: {page}", row.name);
                says
            }
            Source::Assumed(why) => why,
        };
        assert!(
            told.len() > 10,
            "{} does not say where it comes from",
            row.name
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_say_that_all_is_done_or_what_is_not() {
    check(&[rows::ANSWERS, rows::PARTIAL].concat()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_make_no_sense() {
    check(rows::MALFORMED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invocations_without_an_answer() {
    check(&[rows::FAILURES, rows::BISECT].concat()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_and_age() {
    check(&[rows::RETRIES, rows::AGE].concat()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_pollers_and_starting_positions() {
    check(&[rows::BATCHING, rows::POLLERS, rows::STARTING].concat()).await;
}
