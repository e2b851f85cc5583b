use super::*;

#[test]
fn columns_are_told_apart_in_a_set() {
    let all = Column::value_variants();
    assert!(all.len() <= 32, "a set has so many bits");
    for &one in all {
        let set: ColumnSet = [one].into_iter().collect();
        for &other in all {
            assert_eq!(set.has(other), one == other, "{one:?} {other:?}");
        }
    }
    let two: ColumnSet = [Column::Pid, Column::Rtt].into_iter().collect();
    assert!(two.has_any(&[Column::Uid, Column::Rtt]) && !two.has_any(&[Column::Uid]));
}

#[test]
fn a_heading_fits_into_its_column() {
    for column in Column::value_variants() {
        assert!(column.heading().len() <= column.width(), "{column:?}");
        assert!(column.width() < 64, "{column:?}: padding has no more blanks");
    }
}

#[test]
fn columns_ask_for_what_they_show() {
    let asked = |column: Column| {
        let mut details = Details::NONE;
        column.ask(&mut details);
        details
    };
    assert_eq!(asked(Column::Local), Details::NONE);
    assert_eq!(asked(Column::RecvQ), Details { queues: true, ..Details::NONE });
    assert_eq!(asked(Column::Inode), Details { holder: true, ..Details::NONE });
    assert_eq!(asked(Column::Pid), Details { holder: true, ..Details::NONE });
    assert_eq!(asked(Column::Cookie), Details { cookie: true, ..Details::NONE });
    assert_eq!(asked(Column::Timer), Details { timer: true, ..Details::NONE });
    assert_eq!(asked(Column::Drops), Details { memory: true, ..Details::NONE });
    assert_eq!(asked(Column::Rtt), Details { tcp_info: true, ..Details::NONE });
}
