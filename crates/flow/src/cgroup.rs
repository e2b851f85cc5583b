//! What the control group says about a process (cgroups(7)): its systemd unit and its container.

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cgroup {
    /// The systemd unit: a service or a scope. One that a user's own systemd manages comes with its
    /// manager, since any user can name units as the system's are: `user@1000/web.service`.
    pub unit: Option<String>,
    /// The container's id or, for runtimes without ids (LXC, nspawn), its name.
    pub container: Option<String>,
}

/// Container ids of Docker, containerd, CRI-O and Podman are SHA-256 sums.
const ID_DIGITS: usize = 64;

/// How the groups of runtimes that work without root are named.
const ROOTLESS: [&str; 5] = ["libpod-", "docker-", "nerdctl-", "cri-containerd-", "crio-"];

/// Reads the text of `/proc/PID/cgroup`: lines of `hierarchy:controllers:path`. The container may
/// show in any hierarchy. The unit is in systemd's own, which is the unified one unless there is
/// one by the name of systemd: on such a hybrid host a container's unified path is its manager's.
pub fn parse(text: &str) -> Cgroup {
    let mut found = Cgroup::default();
    let (mut named, mut unified) = (None, None);
    for line in text.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        if found.container.is_none() {
            found.container = container_of(path);
        }
        match controllers {
            "name=systemd" => named = Some(path),
            "" => unified = Some(path),
            _ => {}
        }
    }
    let path = named.or(unified).unwrap_or_default();
    found.unit = unit_of(path);
    found
}

/// The part of the path that a user's own systemd manages, and its manager (`user@1000`).
fn users_own(path: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    for part in path.split('/') {
        at += part.len() + 1;
        let manager = part.strip_suffix(".service").unwrap_or_default();
        let user = manager.strip_prefix("user@").unwrap_or_default();
        if !user.is_empty() && user.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some((manager, path.get(at..).unwrap_or_default()));
        }
    }
    None
}

fn unit_of(path: &str) -> Option<String> {
    let innermost = |path: &str| path.rsplit('/').find_map(unit).map(str::to_owned);
    let of_user = users_own(path)
        .and_then(|(manager, inside)| innermost(inside).map(|unit| format!("{manager}/{unit}")));
    of_user.or_else(|| innermost(path))
}

/// The innermost part of the path that is a unit of its own; slices only group units.
fn unit(part: &str) -> Option<&str> {
    let is_unit = part.ends_with(".service") || part.ends_with(".scope");
    (is_unit && container(part).is_none()).then_some(part)
}

fn container_of(path: &str) -> Option<String> {
    // LXC before 4.0 has a group of its own: /lxc/NAME, /lxc.payload/NAME.
    let group_of_lxc = || path.strip_prefix("/lxc/").or_else(|| path.strip_prefix("/lxc.payload/"));
    let of_lxc = || group_of_lxc()?.split('/').next().filter(|name| !name.is_empty());
    let inside = users_own(path).map_or("", |(_, inside)| inside);
    let outside = &path[..path.len() - inside.len()];
    let of_user = inside.rsplit('/').find_map(users_container);
    of_user
        .or_else(|| outside.rsplit('/').find_map(container))
        .or_else(|| of_lxc().map(str::to_owned))
}

/// A user can make groups of any name in its own part of the tree; only those of the runtimes that
/// work without root are taken for containers.
fn users_container(part: &str) -> Option<String> {
    ROOTLESS.iter().any(|runtime| part.starts_with(runtime)).then(|| container(part))?
}

fn container(part: &str) -> Option<String> {
    let bare = part.strip_suffix(".scope").unwrap_or(part);
    // docker-ID.scope; a path that was meant for systemd: kubepods-podUID.slice:cri-containerd:ID
    let id = bare.rsplit(['-', ':']).next().unwrap_or(bare);
    if id.len() == ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Some(id.to_owned());
    }
    // lxc.payload.NAME; systemd-nspawn@NAME.service; machine-NAME.scope
    let of_lxc = part.strip_prefix("lxc.payload.").map(str::to_owned);
    let nspawn =
        || part.strip_prefix("systemd-nspawn@").and_then(|name| name.strip_suffix(".service"));
    let machine = || part.strip_prefix("machine-").and_then(|name| name.strip_suffix(".scope"));
    of_lxc.or_else(|| nspawn().or_else(machine).map(unescape)).filter(|name| !name.is_empty())
}

/// Undoes systemd-escape(1): `web\x2d1` is `web-1`.
fn unescape(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find("\\x") {
        let (before, escape) = rest.split_at(at);
        bytes.extend_from_slice(before.as_bytes());
        let digits = escape.get(2..4).filter(|digits| !digits.starts_with('+'));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &escape[4..];
            }
            None => {
                bytes.extend_from_slice(b"\\x");
                rest = &escape[2..];
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
