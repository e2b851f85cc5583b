// Joins the parts of the page and starts it.
import './page.css';
import { Announcer } from './announce.ts';
import { App } from './app.ts';
import type { Insets } from './camera.ts';
import { byId, el, swap } from './dom.ts';
import { Chart } from './graph.ts';
import { endpoint } from './format.ts';
import { Header } from './header.ts';
import { SIGNS } from './icons.ts';
import { helpContent, listen } from './keyboard.ts';
import { legend } from './legend.ts';
import { ListView } from './list.ts';
import type { Focus } from './panel.ts';
import { Search } from './search.ts';
import { Theme } from './theme.ts';
import { RANGES } from './view.ts';

const root = document.documentElement;
const map = byId('map');
const panel = byId('details');
const theme = new Theme(root);
const announcer = new Announcer(byId('say'), byId('say-focus'));
const narrow = matchMedia('(max-width: 760px)');

const chart = new Chart(
  map,
  byId<HTMLCanvasElement>('paper'),
  byId<HTMLCanvasElement>('ink'),
  theme.colours(),
  {
    node: (id) => app.open(id),
    edge: (id) => void app.select(id),
    ground: () => void app.select(null),
    hover: showTip,
    insets,
  },
);
const header = new Header(
  {
    host: byId('host'),
    method: byId('method'),
    facts: byId('facts'),
    status: byId('status'),
    strips: byId('warnings'),
  },
  () => app.stream.retryNow(),
);
const list = new ListView(byId('list'), (id) => void app.select(id, true));
const app = new App({ chart, header, list, announcer, panel, notice: byId('notice'), map });
const search = new Search(byId<HTMLInputElement>('search'), byId('found'), {
  services: () => app.view?.services ?? new Map(),
  found: (ids) => chart.found(new Set(ids.map((id) => app.drawn(id)))),
  select: (id) => {
    app.select(id, true);
    app.at(app.drawn(id));
  },
  leave: () => map.focus({ preventScroll: true }),
});
const help = byId<HTMLDialogElement>('help');

wirePanel();
wireControls();
wireKeys();
wireTestSurface();
swap(byId('legend-body'), legend());
help.append(helpContent());
if (narrow.matches) byId('legend').removeAttribute('open');
app.stream.start();

/** The room that the panel and the buttons take from the map. */
function insets(): Insets {
  const edge = 28;
  // On a narrow screen only the buttons: the open legend lies over the map for a while.
  const legendRoom = narrow.matches ? 44 : byId('legend').offsetHeight;
  const result = { top: edge, right: edge, bottom: edge + legendRoom, left: edge };
  if (panel.hidden) return result;
  if (narrow.matches) result.bottom += panel.offsetHeight;
  else result.right += panel.offsetWidth;
  return result;
}

function wirePanel(): void {
  const run: Record<string, (id: string) => void> = {
    select: (id) => {
      app.select(id, true);
      if (app.view?.nodes.has(app.drawn(id))) app.at(app.drawn(id));
    },
    close: () => app.clear(),
    depth: (id) => app.setDepth(id === 'all' ? Infinity : Number(id)),
    focus: (id) => app.setFocus(id as Focus),
    gather: (id) => app.gather(id),
    open: (id) => app.openCrowd(id),
  };
  panel.addEventListener('click', (event) => {
    const button = (event.target as Element).closest('button[data-act]');
    const act = button?.getAttribute('data-act') ?? '';
    if (Object.hasOwn(run, act)) run[act]?.(button?.getAttribute('data-id') ?? '');
  });
}

function wireControls(): void {
  const range = byId<HTMLSelectElement>('range');
  const change = (): void => {
    const value = RANGES.find((known) => known === range.value) ?? '24h';
    byId<HTMLButtonElement>('history').disabled = value === 'live';
    app.setRange(value);
  };
  range.addEventListener('change', change);
  const toggle = (what: 'history' | 'idle'): void => {
    byId(what).setAttribute('aria-pressed', String(app.toggle(what)));
  };
  byId('history').addEventListener('click', () => toggle('history'));
  byId('idle').addEventListener('click', () => toggle('idle'));
  byId('notice').addEventListener('click', (event) => {
    if (!(event.target as Element).closest('button')) return;
    range.value = '90d';
    change();
    for (const what of ['history', 'idle'] as const) {
      if (byId(what).getAttribute('aria-pressed') === 'false') toggle(what);
    }
  });
  byId('as-list').addEventListener('click', toggleList);
  byId('relayout').addEventListener('click', () => app.relayout());
  byId('ask').addEventListener('click', () => help.showModal());
  byId('zoom-in').addEventListener('click', () => chart.zoomBy(1.25));
  byId('zoom-out').addEventListener('click', () => chart.zoomBy(0.8));
  byId('zoom-fit').addEventListener('click', () => chart.fit());
  byId('more').addEventListener('click', () => {
    const open = byId('bar').classList.toggle('open');
    byId('more').setAttribute('aria-expanded', String(open));
  });
  const button = byId('theme');
  const name = (): void => void (button.textContent = theme.dark ? 'Light' : 'Dark');
  button.addEventListener('click', () => theme.toggle());
  theme.onChange(() => {
    name();
    chart.setColours(theme.colours());
  });
  name();
  map.addEventListener('blur', () => chart.at(null));
  map.addEventListener('pointerdown', () => app.at(null));
}

function toggleList(): void {
  const open = !list.open;
  list.show(open);
  byId('chart').hidden = open;
  byId('as-list').setAttribute('aria-pressed', String(open));
  announcer.say(open ? 'List of services' : 'Map of services');
  if (open) byId('list').querySelector('button')?.focus();
  else map.focus({ preventScroll: true });
}

function wireKeys(): void {
  listen(map, {
    search: () => search.focus(),
    step: (back) => app.step(back),
    toward: (arrow) => app.toward(arrow),
    open: () => app.openAt(),
    clear: () => app.clear(),
    zoom: (factor) => chart.zoomBy(factor),
    fit: () => chart.fit(),
    focus: (direction) => app.setFocus(direction),
    depth: (depth) => app.setDepth(depth),
    list: toggleList,
    help: () => help.showModal(),
  });
}

/** The full name next to the pointer: cards shorten it, and a small map leaves it out. */
function showTip(id: string | null): void {
  const tip = byId('tip');
  const at = id === null ? null : chart.pixel(id);
  const lines = id === null ? [] : tipLines(id);
  tip.hidden = at === null || lines.length === 0;
  if (!at || tip.hidden) return;
  tip.replaceChildren(...lines.map((line) => el('span', {}, line)));
  const frame = map.getBoundingClientRect();
  const x = Math.min(at.x - frame.left, frame.width - tip.offsetWidth / 2 - 8);
  tip.style.left = `${Math.max(tip.offsetWidth / 2 + 8, x)}px`;
  tip.style.top = `${at.y - frame.top + 24}px`;
}

function tipLines(id: string): string[] {
  const node = app.view?.nodes.get(id);
  const edge = app.view?.edges.get(id);
  if (node) {
    const service = app.view?.services.get(id);
    const ports = (service?.listening ?? []).slice(0, 3).map((port) => {
      return `listens on ${endpoint(port.address, port.port)}`;
    });
    return [node.name, SIGNS[node.kind].label, ...ports];
  }
  if (!edge) return [];
  const name = (end: string): string => app.view?.nodes.get(end)?.name ?? end;
  const state = edge.live ? `${edge.connections} connections` : 'history';
  return [`${name(edge.client)} → ${name(edge.server)}`, `${edge.label}, ${state}`];
}

/** A stable surface for tests, described in README.md. */
function wireTestSurface(): void {
  const surface = {
    nodes: () => [...(app.view?.services.keys() ?? [])],
    edges: () => [...(app.view?.links.keys() ?? [])],
    select: (id: string | null) => app.select(id, true),
    position: (id: string) => chart.pixel(app.drawn(id)),
    revision: () => app.model.revision,
  };
  Object.assign(window, { portolan: Object.freeze(surface) });
}
