import { describe, expect, it } from '@jest/globals';
import { EnvironmentError, readConfiguration } from './read-configuration.js';

describe('readConfiguration', () => {
  it('has a default for every variable', () => {
    expect(readConfiguration({})).toEqual({
      port: 3000,
      bind: '127.0.0.1',
      http: { shutdownGraceMs: 8000, headersTimeoutMs: 10_000, requestTimeoutMs: 30_000 },
      redisUrl: undefined,
      databaseUrl: undefined,
      rateLimit: 'on',
      rateLimitGuard: true,
      shedsLoad: false,
      adminToken: undefined,
      controlRoom: 'on',
      apiDocs: true,
      controlRoomHosts: [],
      matchingLimit: { perSecond: 100, burst: 60 },
      pods: 1,
      drivers: { seeded: 500, max: 100_000, timeoutMs: 60_000 },
      matching: {
        url: undefined,
        port: 4000,
        workers: 6,
        serviceMs: 40,
        queue: 750,
        patienceMs: 30_000,
        cancels: false,
        newestFirst: false,
        radiusKm: 5,
      },
      trips: { durationMs: 30_000, kept: 50_000, keptPerRider: 100 },
    });
  });

  it('reads the values of variables, zero included', () => {
    const read = readConfiguration({
      PORT: '0',
      REDIS_URL: 'rediss://cache.example:6380',
      RATE_LIMIT: 'off',
      DRIVERS_SEEDED: '0',
      MATCHING_QUEUE: '0',
      MATCHING_RADIUS_KM: '2.5',
      MATCHING_LIMIT: '37.5',
      TRIP_SECONDS: '0.5',
    });
    expect(read).toMatchObject({
      port: 0,
      redisUrl: 'rediss://cache.example:6380',
      rateLimit: 'off',
      rateLimitGuard: false,
    });
    expect(read.drivers.seeded).toBe(0);
    expect(read.matching).toMatchObject({ queue: 0, radiusKm: 2.5 });
    expect(read.matchingLimit).toEqual({ perSecond: 37.5, burst: 60 });
    expect(read.trips.durationMs).toBe(500);
  });

  it.each([
    ['PORT', '70000', 'PORT is "70000", expected a whole number from 0 to 65535'],
    ['MATCHING_WORKERS', 'many', 'MATCHING_WORKERS is "many", expected a whole number from 1 to 10000'],
    ['MATCHING_RADIUS_KM', '-1', 'MATCHING_RADIUS_KM is "-1", expected a number from 0.1 to 50'],
    ['RATE_LIMIT', 'no', 'RATE_LIMIT is "no", expected "on", "riders" or "off"'],
    ['CONTROL_ROOM', 'yes', 'CONTROL_ROOM is "yes", expected "on", "watch" or "off"'],
    ['SHED_LOAD', 'yes', 'SHED_LOAD is "yes", expected "on" or "off"'],
    ['API_DOCS', 'yes', 'API_DOCS is "yes", expected "on" or "off"'],
    ['BIND', 'everywhere', 'BIND is "everywhere", expected an IP address or "*" or "localhost"'],
    ['REDIS_URL', 'cache:6379', 'REDIS_URL is "cache:6379", expected a URL that starts with redis:// or rediss://'],
    [
      'MATCHING_URL',
      'matching:4000',
      'MATCHING_URL is "matching:4000", expected a URL that starts with http:// or https://',
    ],
  ])('rejects %s=%s', (name, value, message) => {
    expect(() => readConfiguration({ [name]: value })).toThrow(new EnvironmentError(message));
  });

  it('serves no page of the API in production, unless API_DOCS says otherwise', () => {
    const production = { NODE_ENV: 'production' };
    expect(readConfiguration(production).apiDocs).toBe(false);
    expect(readConfiguration({ ...production, API_DOCS: 'on' }).apiDocs).toBe(true);
    expect(readConfiguration({ API_DOCS: 'off' }).apiDocs).toBe(false);
  });

  it('reads the hosts of the control room, and names a wrong one', () => {
    const hosts = (text: string): readonly string[] => readConfiguration({ CONTROL_ROOM_HOSTS: text }).controlRoomHosts;
    expect(hosts('Room.example, 10.0.0.7 ,[FD00::7],')).toEqual(['room.example', '10.0.0.7', '[fd00::7]']);
    for (const wrong of ['https://room.example', 'room.example:3000', 'a b', '*', 'user@room.example']) {
      expect(() => hosts(`ok.example,${wrong}`)).toThrow(
        new EnvironmentError(
          `CONTROL_ROOM_HOSTS is "${wrong}", expected host names without ports, separated by commas`,
        ),
      );
    }
  });

  it('takes a token that a header can carry, and never shows a wrong one', () => {
    for (const token of ['0123456789abcdef', 'A-z._~+/0123456789==']) {
      expect(readConfiguration({ ADMIN_TOKEN: token }).adminToken).toBe(token);
    }
    for (const wrong of ['0123456789abcde', 'correct horse battery', '0123456789abcdeü', '===================']) {
      expect(() => readConfiguration({ ADMIN_TOKEN: wrong })).toThrow(
        new EnvironmentError(
          'ADMIN_TOKEN is "***", expected at least 16 letters, digits or any of -._~+/, as `openssl rand -hex 24` prints them',
        ),
      );
    }
  });

  it.each([
    ['REDIS_URL', 'http://app:secret@cache:6379', 'http://***@cache:6379'],
    ['DATABASE_URL', 'mysql://app:sec/ret@db/city', 'mysql://***@db/city'],
    ['DATABASE_URL', 'app:s@cret@db/city', '***@db/city'],
    ['DATABASE_URL', 'host=db password=secret user=app', 'host=db password=*** user=app'],
  ])('hides the password of a wrong URL in %s: %s', (name, value, shown) => {
    const schemes = name === 'REDIS_URL' ? 'redis:// or rediss://' : 'postgres:// or postgresql://';
    expect(() => readConfiguration({ [name]: value })).toThrow(
      new EnvironmentError(`${name} is "${shown}", expected a URL that starts with ${schemes}`),
    );
  });
});
