// The keys of the page: one table that both the handling and the help are made from.
import { el } from './dom.ts';
import type { Point } from './room.ts';

export interface Actions {
  search(): void;
  /** To the next service in reading order; false: there is none, let Tab leave the map. */
  step(back: boolean): boolean;
  toward(direction: Arrow): void;
  open(): void;
  clear(): void;
  zoom(factor: number): void;
  fit(): void;
  focus(direction: 'dependents' | 'needs'): void;
  depth(depth: number): void;
  list(): void;
  help(): void;
}

export type Arrow = 'ArrowLeft' | 'ArrowRight' | 'ArrowUp' | 'ArrowDown';

const HELP: [string[], string][] = [
  [['/'], 'search'],
  [['Tab', 'Shift Tab'], 'next, previous service (on the map)'],
  [['←', '→', '↑', '↓'], 'to the service in that direction'],
  [['Enter'], 'open the service, or a crowd of clients'],
  [['Esc'], 'clear the selection; once more: leave the map'],
  [['d'], 'only what depends on it: what breaks'],
  [['n'], 'only what it needs'],
  [['1', '2', '3', 'a'], 'depth of both: one, two, three steps, all'],
  [['+', '−', '0'], 'zoom in, out, show all'],
  [['l'], 'the map as a list'],
  [['?'], 'this help'],
];

/** Handles the keys for the page; those of the map only while it has the focus. */
export function listen(map: HTMLElement, actions: Actions): void {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (document.querySelector('dialog[open]')) return;
    if (target.matches('input, select, textarea')) {
      if (event.key === 'Escape') target.blur();
      return;
    }
    const used = onMap(event, target === map, actions) || onPage(event.key, actions);
    if (used) event.preventDefault();
  });
}

function onMap(event: KeyboardEvent, inside: boolean, actions: Actions): boolean {
  if (!inside) return false;
  switch (event.key) {
    case 'Tab':
      return actions.step(event.shiftKey);
    case 'ArrowLeft':
    case 'ArrowRight':
    case 'ArrowUp':
    case 'ArrowDown':
      actions.toward(event.key);
      return true;
    case 'Enter':
    case ' ':
      actions.open();
      return true;
    default:
      return false;
  }
}

function onPage(key: string, actions: Actions): boolean {
  const table: Record<string, () => void> = {
    '/': actions.search,
    Escape: actions.clear,
    '+': () => actions.zoom(1.25),
    '=': () => actions.zoom(1.25),
    '-': () => actions.zoom(0.8),
    '0': actions.fit,
    d: () => actions.focus('dependents'),
    n: () => actions.focus('needs'),
    '1': () => actions.depth(1),
    '2': () => actions.depth(2),
    '3': () => actions.depth(3),
    a: () => actions.depth(Infinity),
    l: actions.list,
    '?': actions.help,
  };
  const run = Object.hasOwn(table, key) ? table[key] : undefined;
  run?.();
  return run !== undefined;
}

export function helpContent(): HTMLElement {
  const rows = HELP.map(([keys, what]) => {
    const cell = el('th', { scope: 'row' }, ...keys.map((key) => el('kbd', {}, key)));
    return el('tr', {}, cell, el('td', {}, what));
  });
  return el(
    'form',
    { method: 'dialog' },
    el('h2', { id: 'help-title' }, 'Keys'),
    el('table', {}, el('tbody', {}, ...rows)),
    el('p', { class: 'quiet' }, 'Drag a service to put it elsewhere; its place is kept.'),
    el('button', { autofocus: true }, 'Close'),
  );
}

/** Reading order: columns from the left, each from the top. */
export function readingOrder(places: ReadonlyMap<string, Point>): string[] {
  return [...places]
    .sort(([, a], [, b]) => Math.round(a.x / 90) - Math.round(b.x / 90) || a.y - b.y)
    .map(([id]) => id);
}

/** The nearest place in a direction; what lies aside counts as further away. */
export function nearest(
  places: ReadonlyMap<string, Point>,
  from: string,
  arrow: Arrow,
): string | null {
  const start = places.get(from);
  if (!start) return null;
  const level = arrow === 'ArrowLeft' || arrow === 'ArrowRight';
  const sense = arrow === 'ArrowLeft' || arrow === 'ArrowUp' ? -1 : 1;
  let best: { id: string; far: number } | null = null;
  for (const [id, point] of places) {
    if (id === from) continue;
    const [dx, dy] = [point.x - start.x, point.y - start.y];
    const along = sense * (level ? dx : dy);
    const aside = Math.abs(level ? dy : dx);
    if (along <= 4) continue;
    // Cards are wide and low: a step aside weighs more between columns than between rows.
    const far = level ? along + aside * 2.5 : along + aside * 0.9;
    if (!best || far < best.far) best = { id, far };
  }
  return best?.id ?? null;
}
