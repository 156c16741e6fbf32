use proptest::prelude::*;

use super::*;

const OPEN_MS: i64 = 10_000;

fn circuit(most_timeouts: u32) -> Circuit {
    let most_timeouts = NonZeroU32::new(most_timeouts).unwrap();
    Circuit::new(most_timeouts, Span::from_millis(OPEN_MS).unwrap())
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Returns a circuit that opened at this time.
fn opened_at(millis: i64) -> Circuit {
    let mut circuit = circuit(1);
    circuit.report(Admission::Call, CallEnd::Timeout, at(millis));
    circuit
}

#[test]
fn it_opens_after_so_many_timeouts_in_a_row_and_not_before() {
    for most in 1..=6 {
        let mut circuit = circuit(most);
        for made in 0..most {
            assert_eq!(
                circuit.admit(at(0)),
                Admission::Call,
                "after {made} of {most}"
            );
            circuit.report(Admission::Call, CallEnd::Timeout, at(0));
        }
        assert_eq!(circuit.admit(at(0)), Admission::Refused);
    }
}

#[test]
fn any_answer_starts_the_row_anew() {
    for ends in 0..1_u32 << 8 {
        let mut circuit = circuit(3);
        let mut row = 0;
        for bit in 0..8 {
            let end = if ends & (1 << bit) == 0 {
                row = 0;
                CallEnd::Answered
            } else {
                row += 1;
                CallEnd::Timeout
            };
            circuit.report(Admission::Call, end, at(0));
            if row == 3 {
                break;
            }
        }
        let expected = if row == 3 {
            Admission::Refused
        } else {
            Admission::Call
        };
        assert_eq!(circuit.admit(at(0)), expected, "{ends:08b}");
    }
}

#[test]
fn when_its_time_is_over_one_call_probes_and_the_rest_does_not_wait() {
    let mut circuit = opened_at(0);
    assert_eq!(circuit.admit(at(OPEN_MS - 1)), Admission::Refused);
    assert_eq!(circuit.admit(at(OPEN_MS)), Admission::Probe(1));
    for later in [OPEN_MS, OPEN_MS * 100] {
        assert_eq!(circuit.admit(at(later)), Admission::Refused);
    }
}

#[test]
fn the_end_of_the_probe_closes_or_opens_again() {
    let mut circuit = opened_at(0);
    let probe = circuit.admit(at(OPEN_MS));
    circuit.report(probe, CallEnd::Timeout, at(OPEN_MS + 7));
    assert_eq!(circuit.admit(at(2 * OPEN_MS + 6)), Admission::Refused);
    let probe = circuit.admit(at(2 * OPEN_MS + 7));
    assert_eq!(probe, Admission::Probe(2));
    circuit.report(probe, CallEnd::Answered, at(2 * OPEN_MS + 8));
    assert_eq!(circuit.admit(at(2 * OPEN_MS + 8)), Admission::Call);
}

#[test]
fn calls_from_before_it_opened_change_nothing_while_it_is_open_or_probing() {
    for end in [CallEnd::Timeout, CallEnd::Answered] {
        let mut circuit = opened_at(0);
        circuit.report(Admission::Call, end, at(5_000));
        assert_eq!(circuit.admit(at(OPEN_MS - 1)), Admission::Refused);
        let probe = circuit.admit(at(OPEN_MS));
        circuit.report(Admission::Call, end, at(OPEN_MS));
        assert_eq!(circuit.admit(at(OPEN_MS)), Admission::Refused);
        circuit.report(probe, CallEnd::Answered, at(OPEN_MS));
        assert_eq!(circuit.admit(at(OPEN_MS)), Admission::Call);
    }
}

#[test]
fn a_probe_that_never_reports_makes_room_for_the_next() {
    let mut circuit = opened_at(0);
    let first = circuit.admit(at(OPEN_MS));
    circuit.abandon(first);
    let second = circuit.admit(at(OPEN_MS));
    assert_eq!(second, Admission::Probe(2));
    circuit.abandon(first);
    circuit.report(first, CallEnd::Answered, at(OPEN_MS));
    assert_eq!(circuit.admit(at(OPEN_MS)), Admission::Refused);
    circuit.report(second, CallEnd::Answered, at(OPEN_MS));
    assert_eq!(circuit.admit(at(OPEN_MS)), Admission::Call);
}

#[test]
fn a_clock_that_is_set_back_does_not_keep_it_open() {
    let mut circuit = opened_at(1_000_000_000);
    assert_eq!(circuit.admit(at(999_000_000)), Admission::Probe(1));
}

#[test]
fn a_dropped_pass_gives_its_probe_back_and_a_reported_one_does_not() {
    let breaker = CircuitBreaker::new(opened_at(0));
    assert!(breaker.pass(at(0)).is_none());
    let pass = breaker.pass(at(OPEN_MS)).unwrap();
    assert!(breaker.pass(at(OPEN_MS)).is_none());
    drop(pass);
    let pass = breaker.pass(at(OPEN_MS)).unwrap();
    pass.report(CallEnd::Timeout, at(OPEN_MS));
    drop(pass);
    assert!(breaker.pass(at(OPEN_MS)).is_none());
    let pass = breaker.pass(at(2 * OPEN_MS)).unwrap();
    pass.report(CallEnd::Answered, at(2 * OPEN_MS));
    let others = [(); 3].map(|()| breaker.pass(at(2 * OPEN_MS)));
    assert!(others.iter().all(Option::is_some));
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Admit,
    Report(usize, CallEnd),
    Abandon(usize),
    Wait(i64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => Just(Act::Admit),
        4 => (any::<usize>(), prop_oneof![Just(CallEnd::Timeout), Just(CallEnd::Answered)])
            .prop_map(|(which, end)| Act::Report(which, end)),
        1 => any::<usize>().prop_map(Act::Abandon),
        2 => (0..OPEN_MS * 2).prop_map(Act::Wait),
    ]
}

proptest! {
    /// Whatever happens in whatever order: at most one probe at a time, none before its time, and when all calls have ended it
    /// is never shut for good.
    #[test]
    fn any_history_leaves_it_sound(most in 1..4_u32, acts in proptest::collection::vec(act(), 0..120)) {
        let mut circuit = circuit(most);
        let mut now = 0;
        let mut under_way: Vec<Admission> = Vec::new();
        let mut opened: Option<i64> = None;
        let mut row = 0;
        for act in acts {
            match act {
                Act::Wait(millis) => now += millis,
                Act::Admit => {
                    let admission = circuit.admit(at(now));
                    let probing = under_way.iter().any(|a| matches!(a, Admission::Probe(_)));
                    let expected_shut = opened.is_some_and(|since| probing || now - since < OPEN_MS);
                    match admission {
                        Admission::Refused => prop_assert!(expected_shut),
                        Admission::Call => prop_assert!(opened.is_none()),
                        Admission::Probe(_) => prop_assert!(opened.is_some() && !expected_shut),
                    }
                    if admission != Admission::Refused {
                        under_way.push(admission);
                    }
                }
                Act::Report(which, end) if !under_way.is_empty() => {
                    let admission = under_way.swap_remove(which % under_way.len());
                    circuit.report(admission, end, at(now));
                    match (opened, admission, end) {
                        (None, _, CallEnd::Answered) => row = 0,
                        (None, _, CallEnd::Timeout) => {
                            row += 1;
                            if row == most {
                                opened = Some(now);
                            }
                        }
                        (Some(_), Admission::Probe(_), CallEnd::Timeout) => opened = Some(now),
                        (Some(_), Admission::Probe(_), CallEnd::Answered) => {
                            opened = None;
                            row = 0;
                        }
                        (Some(_), Admission::Call | Admission::Refused, _) => {}
                    }
                }
                Act::Abandon(which) if !under_way.is_empty() => {
                    let admission = under_way.swap_remove(which % under_way.len());
                    circuit.abandon(admission);
                }
                Act::Report(..) | Act::Abandon(_) => {}
            }
        }
        for admission in under_way {
            circuit.abandon(admission);
        }
        prop_assert!(circuit.admit(at(now + OPEN_MS)) != Admission::Refused);
    }
}
