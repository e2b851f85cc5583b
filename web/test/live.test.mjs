// The script that looks at a real server, against the mock.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { Mock } from './mock.mjs';
import { edge, service, small } from './sample.mjs';

const SCRIPT = new URL('live.mjs', import.meta.url).pathname;
const PG = 'unit:postgresql@15-main.service';

/** Runs the script; `onLine` hears each line while it runs. */
function run(args, onLine = () => undefined) {
  return new Promise((done) => {
    const child = spawn(process.execPath, [SCRIPT, ...args]);
    let output = '';
    const hear = (chunk) => {
      output += chunk;
      for (const line of String(chunk).split('\n')) onLine(line);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.on('close', (code) => done({ code, output }));
  });
}

test('services, a new edge, a click, the details', async () => {
  const mock = await new Mock(small()).start();
  const connect = (line) => {
    if (line !== 'waiting') return;
    const made = edge('process:curl', PG, 5432, 'postgresql');
    mock.change({ nodes: [service('process:curl')], edges: [made] });
  };
  const asked = [
    mock.url, '--expect-node', 'nginx', '--expect-node', PG, '--wait-edge', 'curl',
    '--within-ms', '5000', '--click', 'curl', '--panel', 'postgresql@15-main',
  ];
  const { code, output } = await run(asked, connect);
  assert.equal(code, 0, output);
  assert.match(output, /edge process:curl>unit:postgresql@15-main.service:5432\/tcp after \d+ ms/);
  await mock.stop();
});

test('what is not there is a failure with a clear word', async () => {
  const mock = await new Mock(small()).start();
  const missing = await run([mock.url, '--wait-edge', 'curl', '--within-ms', '300']);
  assert.equal(missing.code, 1);
  assert.match(missing.output, /FAILED: no new edge with "curl" within 300 ms/);
  const panel = await run([mock.url, '--click', 'nginx', '--panel', 'no such text']);
  assert.equal(panel.code, 1);
  assert.match(panel.output, /FAILED: no "no such text" in the details/);
  assert.equal((await run([])).code, 2);
  await mock.stop();
});
