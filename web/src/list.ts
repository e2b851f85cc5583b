// The map as a table: always there for screen readers, and on `l` for everybody.
import { el, swap } from './dom.ts';
import { count } from './format.ts';
import { sign, SIGNS } from './icons.ts';
import { reason } from './traffic.ts';
import type { ServiceNode } from './types.ts';
import { edgeLabel, type View } from './view.ts';

const NAMES_MOST = 6;

/** Out of sight the table follows the map at most this often. */
const HIDDEN_MS = 2000;

export class ListView {
  open = false;
  private drawnAt = -Infinity;
  private later: ReturnType<typeof setTimeout> | null = null;

  constructor(
    private readonly root: HTMLElement,
    select: (id: string) => void,
  ) {
    root.addEventListener('click', (event) => {
      const button = (event.target as Element).closest('button[data-id]');
      const id = button?.getAttribute('data-id');
      if (id) select(id);
    });
  }

  show(open: boolean): void {
    this.open = open;
    this.root.classList.toggle('unseen', !open);
    // Out of sight it stays readable, but Tab must not lead to what cannot be seen.
    for (const button of this.root.querySelectorAll('button')) {
      button.tabIndex = open ? 0 : -1;
    }
  }

  update(view: View, chosen: string | null): void {
    if (this.later) clearTimeout(this.later);
    this.later = null;
    const wait = this.open ? 0 : this.drawnAt + HIDDEN_MS - performance.now();
    if (wait > 0) this.later = setTimeout(() => this.draw(view, chosen), wait);
    else this.draw(view, chosen);
  }

  private draw(view: View, chosen: string | null): void {
    this.drawnAt = performance.now();
    const callers = new Map<string, string[]>();
    const called = new Map<string, string[]>();
    const connections = new Map<string, number>();
    for (const edge of view.links.values()) {
      const [client, server] = [view.services.get(edge.client), view.services.get(edge.server)];
      if (!client || !server) continue;
      const why = reason(edge);
      const past = edge.live ? (why && `, ${why}`) : ', history';
      push(callers, server.id, `${client.name} (${edgeLabel(edge)}${past})`);
      push(called, client.id, `${server.name} (${edgeLabel(edge)}${past})`);
      for (const end of [client, server]) {
        connections.set(end.id, (connections.get(end.id) ?? 0) + edge.connections);
      }
    }
    const size = (node: ServiceNode): number => callers.get(node.id)?.length ?? 0;
    const nodes = [...view.services.values()].sort((a, b) => {
      return size(b) - size(a) || a.name.localeCompare(b.name) || (a.id < b.id ? -1 : 1);
    });
    const rows = nodes.map((node) => {
      return this.row(node, callers.get(node.id), called.get(node.id), {
        connections: connections.get(node.id) ?? 0,
        chosen: node.id === chosen,
      });
    });
    swap(this.root, table(rows, view));
  }

  private row(
    node: ServiceNode,
    callers: string[] = [],
    called: string[] = [],
    more: { connections: number; chosen: boolean },
  ): HTMLElement {
    const ports = [...new Set(node.listening.map((port) => `${port.port}/${port.transport}`))];
    return el(
      'tr',
      { class: more.chosen ? 'chosen' : null },
      el(
        'th',
        { scope: 'row' },
        el(
          'button',
          { type: 'button', 'data-id': node.id, 'data-key': node.id,
            tabindex: this.open ? 0 : -1 },
          sign(node.kind),
          el('span', { class: 'name' }, node.name),
        ),
      ),
      el('td', { class: 'kind' }, SIGNS[node.kind].label),
      el('td', {}, some(ports)),
      el('td', {}, some(callers)),
      el('td', {}, some(called)),
      el('td', { class: 'right' }, String(more.connections)),
      el('td', {}, node.live ? 'now' : 'history'),
    );
  }
}

function table(rows: HTMLElement[], view: View): HTMLElement {
  const titles = ['Service', 'Kind', 'Listens on', 'Needed by', 'Needs', 'Connections', 'Seen'];
  return el(
    'table',
    {},
    el(
      'caption',
      {},
      `${count(view.services.size, 'service')}, ${count(view.links.size, 'edge')}; `,
      'most needed first',
    ),
    el('thead', {}, el('tr', {}, ...titles.map((title) => el('th', { scope: 'col' }, title)))),
    el('tbody', {}, ...rows),
  );
}

function some(texts: string[]): string {
  const shown = texts.slice(0, NAMES_MOST).join(', ');
  const rest = texts.length - NAMES_MOST;
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}

function push(map: Map<string, string[]>, key: string, value: string): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
