import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layout, lineKey, spread, type Box, type Line } from '../../src/layout.ts';
import type { Point } from '../../src/room.ts';
import { bend } from '../../src/bend.ts';
import { place } from '../../src/place.ts';
import { random } from './samples.ts';

const box = (id: string, width = 150): Box => ({ id, width, height: 34 });
const line = (source: string, target: string): Line => ({ source, target });

function noOverlap(boxes: readonly Box[], positions: ReadonlyMap<string, Point>): void {
  const placed = boxes.map((item) => ({ item, at: positions.get(item.id)! }));
  placed.sort((a, b) => a.at.y - b.at.y);
  placed.forEach((a, index) => {
    for (const b of placed.slice(index + 1)) {
      if (b.at.y - a.at.y >= 34) break;
      const apart = Math.abs(a.at.x - b.at.x) >= (a.item.width + b.item.width) / 2;
      assert.ok(apart, `${a.item.id} lies on ${b.item.id}`);
    }
  });
}

/** Like a host: hubs, chains, lone listeners. */
function host(nodes: number, edges: number, seed: number): { boxes: Box[]; lines: Line[] } {
  const next = random(seed);
  const boxes = Array.from({ length: nodes }, (_, i) => box(`n${i}`, 80 + next() * 140));
  const lines = Array.from({ length: edges }, () => {
    const target = Math.floor(next() ** 3 * nodes);
    return line(`n${Math.floor(next() * nodes)}`, `n${target}`);
  });
  return { boxes, lines };
}

test('clients left of servers, nothing on top of another', () => {
  const boxes = ['web', 'app', 'db', 'cron', 'idle'].map((id) => box(id));
  const lines = [line('web', 'app'), line('app', 'db'), line('cron', 'db')];
  const { positions, flow } = layout(boxes, lines, 1.6);
  assert.equal(flow, 'right');
  for (const { source, target } of lines) {
    assert.ok(positions.get(source)!.x < positions.get(target)!.x, `${source} left of ${target}`);
  }
  assert.equal(positions.get('cron')!.x, positions.get('app')!.x, 'right before what it calls');
  assert.ok(positions.get('idle')!.y > positions.get('db')!.y, 'no edges: below');
  noOverlap(boxes, positions);
});

test('every acyclic edge goes right in a larger graph', () => {
  const next = random(7);
  const boxes = Array.from({ length: 120 }, (_, i) => box(`n${i}`));
  const lines = Array.from({ length: 240 }, () => {
    const a = Math.floor(next() * 119);
    return line(`n${a}`, `n${a + 1 + Math.floor(next() * (119 - a))}`);
  });
  const { positions } = layout(boxes, lines, 1.6);
  for (const { source, target } of lines) {
    assert.ok(positions.get(source)!.x < positions.get(target)!.x, `${source} > ${target}`);
  }
  noOverlap(boxes, positions);
});

test('cycles end, and enough of them turn the drawing top-down', () => {
  const ids = ['a', 'b', 'c', 'd'];
  const ring = ids.map((id, i) => line(id, ids[(i + 1) % 4]!));
  const drawing = layout(ids.map((id) => box(id)), [...ring, line('a', 'a')], 1.6);
  assert.equal(drawing.flow, 'down');
  noOverlap(ids.map((id) => box(id)), drawing.positions);
  const mostly = layout(
    ['x', 'y', 'z', 'p', 'q'].map((id) => box(id)),
    [line('x', 'y'), line('y', 'z'), line('p', 'q'), line('q', 'p')],
    1.6,
  );
  assert.equal(mostly.flow, 'right', 'one small cycle does not turn the map');
});

test('the same graph in any order is drawn the same', () => {
  const { boxes, lines } = host(80, 150, 3);
  const one = layout(boxes, lines, 1.6).positions;
  const two = layout([...boxes].reverse(), lines, 1.6).positions;
  for (const [id, point] of one) assert.deepEqual(two.get(id), point, id);
});

test('500 services and 1500 edges: no overlap, few operations', () => {
  for (const seed of [1, 2, 3]) {
    const { boxes, lines } = host(500, 1500, seed);
    const drawing = layout(boxes, lines, 1.6);
    assert.equal(drawing.positions.size, 500);
    noOverlap(boxes, drawing.positions);
    // About 60 ns each: 200 000 are far below 300 ms.
    assert.ok(drawing.operations < 200_000, `${drawing.operations} operations`);
  }
});

test('cost grows with the graph, not with its square', () => {
  const small = host(250, 750, 9);
  const large = host(1000, 3000, 9);
  const a = layout(small.boxes, small.lines, 1.6).operations;
  const b = layout(large.boxes, large.lines, 1.6).operations;
  assert.ok(b < a * 7, `${a} operations became ${b} for four times the graph`);
});

test('a hub with 200 clients is wrapped, not a mile high', () => {
  const clients = Array.from({ length: 200 }, (_, i) => box(`c${i}`));
  const lines = clients.map(({ id }) => line(id, 'hub'));
  const boxes = [box('hub'), ...clients];
  const { positions } = layout(boxes, lines, 1.6);
  const ys = [...positions.values()].map((point) => point.y);
  const xs = [...positions.values()].map((point) => point.x);
  const shape = (Math.max(...xs) - Math.min(...xs)) / (Math.max(...ys) - Math.min(...ys));
  assert.ok(shape > 0.8 && shape < 4, `width by height is ${shape}`);
  noOverlap(boxes, positions);
});

test('new services get free ground near their neighbours, the old ones stay', () => {
  const { boxes, lines } = host(60, 90, 5);
  const before = layout(boxes, lines, 1.6);
  const fresh = Array.from({ length: 30 }, (_, i) => box(`new${i}`));
  const more = fresh.map(({ id }, i) => line(id, i % 3 === 0 ? `new${i + 1}` : 'n0'));
  const copy = new Map([...before.positions].map(([id, point]) => [id, { ...point }]));
  const added = place(fresh, [...lines, ...more], boxes, before.positions, 'right');
  assert.deepEqual(before.positions, copy, 'nothing that stood has moved');
  assert.equal(added.size, 30);
  noOverlap([...boxes, ...fresh], new Map([...before.positions, ...added]));
});

test('a lone new service next to its server', () => {
  const before = layout([box('a'), box('b')], [line('a', 'b')], 1.6);
  const lines = [line('a', 'b'), line('new', 'b')];
  const added = place([box('new')], lines, [box('a'), box('b')], before.positions, 'right');
  const [fresh, server] = [added.get('new')!, before.positions.get('b')!];
  assert.ok(fresh.x < server.x && Math.hypot(fresh.x - server.x, fresh.y - server.y) < 500);
});

test('a long edge has a lane of its own past the layers between', () => {
  const ids = ['a', 'b', 'c', 'd'];
  const lines = [line('a', 'b'), line('b', 'c'), line('c', 'd'), line('a', 'd')];
  const { positions, bends } = layout(ids.map((id) => box(id)), lines, 1.6);
  const lane = bends.get(lineKey('a', 'd'))!;
  assert.equal(lane.length, 2);
  ['b', 'c'].forEach((id, i) => {
    assert.equal(lane[i]!.x, positions.get(id)!.x);
    assert.ok(Math.abs(lane[i]!.y - positions.get(id)!.y) > 17, `the lane misses ${id}`);
  });
  assert.ok(bend(positions.get('a')!, positions.get('d')!, lane));
  assert.equal(bend({ x: 0, y: 0 }, { x: 90, y: 0 }, [{ x: 45, y: 2 }]), null, 'straight enough');
  const curve = bend({ x: 0, y: 0 }, { x: 100, y: 0 }, [{ x: 25, y: 30 }]);
  assert.deepEqual(curve, { weights: '0.2500', distances: '30.0' });
});

test('room that is narrow and high is drawn top-down', () => {
  const { flow, positions } = layout([box('a'), box('b')], [line('a', 'b')], 0.6);
  assert.equal(flow, 'down');
  assert.ok(positions.get('a')!.y < positions.get('b')!.y);
});

test('spread keeps order and gaps and moves no further than needed', () => {
  const meter = { operations: 0 };
  assert.deepEqual(spread([0, 100], [10, 10], meter), [0, 100]);
  assert.deepEqual(spread([50, 50], [10, 10], meter), [45, 55]);
  const result = spread([9, 3, 70, 1], [10, 10, 10, 10], meter);
  result.slice(1).forEach((value, i) => assert.ok(value - result[i]! >= 10 - 1e-9));
});

test('empty graph', () => {
  assert.equal(layout([], [], 1.6).positions.size, 0);
});
