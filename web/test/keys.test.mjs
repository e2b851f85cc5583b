// The page without a mouse.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call, close, onPage, open, PG, shot, text } from './onpage.mjs';
import { small } from './sample.mjs';

before(open);
after(close);

test('everything by keyboard alone', () =>
  onPage(small(), async (page) => {
    const key = (name) => page.keyboard.press(name);
    const opened = () => text(page, '#details h2');
    await key('/');
    await page.keyboard.type('nginx');
    await key('Enter');
    assert.equal(await opened(), 'nginx');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'map');
    await key('ArrowRight');
    assert.match(await page.locator('#say-focus').textContent(), /shop-api, container/);
    await shot(page, 'keyboard');
    await key('Enter');
    assert.equal(await opened(), 'shop-api');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'details');
    await key('d');
    assert.ok(!(await text(page, '#details')).includes('What it needs'));
    await key('n');
    assert.ok((await text(page, '#details')).includes('What it needs'));
    assert.ok(!(await text(page, '#details')).includes('What breaks'));
    await key('1');
    const pressed = '#details [data-act="depth"][aria-pressed="true"]';
    assert.equal(await text(page, pressed), '1');
    await key('Escape');
    assert.ok(await page.locator('#details').isHidden());
    assert.equal(await page.evaluate(() => document.activeElement.id), 'map');
    const before = await call(page, 'position', PG);
    await key('+');
    assert.notDeepEqual(await call(page, 'position', PG), before);
    await key('0');
    assert.deepEqual(await call(page, 'position', PG), before);
    await key('?');
    assert.ok(await page.locator('#help').isVisible());
    await shot(page, 'help');
    await key('Escape');
    assert.ok(await page.locator('#help').isHidden());
    await key('l');
    assert.match(await text(page, '#list'), /postgresql@15-main[^]*5432\/tcp/);
    await key('Enter');
    assert.equal(await opened(), 'nginx', 'the most needed is first and has the focus');
    await shot(page, 'list');
    await key('l');
    await key('Escape');
    await key('Escape');
    await walkByTab(page);
  }));

/** Tab goes through every drawn node once and then leaves the map. */
async function walkByTab(page) {
  await page.locator('#map').focus();
  const heard = new Set();
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press('Tab');
    if ((await page.evaluate(() => document.activeElement.id)) !== 'map') break;
    heard.add(await page.locator('#say-focus').textContent());
  }
  assert.equal(heard.size, 15, [...heard].join('\n'));
  assert.notEqual(await page.evaluate(() => document.activeElement.id), 'map', 'no trap');
}
