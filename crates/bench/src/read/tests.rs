use super::*;

#[test]
fn each_depth_reads_a_socket_that_is_there() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    for method in MethodName::ALL.map(Some).into_iter().chain([None]) {
        let report = |depth, repeat| read(Read { method, depth, repeat }).unwrap();
        assert!(report(Depth::List, 1).rows >= 2, "{method:?}");
        assert!(report(Depth::Owners, 1).owned >= Some(2), "{method:?}");
        // The own connections are no part of the map, so nothing is known of the edges here.
        let map = report(Depth::Map, 3);
        assert!(map.rows >= 2 && map.edges.is_some(), "{method:?}");
        assert_eq!(map.readings.len(), 3);
    }
    drop(client);
}

#[test]
fn a_report_survives_its_way_between_processes() {
    let cost = ReadingCost { wall_us: 5, cpu_us: 4 };
    let report = ReadReport { rows: 3, owned: Some(2), readings: vec![cost], ..Default::default() };
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<ReadReport>(&text).unwrap(), report);
}

#[test]
fn arguments_say_what_is_to_be_read() {
    let args = |method, depth| Read { method, depth, repeat: 2 }.to_args().join(" ");
    assert_eq!(args(None, Depth::List), "--repeat 2");
    assert_eq!(args(Some(MethodName::Diag), Depth::Owners), "--repeat 2 --method diag --owners");
    assert_eq!(args(Some(MethodName::Procfs), Depth::Map), "--repeat 2 --method procfs --bundle");
}
