// What of the model is drawn: the time range, history and idle listeners, and crowds of remote
// clients as one node each. Pure; the same options on the same model give the same view.
import { shorten } from './format.ts';
import { newPerSecond, rate, reason } from './traffic.ts';
import type { Edge, Kind, ServiceNode } from './types.ts';

export const RANGES = ['live', '1h', '24h', '7d', '90d'] as const;
export type Range = (typeof RANGES)[number];

const HOUR_MS = 3_600_000;
const RANGE_MS: Record<Range, number> = {
  live: 0,
  '1h': HOUR_MS,
  '24h': 24 * HOUR_MS,
  '7d': 7 * 24 * HOUR_MS,
  '90d': 90 * 24 * HOUR_MS,
};

/** More clients than this on one port, all of them plain addresses, are drawn as one node. */
export const CROWD_MIN = 12;
/** A crowd that shrinks stays one node down to this, or it would flicker. */
const CROWD_STAYS = 6;

export interface ViewOptions {
  range: Range;
  history: boolean;
  idle: boolean;
  /** Crowds that the reader opened. */
  expanded: ReadonlySet<string>;
}

export interface ViewNode {
  id: string;
  name: string;
  kind: Kind | 'crowd';
  live: boolean;
  /** The services that a crowd stands for; empty for a service. */
  members: string[];
}

export interface ViewEdge {
  id: string;
  client: string;
  server: string;
  label: string;
  live: boolean;
  guessed: boolean;
  /** Live, and nothing connects. */
  failing: boolean;
  connections: number;
  /** New connections per second. */
  rate: number;
  /** The edges that it stands for. */
  members: string[];
}

export interface View {
  nodes: Map<string, ViewNode>;
  edges: Map<string, ViewEdge>;
  /** The services and edges of the model that are on the map, those in crowds as well. */
  services: Map<string, ServiceNode>;
  links: Map<string, Edge>;
  /** Service -> the crowd it is drawn in; edge -> the crowd's edge. */
  drawnAs: Map<string, string>;
  /** Server -> crowds of its clients that are open now. */
  opened: Map<string, string[]>;
}

/** The `since_ms` of a range at a time; `live` has none. */
export function sinceMs(range: Range, nowMs: number): number {
  return range === 'live' ? nowMs : Math.max(0, nowMs - RANGE_MS[range]);
}

/** Does this range reach further back than the event stream does? */
export function beyondStream(range: Range): boolean {
  return RANGE_MS[range] > RANGE_MS['24h'];
}

/** The short name of what an edge uses. */
export function edgeLabel(edge: Edge): string {
  return edge.server_service ?? String(edge.server_port);
}

/** The text on a drawn edge: with why it fails, or how often it is used. */
function lineLabel(edge: Edge, why: string, perSecond: number): string {
  const more = why !== '' ? ` ${why}` : perSecond > 0 ? ` ${rate(perSecond)}` : '';
  return shorten(edgeLabel(edge), 20) + more;
}

export function buildView(
  model: { nodes: Map<string, ServiceNode>; edges: Map<string, Edge> },
  options: ViewOptions,
  nowMs: number,
  before?: View,
): View {
  const links = visibleEdges(model, options, nowMs);
  const services = visibleServices(model, links, options);
  const view: View = {
    nodes: new Map(),
    edges: new Map(),
    services,
    links,
    drawnAs: new Map(),
    opened: new Map(),
  };
  addCrowds(view, options.expanded, before);
  for (const node of services.values()) {
    if (view.drawnAs.has(node.id)) continue;
    const { id, name, kind, live } = node;
    view.nodes.set(id, { id, name, kind, live, members: [] });
  }
  for (const edge of links.values()) {
    if (view.drawnAs.has(edge.id)) continue;
    view.edges.set(edge.id, {
      id: edge.id,
      client: edge.client,
      server: edge.server,
      label: lineLabel(edge, reason(edge), newPerSecond(edge)),
      live: edge.live,
      guessed: edge.direction_guessed,
      failing: edge.failing,
      connections: edge.connections,
      rate: newPerSecond(edge),
      members: [edge.id],
    });
  }
  return view;
}

function visibleEdges(
  model: { nodes: Map<string, ServiceNode>; edges: Map<string, Edge> },
  options: ViewOptions,
  nowMs: number,
): Map<string, Edge> {
  const since = sinceMs(options.range, nowMs);
  const past = options.history && options.range !== 'live';
  const links = new Map<string, Edge>();
  for (const edge of model.edges.values()) {
    const shown = edge.live || (past && edge.last_seen_ms >= since);
    const whole = model.nodes.has(edge.client) && model.nodes.has(edge.server);
    if (shown && whole) links.set(edge.id, edge);
  }
  return links;
}

function visibleServices(
  model: { nodes: Map<string, ServiceNode> },
  links: Map<string, Edge>,
  options: ViewOptions,
): Map<string, ServiceNode> {
  const joined = new Set<string>();
  for (const edge of links.values()) joined.add(edge.client).add(edge.server);
  const services = new Map<string, ServiceNode>();
  for (const node of model.nodes.values()) {
    if (joined.has(node.id) || (options.idle && node.live)) services.set(node.id, node);
  }
  return services;
}

function addCrowds(view: View, expanded: ReadonlySet<string>, before: View | undefined): void {
  const degree = new Map<string, number>();
  for (const edge of view.links.values()) {
    degree.set(edge.client, (degree.get(edge.client) ?? 0) + 1);
    degree.set(edge.server, (degree.get(edge.server) ?? 0) + 1);
  }
  const ports = new Map<string, Edge[]>();
  for (const edge of view.links.values()) {
    const client = view.services.get(edge.client);
    if (client?.kind !== 'address' || degree.get(edge.client) !== 1) continue;
    const key = `crowd:${edge.server}:${edge.server_port}/${edge.network_transport}`;
    const edges = ports.get(key);
    if (edges) edges.push(edge);
    else ports.set(key, [edge]);
  }
  for (const [id, edges] of ports) {
    const least = before?.nodes.has(id) ? CROWD_STAYS : CROWD_MIN;
    const server = edges[0]?.server;
    if (edges.length <= least || server === undefined) continue;
    if (expanded.has(id)) {
      view.opened.set(server, [...(view.opened.get(server) ?? []), id]);
    } else {
      addCrowd(view, id, edges);
    }
  }
}

function addCrowd(view: View, id: string, edges: Edge[]): void {
  const first = edges[0] as Edge;
  const live = edges.some((edge) => edge.live);
  const members = edges.map((edge) => edge.client);
  const edgeId = `${id}>`;
  const failing = live && edges.every((edge) => edge.failing || !edge.live);
  const why = failing ? reason(edges.find((edge) => edge.failing) ?? first) : '';
  const perSecond = edges.reduce((sum, edge) => sum + newPerSecond(edge), 0);
  view.nodes.set(id, { id, name: `${edges.length} clients`, kind: 'crowd', live, members });
  view.edges.set(edgeId, {
    id: edgeId,
    client: id,
    server: first.server,
    label: lineLabel(first, why, perSecond),
    live,
    failing,
    guessed: edges.every((edge) => edge.direction_guessed),
    connections: edges.reduce((sum, edge) => sum + edge.connections, 0),
    rate: perSecond,
    members: edges.map((edge) => edge.id),
  });
  for (const edge of edges) {
    view.drawnAs.set(edge.client, id);
    view.drawnAs.set(edge.id, edgeId);
  }
}
