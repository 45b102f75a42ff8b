import { HttpModule, HttpService } from '@nestjs/axios';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import type { AxiosInstance } from 'axios';
import { rateLimitAxios } from 'floodgate-client';
import { firstValueFrom } from 'rxjs';
import { ScriptedServer } from '../../libs/client/test-support/scripted-server.js';

describe('rateLimitAxios', () => {
  it("works on the default adapter of Node, in Nest's HttpService", async () => {
    await using server = await ScriptedServer.start([
      { status: 429, headers: { 'Retry-After': '1' }, body: { retry_after_ms: 40 } },
      { status: 429, body: { retry_after_ms: 40 } },
    ]);
    const module = await Test.createTestingModule({ imports: [HttpModule] }).compile();
    const http = module.get(HttpService);
    const instance: AxiosInstance = http.axiosRef;
    rateLimitAxios(instance);
    const response = await firstValueFrom(http.post<unknown>(server.url, { driver: 'd1' }));
    expect(response.status).toBe(200);
    expect(server.seen.map(({ body }) => body)).toEqual(Array.from({ length: 3 }).fill('{"driver":"d1"}'));
    const [first, second, third] = server.seen.map(({ at }) => at) as [number, number, number];
    expect(second - first).toBeGreaterThanOrEqual(39);
    expect(third - second).toBeGreaterThanOrEqual(39);
    await module.close();
  });
});
