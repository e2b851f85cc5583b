import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Model } from '../../src/model.ts';
import { buildView, CROWD_MIN, sinceMs, type ViewOptions } from '../../src/view.ts';
import { delta, edge, graph, node } from './samples.ts';

const HOUR = 3_600_000;
const all: ViewOptions = { range: '24h', history: true, idle: true, expanded: new Set() };

function crowd(count: number): Model {
  const model = new Model();
  const clients = Array.from({ length: count }, (_, i) => node(`address:10.0.0.${i}`));
  const edges = clients.map((client) => edge(client.id, 'unit:web', 443));
  model.replace(graph([node('unit:web'), ...clients], edges));
  return model;
}

test('ranges and toggles decide what is drawn', () => {
  const model = new Model();
  const now = 100 * 24 * HOUR;
  const past = (hours: number, client: string) =>
    edge(client, 'unit:db', 1, { live: false, last_seen_ms: now - hours * HOUR });
  const gone = { live: false };
  model.replace(
    graph(
      [
        node('unit:db'), node('process:now'), node('process:h2', gone),
        node('process:d3', gone), node('unit:idle'), node('process:left', gone),
      ],
      [edge('process:now', 'unit:db'), past(2, 'process:h2'), past(72, 'process:d3')],
    ),
  );
  const drawn = (more: Partial<ViewOptions>): string[] =>
    [...buildView(model, { ...all, ...more }, now).nodes.keys()].sort();
  const live = ['process:now', 'unit:db', 'unit:idle'];
  assert.deepEqual(drawn({ range: 'live' }), live);
  assert.deepEqual(drawn({ range: '1h' }), live);
  assert.deepEqual(drawn({ history: false }), live);
  assert.deepEqual(drawn({ range: '24h' }), ['process:h2', ...live].sort());
  assert.deepEqual(drawn({ range: '7d' }), ['process:d3', 'process:h2', ...live].sort());
  assert.deepEqual(drawn({ range: 'live', idle: false }), ['process:now', 'unit:db']);
  assert.equal(sinceMs('1h', now), now - HOUR);
});

test('twelve clients are drawn, thirteen are a crowd that opens', () => {
  const few = buildView(crowd(CROWD_MIN), all, 0);
  assert.equal(few.nodes.size, 13);
  const model = crowd(13);
  const view = buildView(model, all, 0);
  assert.equal(view.nodes.size, 2);
  const one = view.nodes.get('crowd:unit:web:443/tcp');
  assert.equal(one?.name, '13 clients');
  assert.equal(one?.members.length, 13);
  assert.equal([...view.edges.values()][0]?.connections, 13);
  assert.equal(view.drawnAs.get('address:10.0.0.3'), one?.id);
  const open = buildView(model, { ...all, expanded: new Set([one?.id ?? '']) }, 0);
  assert.equal(open.nodes.size, 14);
  assert.deepEqual(open.opened.get('unit:web'), [one?.id]);
});

test('only plain addresses with no other edge are in a crowd', () => {
  const model = crowd(14);
  model.apply(
    delta(2, {
      nodes: [node('process:x'), node('unit:other')],
      edges: [edge('process:x', 'unit:web', 443), edge('address:10.0.0.0', 'unit:other')],
    }),
  );
  const view = buildView(model, all, 0);
  assert.deepEqual([...view.nodes.keys()].sort(), [
    'address:10.0.0.0', 'crowd:unit:web:443/tcp', 'process:x', 'unit:other', 'unit:web',
  ]);
});

test('a crowd that shrinks a little stays one node', () => {
  const model = crowd(13);
  const first = buildView(model, all, 0);
  model.apply(delta(2, { removed_nodes: ['address:10.0.0.1'] }));
  assert.equal(buildView(model, all, 0, first).nodes.size, 2, 'it was one');
  assert.equal(buildView(model, all, 0).nodes.size, 13, 'it never was');
});
