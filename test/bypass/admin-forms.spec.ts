import { describe, expect, it } from '@jest/globals';
import { RateLimitOverrides } from 'nestjs-floodgate';
import { ADA, ask, LIMITS, serve } from '../e2e/support/admin-service.js';
import { PLATFORMS } from '../support/http-app.js';

const TARGET = { policy: 'daily', identity: 'user:ada-lovelace' };
const FORM = new URLSearchParams(TARGET).toString();
const JSON_TEXT = JSON.stringify(TARGET);

describe.each(PLATFORMS)('a page of another site cannot lift a block over %s', (platform) => {
  const open = async () => {
    const http = await serve(platform);
    await http.app.get(RateLimitOverrides).set({ policy: 'daily', identity: ADA }, { blocked: true });
    return http;
  };
  const send = async (
    port: number,
    path: string,
    body: string,
    headers: Record<string, string>,
  ): Promise<{ readonly status: number }> => {
    const response = await fetch(`http://127.0.0.1:${port}/${LIMITS}/${path}`, {
      method: 'POST',
      headers: { Authorization: 'let-me-in', ...headers },
      body,
    });
    return { status: response.status, ...(await response.json().then(Object)) };
  };

  it.each([
    ['a form', FORM, { 'Content-Type': 'application/x-www-form-urlencoded' }],
    ['a form of text', JSON_TEXT, { 'Content-Type': 'text/plain' }],
    ['a type that only begins as JSON does', JSON_TEXT, { 'Content-Type': 'application/jsonp' }],
  ])('by %s', async (_, body, headers) => {
    await using http = await open();
    for (const path of ['overrides/remove', 'reset']) {
      // Fastify has no parser of some types.
      expect([400, 415]).toContain((await send(http.port, path, body, headers)).status);
    }
    expect((await http.app.get(RateLimitOverrides).list()).items).toHaveLength(1);
  });

  it('by a script, where the browser says so', async () => {
    await using http = await open();
    const headers = { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'cross-site' };
    expect(await send(http.port, 'overrides/remove', JSON_TEXT, headers)).toMatchObject({
      status: 403,
      error: 'forbidden',
    });
    expect((await http.app.get(RateLimitOverrides).list()).items).toHaveLength(1);
    for (const site of ['same-origin', 'same-site', 'none']) {
      const own = { 'Content-Type': 'application/json; charset=utf-8', 'Sec-Fetch-Site': site };
      const found = await send(http.port, 'overrides/find', JSON_TEXT, own);
      expect(found).toMatchObject({ change: { blocked: true } });
    }
    expect(await ask(http, 'POST', `${LIMITS}/overrides/remove`, TARGET)).toMatchObject({ status: 200 });
  });
});
