use super::*;

#[test]
fn a_socket_that_is_there_is_read_as_often_as_asked() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    for method in MethodName::ALL.map(Some).into_iter().chain([None]) {
        if method.and_then(refusal).is_some() {
            continue;
        }
        // The own connections are no part of the map, so nothing is known of the edges here.
        let map = read(Read { method, repeat: 3 }).unwrap();
        assert!(map.rows >= 2, "{method:?}");
        assert_eq!(map.readings.len(), 3);
    }
    drop(client);
}

#[test]
fn what_fails_although_the_host_allows_it_has_failed() {
    let fault = || Fault::Failed("exit code 2".to_owned());
    assert_eq!(refused_or(fault(), Some(MethodName::Procfs)), fault());
    assert_eq!(refused_or(fault(), None), fault());
}

#[test]
fn a_report_survives_its_way_between_processes() {
    let cost = ReadingCost { wall_us: 5, cpu_us: 4 };
    let report = ReadReport { rows: 3, owned: 2, readings: vec![cost], ..Default::default() };
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<ReadReport>(&text).unwrap(), report);
}

#[test]
fn arguments_say_how_to_read() {
    let args = |method| Read { method, repeat: 2 }.to_args().join(" ");
    assert_eq!(args(None), "--repeat 2");
    assert_eq!(args(Some(MethodName::Procfs)), "--repeat 2 --method procfs");
}
