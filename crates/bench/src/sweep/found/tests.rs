use super::*;

const FIRST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 0);

fn of(text: &str, format: Format) -> Result<Found, Fault> {
    read(text.as_bytes(), format, FIRST, 256)
}

#[test]
fn every_program_has_its_way_to_say_that_a_port_is_open() {
    let findings = "{\"version\":1,\"type\":\"finding\",\"address\":\"10.77.0.1\",\"port\":80,\
        \"state\":\"open\"}\n{\"type\":\"finding\",\"address\":\"10.77.0.2\",\"state\":\"closed\"}\
        \n{\"version\":1,\"type\":\"finding\",\"address\":\"10.77.0.3\",\"state\":\"open\"}\n\
        {\"type\":\"summary\",\"open\":2}\n";
    let addresses = "10.77.0.1\n10.77.0.3\n";
    let list = "#masscan\nopen tcp 80 10.77.0.1 1700000000\nopen tcp 80 10.77.0.3 1700000000\n\
        closed tcp 80 10.77.0.4 1700000000\n# end\n";
    let grepable = "# Nmap 7.93 scan\nHost: 10.77.0.1 ()\tStatus: Up\n\
        Host: 10.77.0.1 ()\tPorts: 80/open/tcp//http///\n\
        Host: 10.77.0.3 ()\tPorts: 80/open/tcp//http///\n\
        Host: 10.77.0.4 ()\tPorts: 80/closed/tcp//http///\n# Nmap done\n";
    for (text, format) in [
        (findings, Format::Findings),
        (addresses, Format::Addresses),
        (list, Format::List),
        (grepable, Format::Grepable),
    ] {
        assert_eq!(of(text, format), Ok(Found { addresses: 2, duplicates: 0 }), "{format:?}");
    }
}

#[test]
fn an_address_that_is_said_again_is_a_duplicate() {
    let twice = "10.77.0.1\n10.77.0.2\n10.77.0.1\n10.77.0.1\n";
    assert_eq!(of(twice, Format::Addresses), Ok(Found { addresses: 2, duplicates: 2 }));
}

#[test]
fn nothing_and_what_nobody_asked_for_are_wrong() {
    for (text, part) in
        [("10.77.1.0\n", "nobody asked"), ("10.76.0.1\n", "nobody"), ("", "nothing")]
    {
        let Err(Fault::Wrong(why)) = of(text, Format::Addresses) else { panic!("{text}") };
        assert!(why.contains(part), "{why}");
    }
}
