use super::*;

const PROGRAM: &str = "pos:\t0\nflags:\t02000002\nmnt_id:\t17\nino:\t1038\nprog_type:\t26\n\
    prog_jited:\t1\nprog_tag:\t3dd525f13a6f1665\nmemlock:\t16384\nprog_id:\t64139\n\
    run_time_ns:\t1200\nrun_cnt:\t10\nrecursion_misses:\t0\nverified_insns:\t7934\n";
const LINK: &str = "pos:\t0\nflags:\t02000000\nmnt_id:\t17\nino:\t1038\n\
    link_type:\traw_tracepoint\nlink_id:\t158127\nprog_tag:\t3dd525f13a6f1665\n\
    prog_id:\t64139\ntp_name:\tinet_sock_set_state\ncookie:\t0\n";

fn programs(texts: &[&str]) -> Programs {
    let mut programs = Programs::default();
    texts.iter().for_each(|text| programs.add(text));
    programs
}

#[test]
fn a_program_that_is_attached_counts_once() {
    assert_eq!(programs(&[PROGRAM, LINK]).attached(), (1_200, 10));
    assert_eq!(programs(&[LINK, PROGRAM, LINK, PROGRAM]).attached(), (1_200, 10));
}

#[test]
fn a_program_that_the_process_runs_itself_is_in_its_own_time() {
    assert_eq!(programs(&[PROGRAM]).attached(), (0, 0));
    let iterator = LINK.replace("raw_tracepoint", "iter");
    assert_eq!(programs(&[PROGRAM, &iterator]).attached(), (0, 0));
}

#[test]
fn all_that_are_attached_are_added_up() {
    let other = |text: &str| text.replace("64139", "7").replace("raw_tracepoint", "cgroup");
    assert_eq!(programs(&[PROGRAM, LINK, &other(PROGRAM), &other(LINK)]).attached(), (2_400, 20));
}

#[test]
fn other_descriptors_are_passed_over() {
    let map = "pos:\t0\nmap_type:\t1\nkey_size:\t4\nmap_id:\t12\n";
    assert_eq!(programs(&["", map, "pos:\t0\nflags:\t02\n"]), Programs::default());
    // Before 5.8 there is no account in it.
    let old = "prog_type:\t26\nprog_id:\t64139\n";
    assert_eq!(programs(&[old, LINK]).attached(), (0, 0));
}

#[test]
fn between_two_times_is_what_was_added() {
    let at = Instant::now();
    let spent = |process_ns, ns, runs| {
        let ran = BTreeMap::from([(1, (ns, runs))]);
        Spent { at, process_ns, programs: Programs { ran, attached: vec![1] } }
    };
    let between = spent(50, 700, 9).since(&spent(20, 100, 3));
    assert_eq!((between.process_ns, between.kernel_ns, between.runs), (30, 600, 6));
}

#[test]
fn time_on_the_processor_is_the_first_number() {
    assert_eq!(on_cpu_ns("92061805 26501166 33\n"), Some(92_061_805));
    assert_eq!(on_cpu_ns(""), None);
}

#[test]
fn this_process_has_spent_something() {
    let spent = Spent::read(std::process::id()).unwrap();
    assert!(spent.process_ns > 0);
    assert!(Spent::read(u32::MAX).is_err());
}
