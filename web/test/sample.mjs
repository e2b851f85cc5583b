// Graphs for the mock server, as the hub would send them.

const HOUR = 3_600_000;

export function service(id, more = {}) {
  const [kind, ...rest] = id.split(':');
  const now = Date.now();
  return {
    id,
    kind,
    name: rest.join(':').replace(/\.service$/, ''),
    processes: kind === 'process' ? [rest.join(':')] : [],
    pids: [],
    unit: kind === 'unit' ? rest.join(':') : null,
    container: null,
    namespace: kind === 'address' ? null : 'host',
    user: kind === 'user' ? rest.join(':') : null,
    addresses: [],
    listening: [],
    first_seen_ms: now - 5 * HOUR,
    last_seen_ms: now,
    live: true,
    ...more,
  };
}

export function listens(port, name = null, address = '0.0.0.0') {
  return { transport: 'tcp', address, port, service: name };
}

export function edge(client, server, port, name = null, more = {}) {
  const now = Date.now();
  return {
    id: `${client}>${server}:${port}/tcp`,
    client,
    server,
    server_port: port,
    server_service: name,
    network_transport: 'tcp',
    connections: 1,
    opening: 0,
    time_wait: 0,
    direction_guessed: false,
    first_seen_ms: now - 2 * HOUR,
    last_seen_ms: now,
    live: true,
    flows: [flow(client, server, port, more.connections ?? 1)],
    ...more,
  };
}

function flow(client, server, port, connections) {
  const name = (id) => id.split(':')[1].split('.')[0];
  return {
    version: 1,
    client_address: '10.0.0.5',
    server_address: '10.0.0.7',
    server_port: port,
    server_service: null,
    network_transport: 'tcp',
    network_type: 'ipv4',
    client_process: client.startsWith('address') ? null : name(client),
    server_process: server.startsWith('address') ? null : name(server),
    client_pids: client.startsWith('address') ? [] : [4711, 4712],
    server_pids: server.startsWith('address') ? [] : [812],
    client_unit: null,
    server_unit: null,
    client_container: null,
    server_container: null,
    client_namespace: 'host',
    server_namespace: 'host',
    client_uid: null,
    server_uid: null,
    connections,
    opening: 0,
    time_wait: 2,
    side: 'both',
    direction_guessed: false,
  };
}

export function graph(nodes, edges, more = {}) {
  return {
    version: 1,
    revision: 1,
    now_ms: Date.now(),
    interval_ms: 1000,
    host: 'db7',
    method: 'snapshot (sock_diag)',
    warnings: [],
    nodes,
    edges,
    ...more,
  };
}

/** What a method that counts traffic adds. */
const BUSY = {
  failing: false, traffic_ms: 1000, opened: 120, closed: 118, bytes_to_server: 48_000,
  bytes_to_client: 1_250_000, retransmits: 2, rtt_us: 400, refused: 5,
};

/** A small host with every kind of service, history, a cycle, a guess, a crowd of clients. */
export function small() {
  const gone = { live: false, last_seen_ms: Date.now() - 3 * HOUR };
  const pg = 'unit:postgresql@15-main.service';
  const [web, app] = ['unit:nginx.service', 'container:shop-api'];
  const crowd = Array.from({ length: 18 }, (_, i) => `address:203.0.113.${i + 10}`);
  const nodes = [
    service(pg, {
      processes: ['postgres'], pids: [812, 990], addresses: ['127.0.0.1', '10.0.0.7'],
      listening: [listens(5432, 'postgresql')],
    }),
    service(web, {
      processes: ['nginx'], pids: [640, 641], addresses: ['10.0.0.7'],
      listening: [listens(443, 'https'), listens(80, 'http')],
    }),
    service(app, {
      processes: ['node'], pids: [2201], container: '4f1d2c9ab310', addresses: ['172.17.0.2'],
      namespace: 'netns:4026532281', listening: [listens(8080, 'http-alt', '172.17.0.2')],
    }),
    service('container:worker', { processes: ['python3'], pids: [2300], container: '99ab' }),
    service('unit:redis-server.service', {
      processes: ['redis-server'], pids: [700], listening: [listens(6379, 'redis', '127.0.0.1')],
    }),
    service('process:psql', { pids: [5120] }),
    service('process:backup.sh', { ...gone }),
    service('user:1003', { name: 'user deploy' }),
    service('address:10.0.0.20', { name: '10.0.0.20', addresses: ['10.0.0.20'] }),
    service('address:2001:db8::44', { name: '2001:db8::44', addresses: ['2001:db8::44'] }),
    service('unit:ssh.service', { processes: ['sshd'], listening: [listens(22, 'ssh')] }),
    service('unit:chrony.service', { processes: ['chronyd'], listening: [listens(323)] }),
    service('process:gossip-a', { listening: [listens(7946)] }),
    service('process:gossip-b', { listening: [listens(7946)] }),
    ...crowd.map((id) => service(id, { name: id.slice(8), addresses: [id.slice(8)] })),
  ];
  const edges = [
    edge(web, app, 8080, 'http-alt', { connections: 24 }),
    edge(app, pg, 5432, 'postgresql', { connections: 12, opening: 1, time_wait: 4 }),
    edge(app, 'unit:redis-server.service', 6379, 'redis', { connections: 6, ...BUSY }),
    edge('container:worker', pg, 5432, 'postgresql', { connections: 3 }),
    edge('container:worker', 'unit:redis-server.service', 6379, 'redis', { connections: 2 }),
    edge('process:psql', pg, 5432, 'postgresql'),
    edge('process:backup.sh', pg, 5432, 'postgresql', { ...gone, connections: 0 }),
    edge(pg, 'address:10.0.0.20', 5432, 'postgresql', { direction_guessed: true }),
    edge('user:1003', 'unit:redis-server.service', 6379, 'redis'),
    edge('process:psql', 'unit:chrony.service', 323, null, {
      connections: 0, failing: true, traffic_ms: 1000, opened: 0, refused: 5, timed_out: 1,
    }),
    edge('container:worker', 'address:2001:db8::44', 443, 'https', { time_wait: 9 }),
    edge('process:gossip-a', 'process:gossip-b', 7946),
    edge('process:gossip-b', 'process:gossip-a', 7946),
    ...crowd.map((id) => edge(id, web, 443, 'https', { connections: 2 })),
  ];
  return graph(nodes, edges, {
    warnings: [
      'processes of other users are not visible: run as root, or grant CAP_SYS_PTRACE and ' +
        'CAP_DAC_READ_SEARCH',
    ],
  });
}

/** About 500 services in tiers, as on a host of many containers; seeded. */
export function large(count = 500, lines = 1500) {
  let state = 12345;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
  const kinds = ['container', 'container', 'unit', 'process', 'address', 'user'];
  const words = ['orders', 'billing', 'search', 'auth', 'cart', 'mail', 'stock', 'feed', 'gate'];
  const nodes = Array.from({ length: count }, (_, i) => {
    const kind = i < 20 ? 'unit' : kinds[i % kinds.length];
    const word = `${words[Math.floor(next() * words.length)]}-${i}`;
    const name = kind === 'address' ? `10.${i % 9}.${i % 200}.${i % 250}` : word;
    return service(`${kind}:${kind === 'address' ? `${name}-${i}` : word}`, {
      name, listening: i < 120 ? [listens(8000 + i)] : [],
    });
  });
  const used = Math.floor(count * 0.9);
  const tier = (i) => Math.floor(Math.sqrt(i / used) * 6);
  const edges = new Map();
  while (edges.size < lines) {
    const a = Math.floor(next() * used);
    const b = Math.floor(next() ** 2.2 * used);
    if (a === b || (tier(b) >= tier(a) && next() > 0.02)) continue;
    const made = edge(nodes[a].id, nodes[b].id, 8000 + b, null, {
      connections: Math.floor(1 + next() ** 4 * 60), live: next() > 0.15,
    });
    edges.set(made.id, made);
  }
  return graph(nodes, [...edges.values()], { host: 'node-17' });
}

export const EVIL = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';

/** Names that try to be markup, script or layout. */
export function hostile() {
  const bad = service('process:evil', {
    name: EVIL, processes: [EVIL], unit: `"><svg onload=window.hacked=1>${EVIL}`,
    container: EVIL, namespace: EVIL, addresses: [EVIL], pids: [1],
    listening: [listens(80, EVIL, EVIL)],
  });
  const wide = service('process:__proto__', { name: `${'x'.repeat(5000)}\u202e\n\u0000` });
  const made = edge('process:__proto__', 'process:evil', 80, EVIL);
  made.flows[0].client_process = EVIL;
  made.flows[0].client_address = EVIL;
  return graph([bad, wide], [made], { host: EVIL, method: EVIL, warnings: [EVIL] });
}
