use super::*;

fn place(netns: NetnsId) -> Place {
    let mut place = Place::here();
    place.netns = netns;
    place
}

fn refusal(errno: Errno) -> Error {
    let (what, place) = ("enter the network namespace", "a place".to_owned());
    Error::System { what, place, source: errno.into() }
}

#[test]
fn nothing_is_said_where_all_were_entered_or_have_ended() {
    let mut unentered = Unentered::default();
    unentered.add(&place(7), refusal(Errno::NOENT));
    assert_eq!(unentered.sentences(), Vec::<String>::new());
}

#[test]
fn each_namespace_counts_once_in_one_sentence() {
    let mut unentered = Unentered::beside(3);
    for netns in [7, 7, 8] {
        unentered.add(&place(netns), refusal(Errno::PERM));
    }
    let sentences = unentered.sentences();
    let [sentence] = &*sentences else { panic!("{sentences:?}") };
    assert!(
        sentence.contains("2 cannot be entered, and perhaps others, because 3 processes"),
        "{sentence}"
    );
}

#[test]
fn processes_that_hide_may_live_in_others() {
    let sentences = Unentered::beside(1).sentences();
    assert!(sentences[0].contains("may be missing, because 1 process cannot"), "{sentences:?}");
}

#[test]
fn another_failure_is_told_once_as_it_is() {
    let mut unentered = Unentered::default();
    for _ in 0..2 {
        unentered.add(&place(7), refusal(Errno::NFILE));
    }
    let sentences = unentered.sentences();
    assert_eq!(sentences.len(), 1);
    assert!(sentences[0].contains("cannot enter the network namespace"), "{sentences:?}");
}
