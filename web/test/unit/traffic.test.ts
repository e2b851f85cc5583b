import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteRate, failures, newPerSecond, rate, reason, roundTrip } from '../../src/traffic.ts';
import { readGraph } from '../../src/types.ts';
import { Model } from '../../src/model.ts';
import { buildView } from '../../src/view.ts';
import { edge, graph, node, traffic } from './samples.ts';

test('numbers are short and have a unit', () => {
  assert.deepEqual([0, 0.01, 0.44, 9.96, 120.4, 999.6, 12_345].map(rate), [
    '0/s', '<0.1/s', '0.4/s', '10/s', '120/s', '1k/s', '12k/s',
  ]);
  assert.deepEqual([48, 1_200_000].map(byteRate), ['48 B/s', '1.2 MB/s']);
  assert.deepEqual([43, 400, 12_345, 1_200_000].map(roundTrip), [
    '43 µs', '0.4 ms', '12 ms', '1.2 s',
  ]);
});

test('the most frequent failure is the reason', () => {
  const some = { failing: true, traffic: traffic({ refused: 1, timed_out: 3 }) };
  assert.deepEqual(failures(some), ['1 refused', '3 timed out']);
  assert.equal(reason(some), 'timed out');
  assert.equal(reason({ ...some, failing: false }), '');
  assert.equal(reason({ failing: true, traffic: null }), 'failing');
});

test('traffic is read where it is counted, and nonsense is nothing', () => {
  const raw = {
    nodes: [],
    edges: [
      { id: 'a', client: 'b', server: 'c' },
      {
        id: 'd', client: 'b', server: 'c', failing: true, traffic_ms: 500, opened: 60,
        refused: 'x',
      },
    ],
  };
  const [plain, busy] = readGraph(raw)?.edges ?? [];
  assert.equal(plain?.traffic, null);
  assert.equal(plain?.failing, false);
  assert.equal(busy?.failing, true);
  assert.equal(busy?.traffic?.refused, 0);
  assert.equal(busy?.traffic?.rtt_us, null);
  assert.equal(busy && newPerSecond(busy), 120);
});

test('labels say the rate or why it fails, and crowds add up', () => {
  const all = { range: 'live', history: true, idle: true, expanded: new Set<string>() } as const;
  const model = new Model();
  const busy = { traffic: traffic({ opened: 120 }) };
  const clients = Array.from({ length: 20 }, (_, i) => node(`address:10.0.0.${i}`));
  model.replace(graph(
    [node('unit:db'), node('process:a'), node('process:b'), node('unit:web'), ...clients],
    [
      edge('process:a', 'unit:db', 5432, busy),
      edge('process:b', 'unit:db', 5432, {
        failing: true, connections: 0, traffic: traffic({ refused: 2 }),
      }),
      edge('process:a', 'unit:web', 443),
      ...clients.map((client) => edge(client.id, 'unit:web', 443, busy)),
    ],
  ));
  const view = buildView(model, all, 0);
  const of = (id: string) => view.edges.get(id);
  assert.equal(of('process:a>unit:db:5432/tcp')?.label, '5432 120/s');
  assert.equal(of('process:b>unit:db:5432/tcp')?.label, '5432 refused');
  assert.equal(of('process:b>unit:db:5432/tcp')?.failing, true);
  assert.equal(of('process:a>unit:web:443/tcp')?.label, '443');
  const crowd = of('crowd:unit:web:443/tcp>');
  assert.deepEqual([crowd?.rate, crowd?.label, crowd?.failing], [2400, '443 2.4k/s', false]);
});
