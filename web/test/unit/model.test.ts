import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Model } from '../../src/model.ts';
import { readDelta, readGraph } from '../../src/types.ts';
import { Adjacency, walk } from '../../src/walk.ts';
import { match } from '../../src/match.ts';
import { delta, edge, graph, node } from './samples.ts';

test('a graph replaces what was there', () => {
  const model = new Model();
  const first = model.replace(graph([node('a:1'), node('a:2')], [edge('a:1', 'a:2')], 5));
  assert.deepEqual(first.addedNodes, ['a:1', 'a:2']);
  const second = model.replace(graph([node('a:2'), node('a:3')], [], 1));
  assert.deepEqual(second.removedNodes, ['a:1']);
  assert.deepEqual(second.addedNodes, ['a:3']);
  assert.deepEqual([...model.nodes.keys()], ['a:2', 'a:3']);
  assert.equal(model.edges.size, 0);
  assert.equal(model.revision, 1, 'a restarted server counts from its own beginning');
});

test('a delta applies to the revision before it, and to no other', () => {
  const model = new Model();
  assert.equal(model.apply(delta(1)), 'gap', 'nothing loaded yet');
  model.replace(graph([node('a:1')], [], 7));
  assert.equal(model.apply(delta(7)), 'stale');
  assert.equal(model.apply(delta(9)), 'gap');
  assert.equal(model.revision, 7);
  const change = model.apply(delta(8, { nodes: [node('a:2')], edges: [edge('a:2', 'a:1')] }));
  assert.ok(typeof change === 'object');
  assert.deepEqual(change.addedNodes, ['a:2']);
  assert.deepEqual(change.addedEdges, ['a:2>a:1:80/tcp']);
  assert.equal(model.nowMs, 3000);
});

test('a delta changes, removes, and tells history that is up again as new', () => {
  const model = new Model();
  const old = edge('a:1', 'a:2', 80, { live: false });
  model.replace(graph([node('a:1'), node('a:2')], [old]));
  const up = model.apply(delta(2, { edges: [{ ...old, live: true }] }));
  assert.ok(typeof up === 'object');
  assert.deepEqual(up.addedEdges, [old.id]);
  const more = model.apply(delta(3, { edges: [{ ...old, live: true, connections: 4 }] }));
  assert.ok(typeof more === 'object');
  assert.deepEqual(more.addedEdges, []);
  assert.equal(model.edges.get(old.id)?.connections, 4);
  const gone = model.apply(delta(4, { removed_edges: [old.id, 'x'], removed_nodes: ['a:1'] }));
  assert.ok(typeof gone === 'object');
  assert.deepEqual(gone.removedEdges, [old.id]);
  assert.deepEqual([...model.nodes.keys()], ['a:2']);
});

test('older history is added and never overrides the stream', () => {
  const model = new Model();
  model.replace(graph([node('a:1'), node('a:2')], [edge('a:1', 'a:2')]));
  model.addOlder(
    graph(
      [node('a:1', { name: 'other', live: false }), node('a:9', { live: false })],
      [
        edge('a:1', 'a:2', 80, { connections: 99, live: false }),
        edge('a:9', 'a:2', 80, { live: false }),
        edge('a:7', 'a:2', 80, { live: false }),
      ],
    ),
  );
  assert.equal(model.nodes.get('a:1')?.name, '1');
  assert.equal(model.edges.get('a:1>a:2:80/tcp')?.connections, 1);
  assert.ok(model.older.has('a:9>a:2:80/tcp'));
  assert.ok(!model.edges.has('a:7>a:2:80/tcp'), 'no edge without its ends');
});

test('a walk goes to any depth and ends in cycles', () => {
  const links = [
    edge('web', 'app'), edge('app', 'db'), edge('db', 'disk'), edge('disk', 'app'),
    edge('cron', 'db'), edge('web', 'db'), edge('loop', 'loop'),
  ];
  const adjacency = new Adjacency(links);
  const all = walk(adjacency, 'db', 'dependents', Infinity);
  assert.deepEqual([...all.reached.keys()].sort(), ['app', 'cron', 'disk', 'web']);
  const near = walk(adjacency, 'db', 'dependents', 1);
  assert.deepEqual([...near.reached.keys()].sort(), ['app', 'cron', 'web']);
  assert.deepEqual(near.steps.map((step) => step.depth), [1, 1, 1]);
  const back = all.steps.find((step) => step.node === 'db');
  assert.equal(back?.again, true, 'the cycle is told and not followed');
  for (const id of all.reached.keys()) {
    const listed = all.steps.filter((step) => step.node === id && !step.again);
    assert.equal(listed.length, 1, `${id} is expanded once`);
    assert.equal(listed[0]?.depth, all.reached.get(id), `${id} at its nearest depth`);
  }
  assert.equal(walk(adjacency, 'loop', 'needs', Infinity).reached.size, 0);
  assert.equal(walk(adjacency, 'nobody', 'needs', Infinity).steps.length, 0);
});

test('a chain of thousands does not overflow the stack', () => {
  const links = Array.from({ length: 20_000 }, (_, i) => edge(`n${i}`, `n${i + 1}`));
  const result = walk(new Adjacency(links), 'n0', 'needs', Infinity);
  assert.equal(result.reached.get('n20000'), 20_000);
});

test('what cannot be read is dropped, not believed', () => {
  assert.equal(readGraph(null), null);
  assert.equal(readGraph({ nodes: 3, edges: [] }), null);
  assert.equal(readDelta('no'), null);
  const read = readGraph({
    revision: 'x',
    nodes: [{ id: 'a', kind: 'ship', name: 7, pids: ['1', 2] }, 5, null, {}],
    edges: [{ id: 'e', client: 'a' }, { id: 'e', client: 'a', server: 'b', flows: [1, {}] }],
    new_field: true,
  });
  assert.equal(read?.nodes.length, 1);
  assert.deepEqual(read?.nodes[0]?.pids, [2]);
  assert.equal(read?.nodes[0]?.name, '7');
  assert.equal(read?.edges.length, 1);
  assert.equal(read?.edges[0]?.flows.length, 1);
});

test('what would hide in a name is made visible', () => {
  const read = readGraph({ nodes: [{ id: 'a\u202e', name: 'x\u202egpj\n\u0000' }], edges: [] });
  assert.equal(read?.nodes[0]?.name, 'x\ufffdgpj\ufffd\ufffd');
  assert.equal(read?.nodes[0]?.id, 'a\u202e', 'an id is a key, not shown');
});

test('search by name, address, port, process, unit', () => {
  const db = node('unit:pg', {
    name: 'postgresql@15-main',
    unit: 'postgresql@15-main.service',
    processes: ['postgres'],
    pids: [812],
    addresses: ['10.0.0.7'],
    listening: [{ transport: 'tcp', address: '::', port: 5432, service: 'postgresql' }],
  });
  const nodes = [db, node('process:curl')];
  for (const query of ['postgresql@', '10.0.0', '5432', ':5432', 'POSTGRES', '.service', '812']) {
    assert.deepEqual(match(nodes, query).map((m) => m.id), ['unit:pg'], query);
  }
  assert.deepEqual(match(nodes, 'postgres curl'), [], 'every word has to be there');
  assert.deepEqual(match(nodes, '  '), []);
  assert.equal(match(nodes, '10.0.0.7')[0]?.why, 'address 10.0.0.7');
});
