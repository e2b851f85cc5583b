// A stand-in for the hub: serves dist/ and the API of docs/formats/hub-api.md on loopback.
//   node test/mock.mjs [small|large|empty|hostile] [port]     to look at the page by hand
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { graph, hostile, large, small } from './sample.mjs';

const FILES = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/app.js': ['app.js', 'text/javascript; charset=utf-8'],
  '/icon.svg': ['icon.svg', 'image/svg+xml'],
  '/app.css': ['app.css', 'text/css; charset=utf-8'],
};
const POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'";

export class Mock {
  constructor(value) {
    this.value = value;
    this.older = null;
    this.requests = [];
    this.streams = new Set();
    this.server = null;
    this.port = 0;
  }

  async start(port = 0) {
    this.server = createServer((request, response) => void this.answer(request, response));
    await new Promise((done) => this.server.listen(port, '127.0.0.1', done));
    this.port = this.server.address().port;
    this.beat = setInterval(() => this.write(': still here\n\n'), 10_000);
    return this;
  }

  get url() {
    return `http://127.0.0.1:${this.port}/`;
  }

  async stop() {
    clearInterval(this.beat);
    for (const stream of this.streams) stream.destroy();
    this.streams.clear();
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  /** Applies a change and sends it as the next delta. */
  change({ nodes = [], edges = [], removed_nodes = [], removed_edges = [], skip = 0 }) {
    const { value } = this;
    const put = (list, items, gone) => {
      const ids = new Set([...items.map((item) => item.id), ...gone]);
      return [...list.filter((item) => !ids.has(item.id)), ...items];
    };
    value.nodes = put(value.nodes, nodes, removed_nodes);
    value.edges = put(value.edges, edges, removed_edges);
    value.revision += 1 + skip;
    value.now_ms = Date.now();
    const { revision, now_ms, warnings } = value;
    const delta = {
      version: 1, revision, now_ms, warnings, nodes, edges, removed_nodes, removed_edges,
    };
    this.write(`event: delta\ndata: ${JSON.stringify(delta)}\n\n`);
  }

  write(text) {
    for (const stream of this.streams) stream.write(text);
  }

  async answer(request, response) {
    const url = new URL(request.url, 'http://localhost');
    this.requests.push(url.pathname + url.search);
    if (url.pathname === '/api/v1/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      response.write(`event: graph\ndata: ${JSON.stringify(this.value)}\n\n`);
      this.streams.add(response);
      response.on('close', () => this.streams.delete(response));
      return;
    }
    if (url.pathname === '/api/v1/graph') {
      const longer = url.searchParams.has('since_ms') && this.older;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(longer ? this.older : this.value));
      return;
    }
    const file = FILES[url.pathname];
    if (!file) {
      response.writeHead(404).end();
      return;
    }
    const body = await readFile(new URL(`../dist/${file[0]}`, import.meta.url));
    response.writeHead(200, { 'content-type': file[1], 'content-security-policy': POLICY });
    response.end(body);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const made = { small, large, hostile, empty: () => graph([], []) };
  const make = made[process.argv[2] ?? 'small'] ?? small;
  const mock = await new Mock(make()).start(Number(process.argv[3] ?? 8181));
  console.log(mock.url);
}
