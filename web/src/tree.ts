// "What breaks if I stop this?" and "What it needs": a walk as a tree that can be clicked through.
import { el } from './dom.ts';
import { count } from './format.ts';
import { sign } from './icons.ts';
import type { Edge, ServiceNode } from './types.ts';
import { edgeLabel, type ViewNode } from './view.ts';
import type { Direction, Step, Walk } from './walk.ts';

/** More entries than this are counted, not listed. */
const ENTRIES_MOST = 300;

export interface Known {
  services: ReadonlyMap<string, ServiceNode>;
  links: ReadonlyMap<string, Edge>;
  /** What is drawn, and which services are drawn as one crowd. */
  nodes: ReadonlyMap<string, ViewNode>;
  drawnAs: ReadonlyMap<string, string>;
}

const WORDS = {
  dependents: {
    title: 'What breaks if I stop this?',
    none: 'Nothing seen depends on it.',
  },
  needs: {
    title: 'What it needs',
    none: 'It has not been seen to need anything.',
  },
} as const;

export function tree(walk: Walk, direction: Direction, known: Known): HTMLElement {
  const words = WORDS[direction];
  const near = [...walk.reached.values()].filter((distance) => distance === 1).length;
  const all = walk.reached.size;
  const numbers = all === near ? count(all, 'service') : `${near} directly, ${all} in all`;
  return el(
    'section',
    { class: `walk ${direction}` },
    el('h3', {}, words.title, ' ', el('span', { class: 'number' }, all === 0 ? 'none' : numbers)),
    all === 0 ? el('p', { class: 'quiet' }, words.none) : entries(walk, direction, known),
  );
}

function entries(walk: Walk, direction: Direction, known: Known): HTMLElement {
  const root = el('ul');
  const lists = [root];
  const crowds = new Set<string>();
  let last: HTMLElement | null = null;
  let listed = 0;
  let left = 0;
  for (const step of walk.steps) {
    const crowd = known.nodes.get(known.drawnAs.get(step.node) ?? '');
    // A crowd is one entry, as it is one node on the map.
    if (crowd && crowds.has(crowd.id)) continue;
    if (crowd) crowds.add(crowd.id);
    if (listed >= ENTRIES_MOST) {
      left++;
      continue;
    }
    const node = known.services.get(step.node);
    const edge = known.links.get(step.edge);
    if (!node || !edge) continue;
    lists.length = Math.min(lists.length, step.depth);
    if (lists.length < step.depth && last) {
      const list = el('ul');
      last.append(list);
      lists.push(list);
    }
    last = el('li', {}, entry(crowd ?? node, edge, step, known, `${direction}${listed++}`));
    lists.at(-1)?.append(last);
  }
  if (left > 0) {
    const rest = `and ${count(left, 'more entry', 'more entries')}`;
    root.append(el('li', { class: 'quiet' }, rest));
  }
  return root;
}

function entry(
  node: ServiceNode | ViewNode,
  edge: Edge,
  step: Step,
  known: Known,
  key: string,
): HTMLElement {
  // For a crowd its edge: the details of that list all the clients.
  const id = node.kind === 'crowd' ? known.drawnAs.get(edge.id) : node.id;
  return el(
    'button',
    { type: 'button', 'data-act': 'select', 'data-id': id, 'data-key': key,
      class: step.again ? 'again' : null },
    sign(node.kind),
    el('span', { class: 'name' }, node.name),
    el('span', { class: 'via' }, edgeLabel(edge)),
    !edge.live && el('span', { class: 'tag' }, 'history'),
    step.again && el('span', { class: 'tag' }, 'listed elsewhere'),
  );
}
