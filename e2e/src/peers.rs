//! Real servers and clients.
//!
//! A server is up when this returns; no connection was made to find out, unless through a
//! unix socket. A client holds its connection until it is dropped.

use std::{
    fs,
    net::SocketAddr,
    os::unix::{fs::chown, process::CommandExt},
    path::Path,
    process::Command,
};

use portolan_sys::user;
use rustix::process::Signal;

use crate::{
    place::Place,
    programs::{postgresql, program},
    running::Running,
    tcp,
    world::World,
};

/// PostgreSQL's usual port.
pub const POSTGRES: u16 = 5432;
/// Redis' usual port.
pub const REDIS: u16 = 6379;
/// The web's usual port.
pub const HTTP: u16 = 80;

/// Starts PostgreSQL on its usual port of an address.
///
/// # Panics
/// When it is missing or does not come up.
#[must_use]
pub fn postgres(world: &World, place: &Place, address: &str) -> Running {
    let names = user::names();
    let uid = names.iter().find(|(_, name)| *name == "postgres").map(|(&uid, _)| uid);
    let uid = uid.expect("no user postgres: apt-get install postgresql, or make test");
    let folder = world.folder("postgres");
    chown(&folder, Some(uid), None).expect("a folder of postgres'");
    let data = folder.join("data");
    let as_postgres = |name: &str| {
        let mut command = Command::new(postgresql(name));
        command.uid(uid).gid(group_of(uid)).current_dir(&folder).env("LC_ALL", "C").arg("-D");
        command.arg(&data);
        command
    };
    let mut initdb = as_postgres("initdb");
    initdb.args(["--auth=trust", "--no-sync", "--no-instructions", "--encoding=UTF8"]);
    place.succeed(initdb);
    fs::write(data.join("pg_hba.conf"), "local all all trust\nhost all all all trust\n")
        .expect("who may connect");
    let mut command = as_postgres("postgres");
    for setting in ["fsync=off", "dynamic_shared_memory_type=mmap", "shared_buffers=4MB"] {
        command.args(["-c", setting]);
    }
    command.arg("-c").arg(format!("listen_addresses={address}"));
    command.arg("-c").arg(format!("unix_socket_directories={}", folder.display()));
    // Fast shutdown: it does not wait for its clients.
    let mut server = Running::start(place, command).ended_by(Signal::INT);
    tcp::wait_listening(place, &mut server, POSTGRES);
    server.wait_for("PostgreSQL to answer", |_| {
        let mut ask = Command::new(postgresql("psql"));
        ask.args(["-X", "-U", "postgres", "-c", "select 1", "-h"]).arg(&folder);
        (place.run(ask).code == Some(0)).then_some(())
    });
    server
}

fn group_of(uid: u32) -> u32 {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut lines = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let entry = lines.find(|fields| fields.get(2).is_some_and(|id| *id == uid.to_string()));
    entry.and_then(|fields| fields.get(3)?.parse().ok()).unwrap_or(uid)
}

/// Starts Redis on its usual port of an address.
///
/// # Panics
/// When it is missing or does not come up.
#[must_use]
pub fn redis(world: &World, place: &Place, address: &str) -> Running {
    let mut command = Command::new(program("redis-server", "redis-server"));
    command.args(["--bind", address, "--port", &REDIS.to_string(), "--protected-mode", "no"]);
    command.args(["--save", "", "--dir"]).arg(world.folder("redis"));
    let mut server = Running::start(place, command);
    tcp::wait_listening(place, &mut server, REDIS);
    server
}

/// Starts nginx on the web's usual port of an address, with a file `/slow` that takes hours.
#[must_use]
pub fn nginx(world: &World, place: &Place, address: &str) -> Running {
    nginx_on(world, place, &format!("listen {address}:{HTTP}"))
}

/// The same with a `listen` directive that has that port.
///
/// # Panics
/// When it is missing or does not come up.
#[must_use]
pub fn nginx_on(world: &World, place: &Place, listen: &str) -> Running {
    let folder = world.folder("nginx");
    fs::write(folder.join("slow"), vec![b'x'; 1 << 20]).expect("a file to serve");
    let location = format!("root {}; limit_rate 100;", folder.display());
    nginx_with(place, &folder, HTTP, &format!("{listen}; location / {{ {location} }}"))
}

/// Starts nginx on an address, which has the web's usual port, with the files of a folder.
#[must_use]
pub fn nginx_files(world: &World, place: &Place, at: SocketAddr, files: &Path) -> Running {
    let server = format!("listen {at}; location / {{ root {}; }}", files.display());
    nginx_with(place, &world.folder("nginx"), at.port(), &server)
}

/// Starts nginx as a proxy for another server.
#[must_use]
pub fn proxy(world: &World, place: &Place, port: u16, backend: &str) -> Running {
    let location = format!("proxy_pass http://{backend};");
    let server = format!("listen 127.0.0.1:{port}; location / {{ {location} }}");
    nginx_with(place, &world.folder("nginx"), port, &server)
}

fn nginx_with(place: &Place, folder: &Path, port: u16, server: &str) -> Running {
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {}/{kind};\n", folder.display()))
        .concat();
    let config = format!(
        "daemon off; worker_processes 1; pid {0}/pid; error_log {0}/error.log;\n\
         events {{ worker_connections 64; }}\n\
         http {{ access_log off; {temporary} server {{ {server} }} }}\n",
        folder.display()
    );
    let file = folder.join("nginx.conf");
    fs::write(&file, config).expect("a configuration");
    let mut command = Command::new(program("nginx", "nginx-light"));
    command.arg("-p").arg(folder).arg("-c").arg(file).arg("-e").arg(folder.join("error.log"));
    let mut server = Running::start(place, command);
    tcp::wait_listening(place, &mut server, port);
    server
}

/// Starts a web server in Perl that begins its answers and never ends them.
#[must_use]
pub fn endless(place: &Place, port: u16) -> Running {
    const SCRIPT: &str = "my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
        LocalPort => $ARGV[0], Listen => 16, ReuseAddr => 1) or die $!;
        my @clients;
        while (my $client = $listener->accept) {
            $client->autoflush(1);
            print $client \"HTTP/1.0 200 OK\\r\\n\\r\\nx\";
            push @clients, $client;
        }";
    let mut command = Command::new(program("perl", "perl-base"));
    command.args(["-MIO::Socket::INET", "-e", SCRIPT, &port.to_string()]);
    let mut server = Running::start(place, command);
    tcp::wait_listening(place, &mut server, port);
    server
}

/// Starts a program that receives datagrams on a port, or one that has connected its socket to
/// that port.
#[must_use]
pub fn datagrams(place: &Place, end: &str, port: u16) -> Running {
    const SCRIPT: &str = "$| = 1;
        my $socket = IO::Socket::INET->new(Proto => 'udp', @ARGV) or die $!;
        $socket->send('x') if $socket->peerport;
        print 'up';
        $socket->recv(my $datagram, 100) while 1;";
    let mut command = Command::new(program("perl", "perl-base"));
    command.args(["-MIO::Socket::INET", "-e", SCRIPT]);
    command.args([format!("{end}Addr"), "127.0.0.1".to_owned()]);
    command.args([format!("{end}Port"), port.to_string()]);
    let mut running = Running::start(place, command);
    running.wait_for("a socket", |running| (running.stdout() == "up").then_some(()));
    running
}

/// A query that takes five minutes.
#[must_use]
pub fn psql(place: &Place, address: &str) -> Running {
    let mut command = Command::new(postgresql("psql"));
    command.args(["-X", "-U", "postgres", "-h", address, "-c", "select pg_sleep(300)"]);
    command.env("PGSSLMODE", "disable").env("PGGSSENCMODE", "disable");
    connected(place, command, POSTGRES)
}

/// Waits for an element of a list that stays empty.
#[must_use]
pub fn redis_cli(place: &Place, address: &str) -> Running {
    connected(place, redis_cli_command(address), REDIS)
}

/// The command of [`redis_cli`].
#[must_use]
pub fn redis_cli_command(address: &str) -> Command {
    let mut command = Command::new(program("redis-cli", "redis-server"));
    command.args(["-h", address, "-p", &REDIS.to_string(), "BLPOP", "nothing", "0"]);
    command
}

/// A download that does not end.
#[must_use]
pub fn curl(place: &Place, address: &str, port: u16) -> Running {
    let mut command = Command::new(program("curl", "curl"));
    let url = format!("http://{address}:{port}/slow");
    command.args(["--silent", "--no-buffer", "--noproxy", "*", "--output", "/dev/null", &url]);
    connected(place, command, port)
}

fn connected(place: &Place, command: Command, port: u16) -> Running {
    let mut client = Running::start(place, command);
    tcp::wait_connected(place, &mut client, port);
    client
}
