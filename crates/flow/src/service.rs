//! Names of well-known services, for people.
//!
//! The registry of IANA and `/etc/services` name six thousand ports, most of them after products
//! that nobody runs; this table holds what stands behind a port in practice.

use crate::Transport;

/// `(port, udp too, name)`, ascending.
const SERVICES: &[(u16, bool, &str)] = &[
    (21, false, "ftp"),
    (22, false, "ssh"),
    (25, false, "smtp"),
    (53, true, "dns"),
    (67, true, "dhcp"),
    (80, false, "http"),
    (88, true, "kerberos"),
    (110, false, "pop3"),
    (111, true, "rpcbind"),
    (123, true, "ntp"),
    (143, false, "imap"),
    (161, true, "snmp"),
    (179, false, "bgp"),
    (389, false, "ldap"),
    (443, true, "https"),
    (445, false, "smb"),
    (465, false, "smtps"),
    (514, true, "syslog"),
    (587, false, "submission"),
    (636, false, "ldaps"),
    (853, false, "dns-tls"),
    (873, false, "rsync"),
    (993, false, "imaps"),
    (995, false, "pop3s"),
    (1433, false, "mssql"),
    (1521, false, "oracle"),
    (1883, false, "mqtt"),
    (2049, true, "nfs"),
    (2181, false, "zookeeper"),
    (2379, false, "etcd"),
    (2380, false, "etcd-peer"),
    (3128, false, "squid"),
    (3260, false, "iscsi"),
    (3306, false, "mysql"),
    (3389, true, "rdp"),
    (4222, false, "nats"),
    (4317, false, "otlp-grpc"),
    (4318, false, "otlp-http"),
    (5044, false, "logstash"),
    (5060, true, "sip"),
    (5222, false, "xmpp"),
    (5353, true, "mdns"),
    (5432, false, "postgresql"),
    (5601, false, "kibana"),
    (5671, false, "amqps"),
    (5672, false, "amqp"),
    (6379, false, "redis"),
    (6432, false, "pgbouncer"),
    (6443, false, "kubernetes"),
    (7117, false, "portolan"),
    (8080, false, "http-alt"),
    (8125, true, "statsd"),
    (8443, false, "https-alt"),
    (8500, false, "consul"),
    (8883, false, "mqtts"),
    (9042, false, "cassandra"),
    (9090, false, "prometheus"),
    (9092, false, "kafka"),
    (9100, false, "node-exporter"),
    (9200, false, "elasticsearch"),
    (9300, false, "elasticsearch-peer"),
    (10250, false, "kubelet"),
    (11211, true, "memcached"),
    (15672, false, "rabbitmq-admin"),
    (26379, false, "redis-sentinel"),
    (27017, false, "mongodb"),
];

/// The usual name of what listens on `port`.
#[must_use]
pub fn service_name(transport: Transport, port: u16) -> Option<&'static str> {
    let at = SERVICES.binary_search_by_key(&port, |&(port, ..)| port).ok()?;
    let (_, udp_too, name) = SERVICES[at];
    (transport == Transport::Tcp || udp_too).then_some(name)
}

/// The port that usually goes by `name`: the way back of [`service_name`].
#[must_use]
pub fn service_port(name: &str) -> Option<u16> {
    SERVICES.iter().find(|&&(_, _, known)| known == name).map(|&(port, ..)| port)
}

#[cfg(test)]
mod tests;
