// Search over services: by name, address, port, process, pid, unit, container. Pure.
import type { ServiceNode } from './types.ts';

export interface Match {
  id: string;
  name: string;
  /** What matched, in words; empty when the name did. */
  why: string;
}

interface Field {
  what: string;
  value: string;
  weight: number;
}

/** The services that contain every word of the query, best first. */
export function match(nodes: Iterable<ServiceNode>, query: string): Match[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const found: { match: Match; score: number }[] = [];
  for (const node of nodes) {
    const fields = searchable(node);
    let score = 0;
    let why = '';
    for (const word of words) {
      const best = bestField(fields, word);
      if (!best) {
        score = 0;
        break;
      }
      score += best.score;
      if (best.field.what !== 'name') why = `${best.field.what} ${best.field.value}`;
    }
    if (score > 0) found.push({ match: { id: node.id, name: node.name, why }, score });
  }
  found.sort((a, b) => b.score - a.score || a.match.name.localeCompare(b.match.name));
  return found.map((item) => item.match);
}

function searchable(node: ServiceNode): Field[] {
  const fields: Field[] = [{ what: 'name', value: node.name, weight: 10 }];
  const add = (what: string, value: string | null, weight: number): void => {
    if (value) fields.push({ what, value, weight });
  };
  add('unit', node.unit, 6);
  add('container', node.container, 6);
  add('namespace', node.namespace, 2);
  add('user', node.user, 4);
  for (const process of node.processes) add('process', process, 6);
  for (const address of node.addresses) add('address', address, 5);
  for (const pid of node.pids) add('pid', String(pid), 1);
  for (const port of node.listening) {
    add('port', `:${port.port}`, 8);
    add('service', port.service, 6);
    add('listens on', `${port.address}:${port.port}`, 4);
  }
  return fields;
}

function bestField(fields: Field[], word: string): { field: Field; score: number } | null {
  let best: { field: Field; score: number } | null = null;
  for (const field of fields) {
    const value = field.value.toLowerCase();
    const bare = value.startsWith(':') ? value.slice(1) : value;
    const at = value.indexOf(word);
    if (at < 0) continue;
    const fit = value === word || bare === word ? 4 : at === 0 || bare.startsWith(word) ? 2 : 1;
    const score = fit * field.weight;
    if (!best || score > best.score) best = { field, score };
  }
  return best;
}
