//! What the control group says about a process (cgroups(7)): its systemd unit and its container.

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cgroup {
    /// The systemd unit: a service or a scope.
    pub unit: Option<String>,
    /// The container's id or, for runtimes without ids (LXC, nspawn), its name.
    pub container: Option<String>,
}

/// Container ids of Docker, containerd, CRI-O and Podman are SHA-256 sums.
const ID_DIGITS: usize = 64;

/// Reads the text of `/proc/PID/cgroup`: lines of `hierarchy:controllers:path`. On hosts with
/// several hierarchies the unified one or systemd's own counts for the unit; the container may
/// show in any.
pub fn parse(text: &str) -> Cgroup {
    let mut found = Cgroup::default();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        if found.container.is_none() {
            found.container = path.rsplit('/').find_map(container);
        }
        let of_systemd = controllers.is_empty() || controllers == "name=systemd";
        if of_systemd && found.unit.is_none() {
            found.unit = path.rsplit('/').find_map(unit).map(str::to_owned);
        }
    }
    found
}

/// The innermost part of the path that is a unit of its own; slices only group units.
fn unit(part: &str) -> Option<&str> {
    let is_unit = part.ends_with(".service") || part.ends_with(".scope");
    (is_unit && container(part).is_none()).then_some(part)
}

fn container(part: &str) -> Option<String> {
    let bare = part.strip_suffix(".scope").unwrap_or(part);
    let id = bare.rsplit('-').next().unwrap_or(bare);
    if id.len() == ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Some(id.to_owned());
    }
    // lxc.payload.NAME; systemd-nspawn@NAME.service; machine-NAME.scope
    let named = bare.strip_prefix("lxc.payload.").or_else(|| {
        bare.strip_prefix("systemd-nspawn@").and_then(|name| name.strip_suffix(".service"))
    });
    let machine = part.strip_suffix(".scope").and_then(|part| part.strip_prefix("machine-"));
    named.or(machine).map(str::to_owned)
}

#[cfg(test)]
mod tests;
