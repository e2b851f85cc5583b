import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  EventStream, fetchGraph, RETRY_MS, SILENCE_MS, type Status, type Surroundings,
} from '../../src/api.ts';
import { Model } from '../../src/model.ts';
import { EventParser } from '../../src/sse.ts';
import { delta, graph, node } from './samples.ts';

test('events in any pieces', () => {
  const text = ': hello\n\nevent: graph\ndata: {"a":\ndata: 1}\n\r\nevent:delta\r\ndata:x\r\n\r\n';
  const whole = new EventParser().push(text);
  assert.deepEqual(whole, [
    { event: 'graph', data: '{"a":\n1}' },
    { event: 'delta', data: 'x' },
  ]);
  const parser = new EventParser();
  assert.deepEqual([...text].flatMap((char) => parser.push(char)), whole);
});

/** A server and a clock in the test's hand. */
class Harness implements Surroundings {
  requests: { url: string; send: (text: string) => void; close: () => void }[] = [];
  answer: ((url: string) => Response | null) | null = null;
  time = 0;
  private timers: { at: number; run: () => void; off: boolean }[] = [];

  fetch = (url: string, init: RequestInit): Promise<Response> => {
    const early = this.answer?.(url);
    if (this.answer && !early) return Promise.reject(new TypeError('refused'));
    if (early) return Promise.resolve(early);
    let control!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (c) => void (control = c) });
    init.signal?.addEventListener('abort', () => {
      try {
        control.error(init.signal?.reason);
      } catch {
        // It was closed before.
      }
    });
    const encode = new TextEncoder();
    this.requests.push({
      url,
      send: (text) => control.enqueue(encode.encode(text)),
      close: () => control.close(),
    });
    return Promise.resolve(new Response(body));
  };

  now = (): number => this.time;

  after = (ms: number, run: () => void): (() => void) => {
    const timer = { at: this.time + ms, run, off: false };
    this.timers.push(timer);
    return () => void (timer.off = true);
  };

  async advance(ms: number): Promise<void> {
    this.time += ms;
    const due = this.timers.filter((timer) => !timer.off && timer.at <= this.time);
    this.timers = this.timers.filter((timer) => !due.includes(timer));
    for (const timer of due) timer.run();
    await settle();
  }
}

const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 5));
const event = (name: string, value: unknown): string =>
  `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;

interface Opened {
  harness: Harness;
  model: Model;
  statuses: Status[];
  stream: EventStream;
}

function open(answer: Harness['answer'] = null): Opened {
  const harness = new Harness();
  harness.answer = answer;
  const model = new Model();
  const statuses: Status[] = [];
  const stream = new EventStream(
    {
      graph: (value) => void model.replace(value),
      delta: (value) => model.apply(value) !== 'gap',
      status: (status) => void statuses.push(status),
    },
    harness,
  );
  stream.start();
  return { harness, model, statuses, stream };
}

test('graph, then deltas', async () => {
  const { harness, model, statuses, stream } = open();
  await settle();
  assert.equal(harness.requests[0]?.url, 'api/v1/events');
  harness.requests[0]?.send(event('graph', graph([node('a:1')], [], 42)));
  harness.requests[0]?.send(event('delta', delta(43, { nodes: [node('a:2')] })));
  await settle();
  assert.equal(model.revision, 43);
  assert.deepEqual([...model.nodes.keys()], ['a:1', 'a:2']);
  assert.deepEqual(statuses.map((s) => s.state), ['connecting', 'live']);
  stream.stop();
});

test('a missed revision reconnects and takes the whole graph again', async () => {
  const { harness, model, statuses, stream } = open();
  await settle();
  harness.requests[0]?.send(event('graph', graph([node('a:1')], [], 42)));
  harness.requests[0]?.send(event('delta', delta(44, { nodes: [node('a:9')] })));
  await settle();
  assert.equal(model.nodes.has('a:9'), false, 'the delta that does not fit is not applied');
  const lost = statuses.at(-1);
  assert.ok(lost?.state === 'lost' && lost.why === 'a change was missed');
  await harness.advance(RETRY_MS.first);
  assert.equal(harness.requests.length, 2);
  harness.requests[1]?.send(event('graph', graph([node('a:1'), node('a:9')], [], 44)));
  await settle();
  assert.equal(model.revision, 44);
  assert.equal(statuses.at(-1)?.state, 'live');
  stream.stop();
});

test('a server that went away: longer and longer pauses, then live again', async () => {
  const { harness, statuses, stream } = open();
  await settle();
  harness.requests[0]?.send(event('graph', graph([], [], 1)));
  await settle();
  harness.answer = () => null;
  harness.requests[0]?.close();
  await settle();
  const pauses: number[] = [];
  for (let i = 0; i < 6; i++) {
    const before = statuses.length;
    let waited = 0;
    while (statuses.length === before && waited <= RETRY_MS.most) {
      await harness.advance(250);
      waited += 250;
    }
    pauses.push(waited);
  }
  assert.deepEqual(pauses, [500, 1000, 2000, 4000, 5000, 5000]);
  harness.answer = null;
  stream.retryNow();
  await settle();
  harness.requests.at(-1)?.send(event('graph', graph([], [], 1)));
  await settle();
  assert.equal(statuses.at(-1)?.state, 'live');
  stream.stop();
});

test('comments keep a connection, silence ends it', async () => {
  const { harness, statuses, stream } = open();
  await settle();
  harness.requests[0]?.send(event('graph', graph([], [], 1)));
  await settle();
  for (let i = 0; i < 5; i++) {
    await harness.advance(SILENCE_MS - 1000);
    harness.requests[0]?.send(': still here\n\n');
    await settle();
  }
  assert.equal(statuses.at(-1)?.state, 'live');
  await harness.advance(SILENCE_MS + 1);
  const lost = statuses.at(-1);
  assert.ok(lost?.state === 'lost' && lost.why.includes('silent'), JSON.stringify(lost));
  stream.stop();
});

test('a refusal is told in the words of the server', async () => {
  const refuse = (): Response => Response.json({ error: 'no, because' }, { status: 403 });
  const { harness, statuses, stream } = open(refuse);
  await settle();
  const lost = statuses.at(-1);
  assert.ok(lost?.state === 'lost' && lost.why === 'no, because', JSON.stringify(lost));
  assert.equal(lost.since, null, 'there never was a map');
  stream.stop();
  await assert.rejects(fetchGraph(1, harness), /no, because/);
});

test('a stopped stream does not try again', async () => {
  const { harness, statuses, stream } = open();
  await settle();
  stream.stop();
  await settle();
  await harness.advance(60_000);
  assert.equal(harness.requests.length, 1);
  assert.deepEqual(statuses.map((s) => s.state), ['connecting']);
});
