use proptest::{collection::vec, prelude::*, sample::select};

use super::*;

const ID: &str = "4f2cbcd6a1d6d1e2a7c9f1b60a5b0f7a5ffb2a1d4f0c4f2c8a5e7b1d9c3e5f70";
const OTHER_ID: &str = "00000000000000000000000000000000000000000000000000000000deadbeef";

/// What the text says, where `ID` stands for a container's id.
fn parsed(text: &str) -> (Option<String>, Option<String>) {
    let found = parse(&text.replace("ID", ID));
    (found.unit, found.container.map(|container| container.replace(ID, "ID")))
}

#[track_caller]
fn check(what: &str, text: &str, unit: Option<&str>, container: Option<&str>) {
    let expected = (unit.map(str::to_owned), container.map(str::to_owned));
    assert_eq!(parsed(text), expected, "{what}: {text}");
}

#[test]
fn units_of_systemd() {
    for (what, path, unit) in [
        ("a service", "/system.slice/nginx.service", Some("nginx.service")),
        (
            "an instance",
            "/system.slice/system-postgresql.slice/postgresql@15-main.service",
            Some("postgresql@15-main.service"),
        ),
        ("a login", "/user.slice/user-1000.slice/session-3.scope", Some("session-3.scope")),
        (
            "a user's service",
            "/user.slice/user-1000.slice/user@1000.service/app.slice/syncthing.service",
            Some("user@1000/syncthing.service"),
        ),
        (
            "an application of a user",
            "/user.slice/user-1000.slice/user@1000.service/app.slice/app-firefox-77.scope",
            Some("user@1000/app-firefox-77.scope"),
        ),
        (
            "a user's service that is named like a system's",
            "/user.slice/user-33.slice/user@33.service/app.slice/nginx.service",
            Some("user@33/nginx.service"),
        ),
        (
            "the manager of a user",
            "/user.slice/user-1000.slice/user@1000.service/init.scope",
            Some("user@1000/init.scope"),
        ),
        (
            "the manager itself",
            "/user.slice/user-1000.slice/user@1000.service",
            Some("user@1000.service"),
        ),
        (
            "not the manager of a user",
            "/system.slice/user@x.service/app.slice/nginx.service",
            Some("nginx.service"),
        ),
        (
            "a group below a service",
            "/system.slice/slurmstepd.scope/job_1/step_0/user/task_0",
            Some("slurmstepd.scope"),
        ),
        ("the first process", "/init.scope", Some("init.scope")),
        ("a slice is no unit of its own", "/user.slice", None),
        ("the root", "/", None),
        ("no systemd", "/my/own/group", None),
    ] {
        check(what, &format!("0::{path}\n"), unit, None);
    }
}

#[test]
fn containers_by_id() {
    for (what, path) in [
        ("docker with its own driver", "/docker/ID"),
        ("docker with systemd", "/system.slice/docker-ID.scope"),
        (
            "docker inside docker",
            "/docker/00000000000000000000000000000000000000000000000000000000deadbeef/docker/ID",
        ),
        ("a group made inside", "/system.slice/docker-ID.scope/init"),
        ("containerd", "/default/ID"),
        ("nerdctl", "/system.slice/nerdctl-ID.scope"),
        ("cri-o", "/kubepods.slice/kubepods-podf00.slice/crio-ID.scope"),
        ("cri-o with a group inside", "/kubepods.slice/crio-ID.scope/container"),
        (
            "containerd under kubernetes",
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1f_2.slice/\
             cri-containerd-ID.scope",
        ),
        ("kubernetes without systemd", "/kubepods/besteffort/pod9a1c-22/ID"),
        ("podman", "/machine.slice/libpod-ID.scope/container"),
        (
            "podman's monitor, which holds the container's ports",
            "/machine.slice/libpod-conmon-ID.scope",
        ),
        ("amazon's ecs", "/ecs/8a1b/ID"),
    ] {
        check(what, &format!("0::{path}\n"), None, Some("ID"));
    }
}

#[test]
fn containers_that_belong_to_a_unit() {
    check(
        "podman of a user",
        "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope/container",
        Some("user@1000.service"),
        Some("ID"),
    );
    check(
        "podman as a service",
        "0::/system.slice/web.service/libpod-payload-ID",
        Some("web.service"),
        Some("ID"),
    );
    check(
        "a path of systemd's driver under one that is not",
        "0::/system.slice/containerd.service/kubepods-burstable-pod1f.slice:cri-containerd:ID",
        Some("containerd.service"),
        Some("ID"),
    );
}

#[test]
fn containers_by_name() {
    for (what, path, unit, container) in [
        ("lxc", "/lxc.payload.web/system.slice/nginx.service", Some("nginx.service"), "web"),
        ("lxc, nothing inside", "/lxc.payload.web", None, "web"),
        (
            "lxc with a dot",
            "/lxc.payload.web.example/init.scope",
            Some("init.scope"),
            "web.example",
        ),
        ("lxc before 4.0", "/lxc/101/ns/system.slice/ssh.service", Some("ssh.service"), "101"),
        ("lxc 3.1", "/lxc.payload/web/init.scope", Some("init.scope"), "web"),
        (
            "nspawn as a service",
            "/machine.slice/systemd-nspawn@web.service/payload/system.slice/nginx.service",
            Some("nginx.service"),
            "web",
        ),
        (
            "nspawn as a service, nothing inside",
            "/machine.slice/systemd-nspawn@web.service",
            None,
            "web",
        ),
        ("nspawn by hand", "/machine.slice/machine-web.scope/payload", None, "web"),
        ("a name that systemd escaped", "/machine.slice/machine-web\\x2d1.scope", None, "web-1"),
        (
            "an escaped nspawn",
            "/machine.slice/systemd-nspawn@my\\x2dweb.service/payload",
            None,
            "my-web",
        ),
    ] {
        check(what, &format!("0::{path}\n"), unit, Some(container));
    }
}

#[test]
fn several_hierarchies() {
    let v1 = "12:memory:/docker/ID\n2:cpu,cpuacct:/docker/ID\n1:name=systemd:/docker/ID\n";
    check("docker before cgroup v2", v1, None, Some("ID"));
    check(
        "the container shows in a controller only",
        "3:pids:/docker/ID\n1:name=systemd:/system.slice/cron.service\n",
        Some("cron.service"),
        Some("ID"),
    );
    check(
        "controllers do not name the unit",
        "3:cpu:/system.slice/wrong.service\n1:name=systemd:/system.slice/right.service\n",
        Some("right.service"),
        None,
    );
    check(
        "a service on a hybrid host",
        "4:memory:/\n1:name=systemd:/system.slice/ssh.service\n0::/system.slice/ssh.service\n",
        Some("ssh.service"),
        None,
    );
    check(
        "on a hybrid host docker stays in its own unified group, which is not the container's",
        &format!("{v1}0::/system.slice/containerd.service\n"),
        None,
        Some("ID"),
    );
    check("another manager's name", "1:name=elogind:/x.service\n", None, None);
}

#[test]
fn what_is_no_container() {
    let (short, long, odd) = (&ID[1..], format!("{ID}0"), ID.replacen('4', "g", 1));
    for part in [
        format!("docker-{short}.scope"),
        format!("docker-{long}.scope"),
        format!("docker-{odd}.scope"),
        "machine-.scope".to_owned(),
        "systemd-nspawn@.service".to_owned(),
        "lxc.payload.".to_owned(),
        "lxc.monitor.web".to_owned(),
    ] {
        assert_eq!(parse(&format!("0::/x/{part}\n")).container, None, "{part}");
    }
    for path in ["/lxc/", "/lxc", "/lxc.payload/"] {
        assert_eq!(parse(&format!("0::{path}\n")).container, None, "{path}");
    }
}

/// A user can make any group in its own part of the tree.
#[test]
fn what_a_user_says_to_be_a_container() {
    let inside = "0::/user.slice/user-1000.slice/user@1000.service/user.slice";
    let manager = Some("user@1000.service");
    for runtime in ["libpod-", "libpod-conmon-", "docker-", "nerdctl-", "cri-containerd-", "crio-"]
    {
        check("rootless", &format!("{inside}/{runtime}ID.scope/x"), manager, Some("ID"));
    }
    for group in ["ID", "kubepods/ID", "web-ID.scope", "lxc.payload.web", "docker/ID"] {
        let text = format!("{inside}/{group}\n").replace("ID", ID);
        assert_eq!(parse(&text).container, None, "{group}");
    }
    check(
        "a unit in a rootless container",
        &format!("{inside}/libpod-ID.scope/system.slice/nginx.service"),
        Some("user@1000/nginx.service"),
        Some("ID"),
    );
    check(
        "a user in a container",
        "0::/lxc.payload.web/user.slice/user-7.slice/user@7.service/app.slice/x.service",
        Some("user@7/x.service"),
        Some("web"),
    );
}

#[test]
fn garbage_says_nothing() {
    for text in ["", "\n", "0", "0:", "0::", ":::", "0:x", "nginx.service", "\u{0}::\u{0}"] {
        assert_eq!(parse(text), Cgroup::default(), "{text:?}");
    }
}

/// Paths of parts that mean something, in any order.
fn nearly_paths() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        select(&[
            "",
            "..",
            "x.service",
            "y.scope",
            "z.slice",
            "lxc",
            "lxc.payload",
            "lxc.payload."
        ]),
        select(&[
            "machine-",
            ".scope",
            "-.scope",
            "\\x",
            "\\x2",
            "\\xff",
            "user@1000.service",
            "systemd-nspawn@",
            ":",
            "é"
        ]),
        select(&["machine-\\xfe.scope", "machine-\\x.scope", "machine-a\\x2db.scope", OTHER_ID]),
    ];
    let separator = select(&["/", "", "-"]);
    vec((separator, part), 0..6).prop_map(|parts| {
        parts.iter().map(|(separator, part)| format!("{separator}{part}")).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_read(text in "(?s).{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn any_path_is_read(paths in vec((0..3_usize, nearly_paths()), 0..4)) {
        let lines = paths.iter().map(|(of, path)| {
            let controllers = ["", "name=systemd", "cpu"][*of];
            format!("1:{controllers}:/{path}\n")
        });
        let found = parse(&lines.collect::<String>());
        prop_assert!(found.unit.is_none_or(|unit| unit.matches('/').count() <= 1));
        prop_assert!(found.container.is_none_or(|name| !name.is_empty()));
    }
}
