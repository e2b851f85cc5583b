// The hub's API as TypeScript sees it (docs/formats/hub-api.md, flow.md), and the reading of it.
// What arrives is parsed, never trusted: a field of the wrong type gets a neutral value, a record
// without its key fields is dropped, unknown fields are ignored.

export const KINDS = ['container', 'unit', 'process', 'user', 'address'] as const;
export type Kind = (typeof KINDS)[number];

export interface Listening {
  transport: string;
  address: string;
  port: number;
  service: string | null;
}

export interface ServiceNode {
  id: string;
  kind: Kind;
  name: string;
  processes: string[];
  pids: number[];
  unit: string | null;
  container: string | null;
  namespace: string | null;
  user: string | null;
  addresses: string[];
  listening: Listening[];
  first_seen_ms: number;
  last_seen_ms: number;
  live: boolean;
}

/** One flow record; only what the page shows. */
export interface Flow {
  client_address: string;
  server_address: string;
  server_port: number;
  client_process: string | null;
  server_process: string | null;
  client_pids: number[];
  server_pids: number[];
  client_uid: number | null;
  server_uid: number | null;
  connections: number;
  opening: number;
  time_wait: number;
  side: string;
}

/** What an edge's flows counted in the `ms` before the last reading. */
export interface Traffic {
  ms: number;
  opened: number;
  resets: number;
  refused: number;
  timed_out: number;
  unreachable: number;
  abandoned: number;
  bytes_to_server: number;
  bytes_to_client: number;
  retransmits: number;
  rtt_us: number | null;
}

export interface Edge {
  id: string;
  client: string;
  server: string;
  server_port: number;
  server_service: string | null;
  network_transport: string;
  connections: number;
  opening: number;
  time_wait: number;
  direction_guessed: boolean;
  first_seen_ms: number;
  last_seen_ms: number;
  live: boolean;
  failing: boolean;
  /** null: the hub's method does not count it. */
  traffic: Traffic | null;
  flows: Flow[];
}

export interface Graph {
  revision: number;
  now_ms: number;
  interval_ms: number;
  host: string;
  method: string;
  warnings: string[];
  nodes: ServiceNode[];
  edges: Edge[];
}

export interface Delta {
  revision: number;
  now_ms: number;
  warnings: string[] | null;
  nodes: ServiceNode[];
  edges: Edge[];
  removed_nodes: string[];
  removed_edges: string[];
}

type Fields = Record<string, unknown>;

const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** A graph from JSON, or null when it is not one that this page can read. */
export function readGraph(value: unknown): Graph | null {
  const f = fields(value);
  if (!f || !Array.isArray(f['nodes']) || !Array.isArray(f['edges'])) return null;
  return {
    revision: number(f['revision']),
    now_ms: number(f['now_ms']),
    interval_ms: number(f['interval_ms']),
    host: plain(f['host']),
    method: plain(f['method']),
    warnings: plains(f['warnings']),
    nodes: records(f['nodes'], readNode),
    edges: records(f['edges'], readEdge),
  };
}

/** A delta from JSON, or null when it is not one. */
export function readDelta(value: unknown): Delta | null {
  const f = fields(value);
  if (!f || typeof f['revision'] !== 'number') return null;
  return {
    revision: f['revision'],
    now_ms: number(f['now_ms']),
    warnings: Array.isArray(f['warnings']) ? plains(f['warnings']) : null,
    nodes: records(f['nodes'], readNode),
    edges: records(f['edges'], readEdge),
    removed_nodes: texts(f['removed_nodes']),
    removed_edges: texts(f['removed_edges']),
  };
}

function readNode(f: Fields): ServiceNode | null {
  const id = text(f['id']);
  if (id === '') return null;
  const kind = KINDS.find((known) => known === f['kind']) ?? 'process';
  return {
    id,
    kind,
    name: plain(f['name']) || plain(id),
    processes: plains(f['processes']),
    pids: numbers(f['pids']),
    unit: plainOrNull(f['unit']),
    container: plainOrNull(f['container']),
    namespace: plainOrNull(f['namespace']),
    user: plainOrNull(f['user']),
    addresses: plains(f['addresses']),
    listening: records(f['listening'], readListening),
    first_seen_ms: number(f['first_seen_ms']),
    last_seen_ms: number(f['last_seen_ms']),
    live: f['live'] === true,
  };
}

function readListening(f: Fields): Listening {
  return {
    transport: plain(f['transport']),
    address: plain(f['address']),
    port: number(f['port']),
    service: plainOrNull(f['service']),
  };
}

function readEdge(f: Fields): Edge | null {
  const [id, client, server] = [text(f['id']), text(f['client']), text(f['server'])];
  if (id === '' || client === '' || server === '') return null;
  return {
    id,
    client,
    server,
    server_port: number(f['server_port']),
    server_service: plainOrNull(f['server_service']),
    network_transport: plain(f['network_transport']),
    connections: number(f['connections']),
    opening: number(f['opening']),
    time_wait: number(f['time_wait']),
    direction_guessed: f['direction_guessed'] === true,
    first_seen_ms: number(f['first_seen_ms']),
    last_seen_ms: number(f['last_seen_ms']),
    live: f['live'] === true,
    failing: f['failing'] === true,
    traffic: readTraffic(f),
    flows: records(f['flows'], readFlow),
  };
}

function readTraffic(f: Fields): Traffic | null {
  if (typeof f['traffic_ms'] !== 'number') return null;
  return {
    ms: number(f['traffic_ms']),
    opened: number(f['opened']),
    resets: number(f['resets']),
    refused: number(f['refused']),
    timed_out: number(f['timed_out']),
    unreachable: number(f['unreachable']),
    abandoned: number(f['abandoned']),
    bytes_to_server: number(f['bytes_to_server']),
    bytes_to_client: number(f['bytes_to_client']),
    retransmits: number(f['retransmits']),
    rtt_us: typeof f['rtt_us'] === 'number' ? f['rtt_us'] : null,
  };
}

function readFlow(f: Fields): Flow {
  return {
    client_address: plain(f['client_address']),
    server_address: plain(f['server_address']),
    server_port: number(f['server_port']),
    client_process: plainOrNull(f['client_process']),
    server_process: plainOrNull(f['server_process']),
    client_pids: numbers(f['client_pids']),
    server_pids: numbers(f['server_pids']),
    client_uid: typeof f['client_uid'] === 'number' ? f['client_uid'] : null,
    server_uid: typeof f['server_uid'] === 'number' ? f['server_uid'] : null,
    connections: number(f['connections']),
    opening: number(f['opening']),
    time_wait: number(f['time_wait']),
    side: plain(f['side']),
  };
}

function fields(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null ? (value as Fields) : null;
}

function records<T>(value: unknown, read: (f: Fields) => T | null): T[] {
  if (!Array.isArray(value)) return [];
  const result: T[] = [];
  for (const item of value) {
    const f = fields(item);
    const record = f && read(f);
    if (record !== null) result.push(record);
  }
  return result;
}

function number(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

function numbers(value: unknown): number[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'number') : [];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}

/**
 * Text that is shown: control characters and those that turn the direction of writing are made
 * visible, or a name could look like another one.
 */
function plain(value: unknown): string {
  return text(value).replace(UNSEEN, '\ufffd');
}

function plainOrNull(value: unknown): string | null {
  return plain(value) || null;
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function plains(value: unknown): string[] {
  return texts(value).map(plain);
}
