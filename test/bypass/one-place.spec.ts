import { Controller, Get, type Type } from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import { Int, Query, Resolver } from '@nestjs/graphql';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { limited } from '../support/http-app.js';
import { begin } from '../contexts/support/riders.js';

const ALL = { algorithm: 'fixed-window', window: '1h', scope: 'app', limit: 4 } as const satisfies Policy;
const API: Policy = { ...ALL, name: 'api' };

const routes = (policy: Parameters<typeof RateLimit>[0]): Type => {
  @Controller()
  class Routes {
    @Get('ride')
    @RateLimit(policy)
    ride(): void {}
  }
  return Routes;
};

const REFUSAL =
  "policy 'api' is charged in the module's middleware, and again on this route. Leave it out of the middleware, which counts all HTTP " +
  'traffic, or leave it out here, or give the policy here another name';

describe('a policy in the middleware and on a route', () => {
  it.each<[string, Parameters<typeof RateLimit>[0], RateLimitModuleOptions]>([
    ['by name', 'api', { policies: { api: API }, middleware: ['api'] }],
    ['of equal numbers', API, { middleware: [API] }],
    ['of another cost', { ...API, cost: 2 }, { middleware: [API] }],
    ['with paths to leave out', 'api', { policies: { api: API }, middleware: { policies: ['api'], except: ['/x'] } }],
    [
      'in a class of its own',
      { policy: 'api', priority: 'low' },
      { policies: { api: { ...ALL, priorities: { high: 1, low: 0.5 } } }, middleware: ['api'] },
    ],
    ['behind an else', 'api', { policies: { api: API, all: { ...ALL, else: 'api' } }, middleware: ['all'] }],
    ['in front of an else', { ...ALL, name: 'all', else: 'api' }, { policies: { api: API }, middleware: ['api'] }],
    ['beside a function', 'api', { policies: { api: API }, middleware: ['api'], defaults: [() => 'api'] }],
  ])('stops the boot: %s', async (_, policy, options) => {
    await expect(limited('Express', routes(policy), options)).rejects.toThrow(`Routes.ride: ${REFUSAL}`);
  });

  it('stops the boot by the defaults', async () => {
    @Controller()
    class Plain {
      @Get('ride')
      ride(): void {}
    }
    const options = { policies: { api: API }, middleware: ['api'], defaults: ['api'] };
    await expect(limited('Express', Plain, options)).rejects.toThrow(`Plain.ride: ${REFUSAL}`);
  });

  it('stops the boot on a resolver, whose operation an HTTP request brings', async () => {
    @Resolver()
    class Rides {
      @Query(() => Int)
      @RateLimit('api')
      ride(): number {
        return 1;
      }
    }
    const options = { policies: { api: API }, middleware: ['api'] };
    await expect(begin('Mercurius', options, {}, [Rides])).rejects.toThrow(`Rides.ride: ${REFUSAL}`);
  });

  it('is a logged 500 where a function chooses it for a request', async () => {
    await using app = await limited(
      'Express',
      routes(() => 'api'),
      { policies: { api: API }, middleware: ['api'] },
    );
    expect((await app.send('/ride')).status).toBe(500);
    expect(app.logs.text).toContain(`Routes.ride, @RateLimit: ${REFUSAL}`);
    // The middleware's own choice is no second place.
    await using chosen = await limited('Express', routes({ ...API, name: 'own' }), {
      policies: { api: API },
      middleware: ['api', () => ({ ...API, name: 'other' })],
    });
    expect((await chosen.send('/ride')).status).toBe(200);
  });

  it.each<[string, Type, RateLimitModuleOptions]>([
    ['with another name', routes({ ...API, name: 'rides' }), { middleware: [API] }],
    ['for one route', routes({ ...API, scope: 'route' }), { middleware: [API] }],
    ['on a handler of messages', messages(), { policies: { api: API }, middleware: ['api'] }],
  ])('may have a policy beside it: %s', async (_, type, options) => {
    await using app = await limited('Express', type, options);
    expect(app.logs.of('warn')).toEqual([]);
  });
});

function messages(): Type {
  @Controller()
  class Messages {
    @MessagePattern('ride')
    @RateLimit('api')
    ride(): void {}
  }
  return Messages;
}
