import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { RouteTable } from '../../src/limits/route-table.js';
import { Routes } from '../../src/limits/routes.js';
import { RIDE } from './support/requests.js';
import { type Service, start } from './support/start-app.js';

const textOf = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const DEMO = textOf('docs/demo.md');
const RIDER = { kind: 'user', value: 'somebody' };

/** The list of routes in docs/demo.md: routes and the names of their policies. */
const LIST = Array.from(DEMO.matchAll(/^- ((?:`[A-Z]+ \/[^`]*`(?:, )?)+): (.+)$/gm), ([, routes, policies]) => ({
  routes: Array.from(routes!.matchAll(/`([^`]+)`/g), ([, route]) => route!),
  policies: Array.from(policies!.matchAll(/`([a-z-]+)`/g), ([, policy]) => policy!),
}));

let service: Service;

beforeAll(async () => {
  service = await start({ RATE_LIMIT: 'on' });
});
afterAll(() => service.app.close());

describe('docs/demo.md', () => {
  it('lists each route under /api with all of its policies, and the routes without limits', async () => {
    const routes = service.app.get(Routes, { strict: false });
    const real = await Promise.all(
      routes.all().map(async (route) => {
        const policies = (await routes.peek(route, RIDER)).policies.map(({ policy }) => policy);
        return [`${route.method} ${route.path}`, policies.toSorted()] as const;
      }),
    );
    const listed = LIST.flatMap(({ routes: names, policies }) => names.map((name) => [name, policies.toSorted()]));
    expect(listed.length).toBe(15);
    expect(Object.fromEntries(real)).toMatchObject(Object.fromEntries(listed));
    const operated = real.filter(([name]) => name.includes(' /api/admin/limits/'));
    expect(DEMO).toMatch(/^- all under `\/api\/admin\/limits`: wrong tokens, fixed window, 20 in 15 minutes/m);
    expect(operated).toHaveLength(10);
    expect(operated.flatMap(([, policies]) => policies)).toEqual([]);
    const others = real.filter((one) => !operated.includes(one)).map(([name]) => name);
    const api = others.filter((name) => name.includes(' /api/'));
    expect(api.filter((name) => !listed.some(([one]) => one === name))).toEqual([]);
  });

  it('shows the first lines of the table in the log', async () => {
    const lines = (await service.app.get(RouteTable, { strict: false }).text()).split('\n');
    expect(DEMO).toContain(`\n${lines.slice(0, 3).join('\n')}\n  ...\nListening on\nhttp://localhost:3000\n`);
  });

  it('shows a 429 that names the policy of the tour', async () => {
    const sample = JSON.parse(/^\{"statusCode":429.*\}$/m.exec(DEMO)![0]) as Record<string, unknown>;
    const answers = await Promise.all(
      Array.from({ length: 21 }, () =>
        request(service.url).post('/api/rides/request').set('X-User-Id', 'rider-1').send(RIDE),
      ),
    );
    const { body } = answers.find(({ status }) => status === 429)!;
    expect({ ...sample, retry_after_ms: 0 }).toEqual({ ...body, retry_after_ms: 0 });
  });
});
