use std::sync::{Arc, Mutex};

use super::*;

/// What a fake contestant does.
#[derive(Clone)]
enum Act {
    Rows(u64),
    Missing,
    Refused,
    Fail,
    /// Works until this many runs are done.
    FailAfter(usize),
}

type Diary = Arc<Mutex<Vec<String>>>;

struct Fake {
    name: &'static str,
    act: Act,
    runs: usize,
    diary: Diary,
}

impl Contestant for Fake {
    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> &str {
        "pretends"
    }

    fn task(&self) -> &'static str {
        "pretend"
    }

    fn baseline(&self) -> &'static str {
        if self.name == "call" { "ball" } else { "a" }
    }

    fn is_own(&self) -> bool {
        self.name == "a"
    }

    fn absent(&self, _size: u64) -> Option<String> {
        matches!(self.act, Act::Missing).then(|| "not installed: apt-get install it".to_owned())
    }

    fn run(&mut self, _size: u64, purpose: Purpose) -> Result<Sample, Fault> {
        let mark = if purpose == Purpose::WarmUp { "w" } else { "" };
        self.diary.lock().unwrap().push(format!("{}{mark}", self.name));
        self.runs += 1;
        match self.act {
            Act::Rows(rows) => Ok(Sample { rows: Some(rows), ..Sample::default() }),
            Act::FailAfter(runs) if self.runs <= runs => Ok(Sample::default()),
            Act::Refused => Err(Fault::Refused("needs BPF".to_owned())),
            _ => Err(Fault::Failed("exit code 1".to_owned())),
        }
    }

    fn rows_expected(&self, size: u64) -> RangeInclusive<u64> {
        if self.name == "exact" { size..=size } else { size..=u64::MAX }
    }

    fn look_closer(&mut self, size: u64) -> Result<Vec<Figure>, String> {
        if self.name == "b" {
            return Err("needs a lens".to_owned());
        }
        Ok(vec![Figure::count("seen", "things", size)])
    }

    fn count_reads(&mut self) -> Option<Result<u64, String>> {
        self.diary.lock().unwrap().push(format!("{}#", self.name));
        Some(Ok(3))
    }
}

struct Stage {
    cast: Vec<(&'static str, Act)>,
    diary: Diary,
}

struct Scenery(Diary);

impl crate::scenario::World for Scenery {}

impl Drop for Scenery {
    fn drop(&mut self) {
        self.0.lock().unwrap().push("end".to_owned());
    }
}

impl Scenario for Stage {
    fn name(&self) -> &'static str {
        "stage"
    }

    fn about(&self) -> &str {
        "pretending"
    }

    fn unit(&self) -> &'static str {
        "things"
    }

    fn sizes(&self) -> &[u64] {
        &[10]
    }

    fn left_out(&self, size: u64) -> Option<String> {
        (size == 99).then(|| "needs more memory".to_owned())
    }

    fn contestants(&self) -> Vec<Box<dyn Contestant>> {
        let diary = &self.diary;
        let fake = |(name, act): &(&'static str, Act)| -> Box<dyn Contestant> {
            Box::new(Fake { name, act: act.clone(), runs: 0, diary: diary.clone() })
        };
        self.cast.iter().map(fake).collect()
    }

    fn prepare(&self, size: u64) -> Result<Box<dyn crate::scenario::World>, Error> {
        if size == 666 {
            return Err(Error::TooMany { what: "things", asked: size, max: 100, advice: "" });
        }
        self.diary.lock().unwrap().push(format!("begin {size}"));
        Ok(Box::new(Scenery(self.diary.clone())))
    }
}

fn stage(cast: &[(&'static str, Act)]) -> Stage {
    Stage { cast: cast.to_vec(), diary: Diary::default() }
}

fn rounds(rounds: u32) -> Options {
    Options { rounds: Some(rounds), ..Options::default() }
}

fn outcomes(results: &Results) -> Vec<(&str, &Outcome)> {
    let lanes = results.sizes.iter().flat_map(|size| &size.lanes);
    lanes.map(|lane| (lane.contestant.as_str(), &lane.outcome)).collect()
}

#[test]
fn contestants_take_turns_in_one_world_per_size() {
    let stage = stage(&[("a", Act::Rows(10)), ("b", Act::Rows(10)), ("c", Act::Rows(10))]);
    let options = Options { sizes: vec![10, 5], ..rounds(2) };
    let results = run(&stage, &options, &mut |_| Ok(())).unwrap();
    let diary = stage.diary.lock().unwrap().clone();
    for (size, part) in ["begin 10", "begin 5"].into_iter().zip(diary.chunks(14)) {
        assert_eq!(part[0], size);
        assert_eq!(part[1..4], ["aw", "bw", "cw"]);
        for round in part[4..10].chunks(3) {
            let mut round = round.to_vec();
            round.sort_unstable();
            assert_eq!(round, ["a", "b", "c"]);
        }
        // What slows down the counted comes after everything that is timed.
        assert_eq!(part[10..], ["a#", "b#", "c#", "end"]);
    }
    assert!(!results.has_faults());
    assert!(results.sizes.iter().flat_map(|size| &size.lanes).all(
        |lane| matches!(&lane.outcome, Outcome::Measured(samples) if samples.len() == 2)
            && lane.rows == Some(10)
            && lane.reads == Some(Ok(3))
    ));
    let closer = |lane: usize| results.sizes[1].lanes[lane].closer.clone();
    assert_eq!(closer(0), Ok(vec![Figure::count("seen", "things", 5)]));
    assert_eq!(closer(1), Err("needs a lens".to_owned()));
}

#[test]
fn who_is_not_installed_is_a_lane_that_says_so() {
    let stage = stage(&[("a", Act::Rows(10)), ("b", Act::Missing)]);
    let results = run(&stage, &rounds(1), &mut |_| Ok(())).unwrap();
    let why = Outcome::Absent("not installed: apt-get install it".to_owned());
    assert_eq!(outcomes(&results)[1], ("b", &why));
    assert_eq!(stage.diary.lock().unwrap().join(" "), "begin 10 aw a a# end");
    assert!(!results.has_faults(), "to be absent is no fault");
}

#[test]
fn whom_the_host_refuses_is_a_lane_that_says_so() {
    let stage = stage(&[("a", Act::Rows(10)), ("b", Act::Refused)]);
    let results = run(&stage, &rounds(1), &mut |_| Ok(())).unwrap();
    assert_eq!(outcomes(&results)[1], ("b", &Outcome::Absent("needs BPF".to_owned())));
    assert!(!results.has_faults());
}

#[test]
fn who_fails_is_out_and_the_others_go_on() {
    let cast = [("a", Act::Rows(10)), ("b", Act::Fail), ("c", Act::FailAfter(2))];
    let stage = stage(&cast);
    let results = run(&stage, &rounds(3), &mut |_| Ok(())).unwrap();
    let failed = Outcome::Failed("exit code 1".to_owned());
    assert!(matches!(outcomes(&results)[0].1, Outcome::Measured(samples) if samples.len() == 3));
    assert_eq!(outcomes(&results)[1..], [("b", &failed), ("c", &failed)]);
    let runs = |of: &str| stage.diary.lock().unwrap().iter().filter(|one| *one == of).count();
    assert_eq!((runs("a"), runs("b"), runs("c")), (3, 0, 2));
    assert_eq!((runs("a#"), runs("b#"), runs("c#")), (1, 0, 0));
    assert!(results.has_faults());
}

#[test]
fn too_few_rows_are_wrong_and_not_timed() {
    let stage = stage(&[("a", Act::Rows(10)), ("b", Act::Rows(9))]);
    let results = run(&stage, &rounds(2), &mut |_| Ok(())).unwrap();
    let wrong = Outcome::Wrong("9 rows, of at least 10".to_owned());
    assert_eq!(outcomes(&results)[1], ("b", &wrong));
    assert_eq!(stage.diary.lock().unwrap().join(" "), "begin 10 aw bw a a a# end");
    assert!(results.has_faults());
}

#[test]
fn where_the_number_is_known_more_rows_are_wrong_too() {
    let stage = stage(&[("a", Act::Rows(11)), ("exact", Act::Rows(11))]);
    let results = run(&stage, &rounds(1), &mut |_| Ok(())).unwrap();
    assert_eq!(outcomes(&results)[1], ("exact", &Outcome::Wrong("11 rows, of 10".to_owned())));
}

#[test]
fn only_those_asked_for_run_and_whom_they_are_compared_with() {
    let cast = [
        ("a", Act::Rows(10)),
        ("ball", Act::Rows(10)),
        ("call", Act::Rows(10)),
        ("duel", Act::Rows(10)),
    ];
    let lanes = |only: &str, baseline: Option<&str>| {
        let baseline = baseline.map(str::to_owned);
        let options = Options { only: vec![only.to_owned()], baseline, ..rounds(1) };
        let mut results = run(&stage(&cast), &options, &mut |_| Ok(())).unwrap();
        let lanes = results.sizes.remove(0).lanes.into_iter();
        lanes.map(|lane| format!("{} vs {}", lane.contestant, lane.baseline)).collect::<Vec<_>>()
    };
    assert_eq!(lanes("bal", None), ["a vs a", "ball vs a"]);
    assert_eq!(lanes("cal", None), ["ball vs a", "call vs ball"]);
    assert_eq!(lanes("cal", Some("duel")), ["call vs duel", "duel vs duel"]);
}

#[test]
fn a_size_that_is_left_out_says_why_and_the_others_are_measured() {
    let stage = stage(&[("a", Act::Rows(100))]);
    let options = Options { sizes: vec![99, 10], ..rounds(1) };
    let results = run(&stage, &options, &mut |_| Ok(())).unwrap();
    assert_eq!(results.sizes[0].left_out.as_deref(), Some("needs more memory"));
    assert_eq!(outcomes(&results)[0].1, &Outcome::Absent("needs more memory".to_owned()));
    assert!(matches!(outcomes(&results)[1].1, Outcome::Measured(_)));
    assert_eq!(stage.diary.lock().unwrap().join(" "), "begin 10 aw a a# end");
    assert!(!results.has_faults());
}

#[test]
fn a_name_that_nobody_has_is_an_error() {
    let stage = stage(&[("a", Act::Rows(10))]);
    for options in [
        Options { only: vec!["z".to_owned()], ..rounds(1) },
        Options { baseline: Some("z".to_owned()), ..rounds(1) },
    ] {
        let said = run(&stage, &options, &mut |_| Ok(())).unwrap_err().to_string();
        assert!(said.contains("\"z\"") && said.contains("there are: a"), "{said}");
    }
    assert!(stage.diary.lock().unwrap().is_empty());
}

#[test]
fn a_size_that_cannot_be_made_leaves_the_earlier_ones_told() {
    let stage = stage(&[("a", Act::Rows(10))]);
    let options = Options { sizes: vec![10, 666], ..rounds(1) };
    let mut told = Vec::new();
    let result = run(&stage, &options, &mut |event| {
        told.push(match event {
            Event::Preparing { size } => format!("preparing {size}"),
            Event::Running { round, contestant, .. } => format!("{contestant} {round}"),
            Event::Counting { contestant, .. } => format!("{contestant} #"),
            Event::Finished(results) => format!("finished {}", results.sizes.len()),
        });
        Ok(())
    });
    assert!(matches!(result, Err(Error::TooMany { .. })));
    assert_eq!(told, ["preparing 10", "a 0", "a 1", "a #", "finished 1", "preparing 666"]);
}

#[test]
fn a_reader_that_goes_away_ends_the_measurement() {
    let stage = stage(&[("a", Act::Rows(10))]);
    let options = Options { sizes: vec![10, 20], ..rounds(1) };
    let result = run(&stage, &options, &mut |event| match event {
        Event::Finished(_) => Err(io::ErrorKind::BrokenPipe.into()),
        Event::Preparing { .. } | Event::Running { .. } | Event::Counting { .. } => Ok(()),
    });
    assert!(matches!(result, Err(Error::System { .. })), "{result:?}");
    assert_eq!(stage.diary.lock().unwrap().join(" "), "begin 10 aw a a# end");
}
