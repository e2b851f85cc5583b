use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn part(nth: u64, completed: u64, is_last: bool) -> Message {
    let counts = TargetCounts { responses: completed, connected: 1, ..TargetCounts::default() };
    let begin = SECOND * u32::try_from(nth.min(99)).unwrap();
    let mut measured = Measured::default();
    measured.request.record(Duration::from_nanos(completed));
    Message::Part(Box::new(Part {
        nth,
        begin,
        length: SECOND,
        is_last,
        completed,
        counts,
        measured: measured.sparse(),
        ..Part::default()
    }))
}

fn ended(nth: u64) -> Message {
    let targets = vec![TargetCounts { connected: 1, ..TargetCounts::default() }];
    Message::Ended(Box::new(Ended { nth, targets, took: SECOND, ..Ended::default() }))
}

/// What is said, by the number of its interval.
fn intervals(news: &[News]) -> Vec<(u64, u64)> {
    let one = |news: &News| match news {
        News::Interval(it) => Some((it.0.nth, it.0.completed)),
        _ => None,
    };
    news.iter().filter_map(one).collect()
}

fn gather(workers: usize) -> Gather {
    Gather::new(Schedule::new(Some(4.0), None, Some(SECOND)), workers, 1)
}

#[test]
fn an_interval_is_complete_when_all_have_said_theirs() {
    let mut gather = gather(2);
    assert_eq!(gather.handle(Message::Ready).unwrap(), []);
    assert_eq!(gather.handle(Message::Ready).unwrap(), [News::AllReady]);
    assert_eq!(gather.handle(part(0, 3, true)).unwrap(), []);
    assert_eq!(gather.handle(part(1, 5, true)).unwrap(), []);
    let news = gather.handle(part(0, 4, false)).unwrap();
    assert_eq!(news, [], "it has more to say of it");
    let news = gather.handle(part(0, 1, true)).unwrap();
    assert_eq!(intervals(&news), [(0, 8)]);
    let News::Interval(first) = &news[0] else { panic!("{news:?}") };
    assert_eq!((first.0.asked_per_second, first.0.open), (Some(4.0), 3));
    assert_eq!(first.1.request.count(), 3);
    // Who ended in the first has nothing to say of the second.
    let news = gather.handle(ended(0)).unwrap();
    assert_eq!(intervals(&news), [(1, 5)]);
    assert_eq!(gather.handle(ended(1)).unwrap(), [News::AllEnded]);
    let total = gather.total();
    assert_eq!((total.completed, total.targets[0].connected), (13, 2));
}

#[test]
fn who_speaks_of_what_is_over_or_fails_is_an_error() {
    let mut gather = gather(1);
    gather.handle(part(0, 1, true)).unwrap();
    assert!(gather.handle(part(0, 1, true)).unwrap_err().contains("over"));
    assert!(gather.handle(part(u64::MAX, 1, true)).is_err());
    assert_eq!(gather.handle(Message::Failed("why".to_owned())), Err("why".to_owned()));
}

#[test]
fn the_warm_up_counts_but_is_not_measured() {
    let mut gather = gather(1);
    let Message::Part(mut warm) = part(0, 7, true) else { unreachable!() };
    warm.is_warm_up = true;
    gather.handle(Message::Part(warm)).unwrap();
    gather.handle(part(1, 5, true)).unwrap();
    gather.handle(ended(1)).unwrap();
    let total = gather.total();
    assert_eq!((total.completed, total.completed_in_warm_up), (12, 7));
    assert_eq!(total.measured.request.count(), 1);
}

proptest! {
    /// In whatever order workers come to speak: the same intervals, each once, in order.
    #[test]
    fn the_order_of_workers_does_not_matter(
        lengths in prop::collection::vec(1_u64..6, 1..5),
        turns in prop::collection::vec(any::<prop::sample::Index>(), 64),
    ) {
        let mut queues: Vec<VecDeque<Message>> = lengths.iter().enumerate().map(|(worker, &all)| {
            let worker = u64::try_from(worker).unwrap();
            let parts = (0..all).map(|nth| part(nth, worker * 10 + nth, true));
            [Message::Ready].into_iter().chain(parts).chain([ended(all - 1)]).collect()
        }).collect();
        let mut gather = gather(lengths.len());
        let mut news = Vec::new();
        let mut turns = turns.iter().cycle();
        while queues.iter().any(|queue| !queue.is_empty()) {
            let queue = turns.next().unwrap().index(queues.len());
            // Whoever has nothing to say leaves the turn to the next.
            for offset in 0..queues.len() {
                let at = (queue + offset) % queues.len();
                if let Some(message) = queues[at].pop_front() {
                    news.extend(gather.handle(message).unwrap());
                    break;
                }
            }
        }
        let longest = *lengths.iter().max().unwrap();
        let expected: Vec<_> = (0..longest).map(|nth| {
            let said = lengths.iter().zip(0..).filter(|&(&all, _)| nth < all);
            (nth, said.map(|(_, worker)| worker * 10 + nth).sum())
        }).collect();
        prop_assert_eq!(intervals(&news), expected);
        prop_assert_eq!(news.last(), Some(&News::AllEnded));
    }
}
