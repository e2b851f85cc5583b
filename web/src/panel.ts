// The details of what is selected: a service or an edge.
import { el } from './dom.ts';
import { count, duration, endpoint, time } from './format.ts';
import { sign, SIGNS } from './icons.ts';
import { byteRate, failures, newPerSecond, perSecond, rate, reason, roundTrip } from './traffic.ts';
import { tree, type Known } from './tree.ts';
import type { Edge, ServiceNode } from './types.ts';
import { edgeLabel } from './view.ts';
import type { Walk } from './walk.ts';

export type Focus = 'both' | 'dependents' | 'needs';
export const DEPTHS = [1, 2, 3, Infinity] as const;

const EDGES_MOST = 100;

export interface NodeDetails {
  node: ServiceNode;
  dependents: Walk;
  needs: Walk;
  depth: number;
  focus: Focus;
  /** Crowds of its clients that are open and can be gathered again. */
  opened: string[];
  known: Known;
  nowMs: number;
}

export function nodePanel(details: NodeDetails): HTMLElement[] {
  const { node, known, nowMs, focus } = details;
  const incoming = [...known.links.values()].filter((edge) => edge.server === node.id);
  const outgoing = [...known.links.values()].filter((edge) => edge.client === node.id);
  const walks = [
    focus !== 'needs' && tree(details.dependents, 'dependents', known),
    focus !== 'dependents' && tree(details.needs, 'needs', known),
  ];
  return [
    head(node.kind, node.name, SIGNS[node.kind].label, node.live),
    el('div', { class: 'tools' }, depthControl(details.depth), focusControl(focus)),
    ...walks.filter((walk) => walk !== false),
    ...details.opened.map((id) => {
      const port = id.slice(id.lastIndexOf(':') + 1);
      const text = `Gather the clients of port ${port}`;
      return el(
        'button',
        { type: 'button', class: 'wide', 'data-act': 'gather', 'data-id': id, 'data-key': id },
        text,
      );
    }),
    facts(node, nowMs),
    edgeList('Called by', incoming, 'client', known),
    edgeList('Calls', outgoing, 'server', known),
  ].filter((element) => element !== null);
}

function head(
  kind: keyof typeof SIGNS,
  title: string,
  what: string,
  live: boolean,
): HTMLElement {
  return el(
    'header',
    {},
    sign(kind),
    el('div', {}, el('h2', {}, title), el('p', {}, what, live ? '' : ', not seen now')),
    el(
      'button',
      { type: 'button', class: 'close', 'data-act': 'close', 'data-key': 'close',
        'aria-label': 'Close details' },
      '×',
    ),
  );
}

function depthControl(depth: number): HTMLElement {
  const buttons = DEPTHS.map((value) => {
    const text = value === Infinity ? 'all' : String(value);
    return el(
      'button',
      { type: 'button', 'data-act': 'depth', 'data-id': text, 'data-key': `depth${text}`,
        'aria-pressed': String(value === depth) },
      text,
    );
  });
  return el(
    'div',
    { class: 'choice', role: 'group', 'aria-label': 'Depth' },
    el('span', {}, 'Depth'),
    ...buttons,
  );
}

function focusControl(focus: Focus): HTMLElement {
  const button = (value: Focus, text: string, key: string): HTMLElement =>
    el(
      'button',
      { type: 'button', class: value, 'data-act': 'focus', 'data-id': value,
        'data-key': `focus${value}`, 'aria-pressed': String(value === focus),
        'aria-keyshortcuts': key },
      text,
    );
  return el(
    'div',
    { class: 'choice', role: 'group', 'aria-label': 'Direction' },
    button('dependents', 'Dependents', 'd'),
    button('needs', 'Needs', 'n'),
  );
}

function facts(node: ServiceNode, nowMs: number): HTMLElement {
  const listening = node.listening.map((port) => {
    const service = port.service ? ` ${port.service}` : '';
    return `${endpoint(port.address, port.port)}/${port.transport}${service}`;
  });
  const rows: [string, string[]][] = [
    ['Unit', node.unit && node.unit !== node.name ? [node.unit] : []],
    ['Container', node.container ? [node.container] : []],
    ['User', node.user ? [node.user] : []],
    ['Processes', node.processes],
    ['PIDs', node.pids.length > 0 ? [node.pids.join(', ')] : []],
    ['Namespace', node.namespace ? [node.namespace] : []],
    ['Addresses', node.addresses],
    ['Listens on', listening],
    ['First seen', [seen(node.first_seen_ms, nowMs)]],
    ['Last seen', [node.live ? 'now' : seen(node.last_seen_ms, nowMs)]],
  ];
  return definitions(rows);
}

function definitions(rows: [string, string[]][]): HTMLElement {
  const list = el('dl');
  for (const [term, values] of rows) {
    if (values.length === 0) continue;
    list.append(el('dt', {}, term));
    const shown = values.slice(0, 12);
    if (values.length > 12) shown.push(`and ${values.length - 12} more`);
    for (const value of shown) list.append(el('dd', {}, value));
  }
  return list;
}

function edgeList(
  title: string,
  edges: Edge[],
  end: 'client' | 'server',
  known: Known,
): HTMLElement | null {
  if (edges.length === 0) return null;
  const sorted = [...edges].sort((a, b) => b.connections - a.connections);
  const items = sorted.slice(0, EDGES_MOST).map((edge) => {
    const other = known.services.get(edge[end]);
    return el(
      'li',
      {},
      el(
        'button',
        { type: 'button', 'data-act': 'select', 'data-id': edge.id, 'data-key': edge.id },
        other && sign(other.kind),
        el('span', { class: 'name' }, other?.name ?? edge[end]),
        el('span', { class: 'via' }, port(edge)),
        el(
          'span',
          { class: edge.failing ? 'tag failing' : 'tag' },
          reason(edge) || (edge.live ? use(edge) : 'history'),
        ),
      ),
    );
  });
  const rest = sorted.length - items.length;
  if (rest > 0) items.push(el('li', { class: 'quiet' }, `and ${count(rest, 'more edge')}`));
  const number = el('span', { class: 'number' }, count(edges.length, 'edge'));
  const heading = el('h3', {}, title, ' ', number);
  return el('section', { class: 'edges' }, heading, el('ul', {}, ...items));
}

/** How many connections are up, and how many come. */
function use(edge: Edge): string {
  const perSecond = newPerSecond(edge);
  return perSecond > 0 ? `${edge.connections}, ${rate(perSecond)}` : String(edge.connections);
}

function port(edge: Edge): string {
  const name = edge.server_service ? `${edge.server_service} ` : '';
  return `${name}${edge.server_port}/${edge.network_transport}`;
}

export interface EdgeDetails {
  edge: Edge;
  known: Known;
  nowMs: number;
}

export function edgePanel({ edge, known, nowMs }: EdgeDetails): HTMLElement[] {
  const [client, server] = [known.services.get(edge.client), known.services.get(edge.server)];
  const guessed = edge.direction_guessed;
  return [
    head(server?.kind ?? 'address', edgeLabel(edge), 'connection', edge.live),
    el('p', { class: 'ends' }, end(client), el('span', { class: 'arrow' }, '→'), end(server)),
    guessed &&
      el(
        'p',
        { class: 'note' },
        el('strong', {}, 'Direction guessed.'),
        ' No listener proves who is the client; the port numbers decided.',
      ),
    edge.failing &&
      el(
        'p',
        { class: 'note failing' },
        el('strong', {}, 'Nothing connects: '),
        `${reason(edge)}.`,
      ),
    definitions([
      ['Port', [port(edge)]],
      ['Connections', [String(edge.connections)]],
      ['Opening', [String(edge.opening)]],
      ['TIME-WAIT', [String(edge.time_wait)]],
      ...traffic(edge),
      ['Client', processes(edge, 'client')],
      ['Server', processes(edge, 'server')],
      ['First seen', [seen(edge.first_seen_ms, nowMs)]],
      ['Last seen', [edge.live ? 'now' : seen(edge.last_seen_ms, nowMs)]],
    ]),
    pairs(edge),
  ].filter((element) => element !== false);
}

/** What the last reading counted; nothing where it does not count. */
function traffic(edge: Edge): [string, string[]][] {
  const counted = edge.traffic;
  if (!counted) return [];
  const bytes = (count: number): string => byteRate(perSecond(count, counted));
  const some = (count: number): string[] => (count > 0 ? [String(count)] : []);
  return [
    ['New', [rate(newPerSecond(edge))]],
    ['To server', [bytes(counted.bytes_to_server)]],
    ['To client', [bytes(counted.bytes_to_client)]],
    ['Round trip', counted.rtt_us === null ? [] : [roundTrip(counted.rtt_us)]],
    ['Retransmits', some(counted.retransmits)],
    ['Resets', some(counted.resets)],
    ['Failed', failures(edge)],
  ];
}

function end(node: ServiceNode | undefined): HTMLElement | string {
  if (!node) return 'unknown';
  return el(
    'button',
    { type: 'button', 'data-act': 'select', 'data-id': node.id, 'data-key': node.id },
    sign(node.kind),
    el('span', { class: 'name' }, node.name),
  );
}

function processes(edge: Edge, side: 'client' | 'server'): string[] {
  const names = new Map<string, Set<number>>();
  for (const flow of edge.flows) {
    const uid = flow[`${side}_uid`];
    const hidden = uid === null ? null : `hidden process of user ${uid}`;
    const name = flow[`${side}_process`] ?? hidden;
    if (name === null) continue;
    const pids = names.get(name) ?? new Set();
    for (const pid of flow[`${side}_pids`]) pids.add(pid);
    names.set(name, pids);
  }
  const lines = [...names].map(([name, pids]) => {
    const all = [...pids].sort((a, b) => a - b).slice(0, 16);
    return all.length === 0 ? name : `${name} (${all.join(', ')})`;
  });
  return lines.length > 0 ? lines : ['not observed'];
}

function pairs(edge: Edge): HTMLElement {
  const rows = edge.flows.slice(0, EDGES_MOST).map((flow) => {
    const parts = [`${flow.connections} up`];
    if (flow.opening > 0) parts.push(`${flow.opening} opening`);
    if (flow.time_wait > 0) parts.push(`${flow.time_wait} TIME-WAIT`);
    return el(
      'li',
      {},
      el('span', { class: 'pair' }, flow.client_address, ' → ',
        endpoint(flow.server_address, flow.server_port)),
      el('span', { class: 'tag' }, parts.join(', ')),
    );
  });
  const rest = edge.flows.length - rows.length;
  if (rest > 0) rows.push(el('li', { class: 'quiet' }, `and ${rest} more`));
  const number = el('span', { class: 'number' }, count(edge.flows.length, 'pair'));
  return el(
    'section',
    { class: 'pairs' },
    el('h3', {}, 'Addresses ', number),
    rows.length > 0 ? el('ul', {}, ...rows) : el('p', { class: 'quiet' }, 'None are known.'),
  );
}

/** The edge of a crowd: all of its connections in one list. */
export function crowdPanel(
  title: string,
  edges: Edge[],
  known: Known,
  crowd: string,
): HTMLElement[] {
  const list = edgeList('Clients', edges, 'client', known);
  return [
    head('crowd', title, 'addresses that only call this port', true),
    el(
      'button',
      { type: 'button', class: 'wide', 'data-act': 'open', 'data-id': crowd, 'data-key': 'open' },
      'Draw each of them',
    ),
    list,
  ].filter((element) => element !== null);
}

/** The clock time, and roughly how long ago; no seconds, or it would change all the time. */
function seen(ms: number, nowMs: number): string {
  const ago = nowMs - ms;
  const text = time(ms, nowMs);
  return ms > 0 && ago >= 60_000 ? `${text} (${duration(ago)} ago)` : text;
}
