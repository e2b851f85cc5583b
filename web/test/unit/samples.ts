// Small makers of graphs for the tests.
import type { Delta, Edge, Graph, Kind, ServiceNode, Traffic } from '../../src/types.ts';

export function node(id: string, more: Partial<ServiceNode> = {}): ServiceNode {
  const kind = (id.split(':')[0] ?? 'process') as Kind;
  return {
    id,
    kind,
    name: id.split(':').slice(1).join(':') || id,
    processes: [],
    pids: [],
    unit: null,
    container: null,
    namespace: 'host',
    user: null,
    addresses: [],
    listening: [],
    first_seen_ms: 1000,
    last_seen_ms: 2000,
    live: true,
    ...more,
  };
}

export function edge(client: string, server: string, port = 80, more: Partial<Edge> = {}): Edge {
  return {
    id: `${client}>${server}:${port}/tcp`,
    client,
    server,
    server_port: port,
    server_service: null,
    network_transport: 'tcp',
    connections: 1,
    opening: 0,
    time_wait: 0,
    direction_guessed: false,
    first_seen_ms: 1000,
    last_seen_ms: 2000,
    live: true,
    failing: false,
    traffic: null,
    flows: [],
    ...more,
  };
}

export function traffic(more: Partial<Traffic> = {}): Traffic {
  return {
    ms: 1000,
    opened: 0,
    resets: 0,
    refused: 0,
    timed_out: 0,
    unreachable: 0,
    abandoned: 0,
    bytes_to_server: 0,
    bytes_to_client: 0,
    retransmits: 0,
    rtt_us: null,
    ...more,
  };
}

export function graph(nodes: ServiceNode[], edges: Edge[], revision = 1): Graph {
  return {
    revision,
    now_ms: 2000,
    interval_ms: 1000,
    host: 'here',
    method: 'test',
    warnings: [],
    nodes,
    edges,
  };
}

export function delta(revision: number, more: Partial<Delta> = {}): Delta {
  return {
    revision,
    now_ms: 3000,
    warnings: null,
    nodes: [],
    edges: [],
    removed_nodes: [],
    removed_edges: [],
    ...more,
  };
}

/** A seeded generator (mulberry32): a failing test fails again. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
