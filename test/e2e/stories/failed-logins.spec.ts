import type { Type } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { type HttpApp } from '../../support/http-app.js';
import { dial } from '../support/waiting-routes.js';
import { atOnce, counts, KINDS, type RecipeModule, sendJson, useRecipe } from './support/story.js';

interface Login extends RecipeModule {
  readonly Accounts: Type<{ check(credentials: { readonly password: string }): Promise<boolean> }>;
}

const ADA = { kind: 'account', value: 'ada@example.com' };
const RIGHT = 'correct horse';

const { open } = useRecipe<Login>('docs/recipe-failed-logins.md', 'login.module.ts');

async function login(app: HttpApp, password: string, email = 'ada@example.com'): Promise<number> {
  return (await sendJson(app, 'POST', '/login', { email, password })).status;
}

/** The failures that are left, once all refunds have been made. */
async function untilLeft(app: HttpApp, count: number, who = ADA): Promise<void> {
  await until(`${count} left`, 5_000, async () => {
    const { policies } = await app.app.get(RateLimiter).explain('POST /login', who);
    return policies[0]!.level?.remaining === count;
  });
}

describe.each(KINDS)('five failed logins, over $platform with $store', (kind) => {
  it('let 5 of 40 guesses at once reach the handler, and then not even the right password', async () => {
    await using app = await open(kind);
    const check = jest.spyOn(app.app.get(app.recipe.Accounts), 'check');
    expect(counts(await atOnce(40, (i) => login(app, `guess ${i}`)))).toEqual({ 401: 5, 429: 35 });
    expect(check).toHaveBeenCalledTimes(5);
    expect(await login(app, RIGHT)).toBe(429);
    expect(await login(app, RIGHT, 'ADA@Example.com')).toBe(429);
    expect(await login(app, 'guess', 'bob@example.com')).toBe(401);
    expect(check).toHaveBeenCalledTimes(6);
  });

  it('count no login that succeeds', async () => {
    await using app = await open(kind);
    for (let i = 0; i < 8; i++) {
      expect(await login(app, RIGHT)).toBe(201);
      await untilLeft(app, 5);
    }
    for (let i = 0; i < 4; i++) expect(await login(app, 'guess')).toBe(401);
    expect(await login(app, RIGHT)).toBe(201);
    await untilLeft(app, 1);
    expect([await login(app, 'guess'), await login(app, RIGHT)]).toEqual([401, 429]);
  });

  it('reject two of seven correct logins at once for a second, and a sixth guess for the time of the window', async () => {
    await using app = await open(kind);
    const answers: (() => void)[] = [];
    const check = jest.spyOn(app.app.get(app.recipe.Accounts), 'check');
    check.mockImplementation(() => new Promise((resolve) => answers.push(() => resolve(true))));
    const ask = (): Promise<Response> => sendJson(app, 'POST', '/login', { email: 'ada@example.com', password: RIGHT });
    const rejected: unknown[] = [];
    const statuses = atOnce(7, async () => {
      const response = await ask();
      if (response.status === 429) rejected.push([response.headers.get('retry-after'), await response.json()]);
      return response.status;
    });
    await until('five checks and two rejections', 5_000, () => answers.length === 5 && rejected.length === 2);
    const estimate = ['1', expect.objectContaining({ estimated: true, retry_after_ms: 1_000 })];
    expect(rejected).toEqual([estimate, estimate]);
    for (const answer of answers) answer();
    expect(counts(await statuses)).toEqual({ 201: 5, 429: 2 });
    await untilLeft(app, 5);
    check.mockResolvedValue(false);
    for (let i = 0; i < 5; i++) expect(await login(app, 'guess')).toBe(401);
    const sixth = await until('the truth', 5_000, async () => {
      const body = (await (await ask()).json()) as { estimated?: true; retry_after: number };
      return body.estimated ? undefined : body;
    });
    expect(sixth.retry_after).toBeGreaterThan(880);
  });

  it('count guesses whose clients hang up before the answer', async () => {
    await using app = await open(kind);
    const answers: ((isRight: boolean) => void)[] = [];
    const check = jest.spyOn(app.app.get(app.recipe.Accounts), 'check');
    check.mockImplementation(() => new Promise((resolve) => answers.push(resolve)));
    const body = JSON.stringify({ email: ADA.value, password: 'guess' });
    const head = [
      'POST /login HTTP/1.1',
      'Host: a',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ];
    for (let i = 1; i <= 5; i++) {
      const client = await dial(app.app);
      client.write(`${head.join('\r\n')}\r\n\r\n${body}`);
      await until('the handler', 5_000, () => answers.length === i);
      client.destroy();
    }
    await untilHungUp(app);
    for (const answer of answers) answer(false);
    // A login of Bob is refunded after all that ended before it.
    check.mockResolvedValue(true);
    expect(await login(app, RIGHT, 'bob@example.com')).toBe(201);
    await untilLeft(app, 5, { kind: 'account', value: 'bob@example.com' });
    expect(await login(app, RIGHT)).toBe(429);
  });
});

/** Waits until the server has seen that its client has gone. */
async function untilHungUp({ app }: HttpApp): Promise<void> {
  const server = app.getHttpServer() as { getConnections(done: (error: unknown, count: number) => void): void };
  const connections = (): Promise<number> =>
    new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
  await until('the end of the connection', 5_000, async () => (await connections()) === 0);
}
