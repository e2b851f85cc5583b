// The built page in a real browser against the mock server: npm run build first.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { clickOn } from './browser.mjs';
import { Mock } from './mock.mjs';
import { call, close, onPage, open, PG, shot, text, until } from './onpage.mjs';
import { edge, EVIL, graph, hostile, large, listens, service, small } from './sample.mjs';

const CROWD_MEMBER = 'address:203.0.113.10';
const HOUR = 3_600_000;

before(open);
after(close);

test('the graph appears', () =>
  onPage(small(), async (page) => {
    const nodes = await call(page, 'nodes');
    assert.equal(nodes.length, 32);
    assert.ok(nodes.includes(PG) && nodes.includes(CROWD_MEMBER));
    assert.equal((await call(page, 'edges')).length, 31);
    assert.equal(await call(page, 'revision'), 1);
    assert.match(await text(page, '#bar'), /db7[^]*snapshot \(sock_diag\)[^]*32 services[^]*Live/);
    const ends = ['container:shop-api', PG];
    const [client, server] = await Promise.all(ends.map((id) => call(page, 'position', id)));
    assert.ok(client.x < server.x, 'clients are left of servers');
    assert.equal(await page.title(), 'db7 - Portolan');
    await shot(page, 'small-light');
  }));

test('a new connection arrives by delta, and nothing moves', () =>
  onPage(small(), async (page, mock) => {
    const ids = await call(page, 'nodes');
    const places = () => Promise.all(ids.map((id) => call(page, 'position', id)));
    // Chosen by hand, the part of the map that is seen stays as well.
    await page.keyboard.press('-');
    const earlier = await places();
    const fresh = service('process:curl', { pids: [99] });
    mock.change({ nodes: [fresh], edges: [edge('process:curl', PG, 5432, 'postgresql')] });
    await until(page, () => window.portolan.nodes().includes('process:curl'));
    assert.equal(await call(page, 'revision'), 2);
    assert.ok((await call(page, 'edges')).includes(`process:curl>${PG}:5432/tcp`));
    assert.deepEqual(await places(), earlier);
    await shot(page, 'delta');
    const gone = [`process:curl>${PG}:5432/tcp`];
    mock.change({ removed_nodes: ['process:curl'], removed_edges: gone });
    await until(page, () => !window.portolan.nodes().includes('process:curl'));
    assert.deepEqual(await places(), earlier);
  }));

test('a click on a node shows its details and who depends on it', () =>
  onPage(small(), async (page) => {
    await clickOn(page, PG);
    const details = await text(page, '#details');
    for (const part of [
      'postgresql@15-main', 'systemd unit', 'postgres', '812, 990', '0.0.0.0:5432/tcp', '10.0.0.7',
      'What breaks if I stop this?', 'What it needs', 'shop-api', 'nginx', '18 clients', 'history',
      'First seen', 'Called by', 'Calls',
    ]) {
      assert.ok(details.includes(part), `"${part}" in: ${details}`);
    }
    await shot(page, 'details');
    await page.locator('#details [data-act="depth"][data-id="1"]').click();
    assert.ok(!(await text(page, '#details .walk.dependents')).includes('nginx'), 'depth 1');
    await page.locator('#details .walk button', { hasText: 'shop-api' }).click();
    assert.equal(await text(page, '#details h2'), 'shop-api');
    await page.keyboard.press('Escape');
    assert.ok(await page.locator('#details').isHidden());
  }));

test('a click on an edge shows both ends, ports, counts and address pairs', () =>
  onPage(small(), async (page) => {
    const id = `${PG}>address:10.0.0.20:5432/tcp`;
    await clickOn(page, id);
    const details = await text(page, '#details');
    for (const part of [
      'postgresql 5432/tcp', 'Direction guessed', 'Connections', 'Opening', 'TIME-WAIT',
      '10.0.0.5 → 10.0.0.7:5432', 'postgresql@15-main (4711, 4712)',
    ]) {
      assert.ok(details.includes(part), `"${part}" in: ${details}`);
    }
    await shot(page, 'edge');
  }));

test('an edge says what goes over it, and one that fails why', () =>
  onPage(small(), async (page) => {
    await call(page, 'select', 'container:shop-api>unit:redis-server.service:6379/tcp');
    const busy = await text(page, '#details');
    for (const part of ['120/s', '48 kB/s', '1.3 MB/s', '0.4 ms', 'Retransmits', '5 refused']) {
      assert.ok(busy.includes(part), `"${part}" in: ${busy}`);
    }
    assert.ok(!busy.includes('Nothing connects'), busy);
    await call(page, 'select', 'process:psql>unit:chrony.service:323/tcp');
    const failing = await text(page, '#details');
    for (const part of ['Nothing connects: refused', '5 refused', '1 timed out']) {
      assert.ok(failing.includes(part), `"${part}" in: ${failing}`);
    }
    await shot(page, 'failing');
    await call(page, 'select', `container:worker>${PG}:5432/tcp`);
    const plain = await text(page, '#details');
    assert.ok(plain.includes('TIME-WAIT') && !plain.includes('To server'), 'it is not counted');
  }));

test('a crowd of clients opens on a click and can be gathered again', () =>
  onPage(small(), async (page) => {
    const at = await call(page, 'position', CROWD_MEMBER);
    assert.deepEqual(await call(page, 'position', 'address:203.0.113.11'), at, 'one node');
    await clickOn(page, CROWD_MEMBER);
    await until(page, () => {
      const [a, b] = ['address:203.0.113.10', 'address:203.0.113.11'].map(window.portolan.position);
      return a && b && (a.x !== b.x || a.y !== b.y);
    });
    await shot(page, 'crowd-open');
    await call(page, 'select', 'unit:nginx.service');
    await page.locator('#details button', { hasText: 'Gather' }).click();
    await until(page, () => {
      const [a, b] = ['address:203.0.113.10', 'address:203.0.113.11'].map(window.portolan.position);
      return a.x === b.x && a.y === b.y;
    });
  }));

test('toggles and time ranges', () =>
  onPage(small(), async (page, mock) => {
    const has = async (id) => (await call(page, 'nodes')).includes(id);
    assert.ok(await has('process:backup.sh'));
    await page.locator('#history').click();
    assert.ok(!(await has('process:backup.sh')));
    await page.locator('#history').click();
    await page.locator('#range').selectOption('1h');
    assert.ok(!(await has('process:backup.sh')), 'last seen three hours ago');
    await page.locator('#idle').click();
    assert.ok(!(await has('unit:ssh.service')));
    const past = { live: false, last_seen_ms: Date.now() - 72 * HOUR };
    mock.older = graph(
      [...mock.value.nodes, service('process:old', past)],
      [...mock.value.edges, edge('process:old', PG, 5432, 'postgresql', past)],
    );
    await page.locator('#range').selectOption('7d');
    await until(page, () => window.portolan.nodes().includes('process:old'));
    const asked = mock.requests.find((url) => url.startsWith('/api/v1/graph?since_ms='));
    const since = Number(asked?.split('=')[1]);
    assert.ok(Math.abs(Date.now() - 7 * 24 * HOUR - since) < 60_000, asked);
  }));

test('warnings are shown and can be dismissed', () =>
  onPage(small(), async (page, mock) => {
    assert.match(await text(page, '#warnings'), /CAP_SYS_PTRACE/);
    await page.locator('#warnings button').click();
    assert.equal(await text(page, '#warnings'), '');
    mock.change({});
    await until(page, () => window.portolan.revision() === 2);
    assert.equal(await text(page, '#warnings'), '', 'the same warning does not come back');
    mock.value.warnings = ['something else'];
    mock.change({});
    await until(page, () => document.getElementById('warnings').innerText.includes('else'));
  }));

test('search by address, port and process', () =>
  onPage(small(), async (page) => {
    for (const [query, name] of [['172.17', 'shop-api'], ['6379', 'redis'], ['sshd', 'ssh']]) {
      await page.locator('#search').fill(query);
      assert.match(await text(page, '#found li >> nth=0'), new RegExp(name), query);
    }
    await shot(page, 'search');
    await page.keyboard.press('Enter');
    assert.equal(await text(page, '#details h2'), 'ssh');
  }));

test('dark and light, by system and by choice', () =>
  onPage(
    small(),
    async (page) => {
      const paper = () => page.evaluate(() => getComputedStyle(document.body).color);
      const dark = await paper();
      await shot(page, 'small-dark');
      await call(page, 'select', PG);
      await shot(page, 'details-dark');
      await page.locator('#theme').click();
      assert.notEqual(await paper(), dark);
      await page.reload();
      await page.waitForSelector('html[data-ready="true"]');
      assert.notEqual(await paper(), dark, 'the choice is kept');
      await page.locator('#theme').click();
      assert.equal(await paper(), dark);
      await page.evaluate(() => localStorage.clear());
    },
    { colorScheme: 'dark' },
  ));

test('text has a contrast of 4.5 to 1 in both themes', () =>
  onPage(small(), async (page) => {
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      for (const [text, ground, ratio] of await page.evaluate(contrasts)) {
        assert.ok(ratio >= 4.5, `${text} on ${ground}, ${colorScheme}: ${ratio.toFixed(2)}`);
      }
    }
  }));

/** Runs in the page: the contrast of each pair of colours that text is drawn with. */
function contrasts() {
  const probe = document.body.appendChild(document.createElement('span'));
  const light = (name) => {
    probe.style.color = `var(--${name})`;
    const parts = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
    const [r, g, b] = parts.map((part) => {
      const share = part / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const pairs = [['warn-ink', 'warn'], ['bad-ink', 'bad'], ['paper', 'select'], ['good', 'panel']];
  for (const ground of ['paper', 'card', 'panel']) {
    for (const text of ['ink', 'faint', 'dependents', 'needs']) pairs.push([text, ground]);
  }
  return pairs.map(([text, ground]) => {
    const [a, b] = [light(text), light(ground)].sort((x, y) => y - x);
    return [text, ground, (a + 0.05) / (b + 0.05)];
  });
}

test('500 services', () =>
  onPage(large(), async (page, mock) => {
    assert.equal((await call(page, 'nodes')).length, 500);
    await shot(page, 'large');
    const fresh = service('process:curl');
    const start = Date.now();
    mock.change({ nodes: [fresh], edges: [edge('process:curl', mock.value.nodes[0].id, 1)] });
    await until(page, () => window.portolan.nodes().length === 501);
    assert.ok(Date.now() - start < 1500, 'a delta is drawn soon');
    const id = (await call(page, 'nodes'))[30];
    await call(page, 'select', id);
    await shot(page, 'large-selected');
    for (let i = 0; i < 7; i++) await page.keyboard.press('+');
    await shot(page, 'large-near');
    await page.keyboard.press('Escape');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.keyboard.press('0');
    await shot(page, 'large-dark');
  }));

test('a narrow screen', () =>
  onPage(small(), async (page) => {
    await page.setViewportSize({ width: 400, height: 800 });
    await page.reload();
    await page.waitForSelector('html[data-ready="true"]');
    await shot(page, 'narrow');
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 400, `${wide} px wide`);
    await page.locator('#more').click();
    assert.ok(await page.locator('#range').isVisible());
    await page.locator('#more').click();
    await call(page, 'select', PG);
    assert.ok((await text(page, '#details')).includes('What breaks'));
    await shot(page, 'narrow-details');
  }));

test('names from outside are text', () =>
  onPage(hostile(), async (page) => {
    await call(page, 'select', 'process:evil');
    assert.equal(await text(page, '#details h2'), EVIL);
    await shot(page, 'hostile');
    await call(page, 'select', 'process:__proto__>process:evil:80/tcp');
    assert.ok((await text(page, '#details')).includes(EVIL));
    await page.locator('#search').fill('img');
    assert.ok((await text(page, '#found')).includes(EVIL));
    await page.keyboard.press('Escape');
    await page.locator('#as-list').click();
    assert.ok((await text(page, '#list')).includes(EVIL));
    const at = await call(page, 'position', 'process:evil');
    await page.locator('#as-list').click();
    await page.mouse.move(at?.x ?? 0, at?.y ?? 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    const made = 'main img, header img, #list img, #details svg[onload], body script';
    assert.equal(await page.locator(made).count(), 0);
  }));

test('an empty host is told in words, and fills itself', () =>
  onPage(graph([], []), async (page, mock) => {
    assert.match(await text(page, '#notice'), /Nothing connected yet/);
    await shot(page, 'empty');
    const nodes = [service('unit:a.service', { listening: [listens(80)] }), service('process:b')];
    mock.change({ nodes, edges: [edge('process:b', 'unit:a.service', 80)] });
    await until(page, () => window.portolan.nodes().length === 2);
    assert.ok(await page.locator('#notice').isHidden());
    assert.ok(await call(page, 'position', 'process:b'));
  }));

test('a server that goes away and comes back', () =>
  onPage(small(), async (page, mock) => {
    const ids = await call(page, 'nodes');
    const place = await call(page, 'position', ids[3]);
    const { port } = mock;
    await mock.stop();
    await until(page, () => document.getElementById('status').innerText === 'Reconnecting');
    assert.match(await text(page, '#warnings'), /No connection[^]*trying again/);
    await shot(page, 'lost');
    const value = small();
    value.revision = 1;
    value.nodes.push(service('process:later'));
    const again = await new Mock(value).start(port);
    try {
      await until(page, () => window.portolan.nodes().includes('process:later'));
      assert.equal(await text(page, '#status'), 'Live');
      assert.ok(place, 'it was drawn before');
      again.change({ skip: 1, nodes: [service('process:missed')] });
      await until(page, () => window.portolan.nodes().includes('process:missed'));
      const asked = again.requests.filter((url) => url === '/api/v1/events');
      assert.equal(asked.length, 2, 'a missed revision asks for the whole graph');
    } finally {
      await again.stop();
    }
  }));

test('a dragged service stays where it was put, over a reload', () =>
  onPage(small(), async (page) => {
    const id = 'unit:chrony.service';
    const from = await call(page, 'position', id);
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(from.x + 60, from.y - 40, { steps: 5 });
    await page.mouse.move(from.x + 220, from.y - 60, { steps: 5 });
    await page.mouse.up();
    const saved = () => page.evaluate(() => localStorage.getItem('portolan.places.db7'));
    const places = JSON.parse(await saved());
    assert.deepEqual(places.map((entry) => entry[0]), [id]);
    await page.reload();
    await page.waitForSelector('html[data-ready="true"]');
    assert.deepEqual(JSON.parse(await saved()), places);
    await page.locator('#relayout').click();
    assert.equal(await saved(), null, 're-layout forgets it');
  }));
