import { describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { transformSync } from '@swc/core';
import { assert, property } from 'fast-check';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { codedPolicy, decoratorOf } from '../../../libs/playground/model/code.js';
import { DEFAULTS, policiesOf } from '../../../libs/playground/model/settings.js';
import { anySettings } from '../../support/playground.js';
import { histories } from '../../support/property-runs.js';

/** What a reader pastes above a handler, compiled as an application is. */
function controllerWith(decorator: string): new () => object {
  const source = `
    @Controller()
    class Pasted {
      @Get()
      ${decorator}
      get() { return 'here'; }
    }`;
  const { code } = transformSync(source, {
    jsc: {
      target: 'es2023',
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
      externalHelpers: false,
    },
    isModule: false,
  });
  // The text comes from the playground's model, and not from outside.
  // oxlint-disable-next-line typescript/no-implied-eval, no-new-func
  const compiled = new Function('Controller', 'Get', 'RateLimit', `${code}\nreturn Pasted;`);
  return compiled(Controller, Get, RateLimit) as new () => object;
}

describe('the decorators that the playground copies', () => {
  it.each(
    policiesOf({ ...DEFAULTS, capacity: 7, limit: 7, atOnce: 7 }).map((policy) => [policy.algorithm, policy] as const),
  )('boot an application that limits: %s', async (algorithm, policy) => {
    const controller = controllerWith(decoratorOf(policy));
    const store = new VirtualStore(new VirtualClock());
    const module = { module: class {}, imports: [RateLimitModule.forRoot({ store })], controllers: [controller] };
    const app = await NestFactory.create(module, { logger: ['error'] });
    try {
      await app.listen(0, '127.0.0.1');
      const response = await fetch(await app.getUrl());
      expect([response.status, response.headers.get('x-ratelimit-limit')]).toEqual([200, '7']);
      expect(await response.text()).toBe('here');
      // Requests of a concurrency leave their places, and those of a leaky bucket wait for the clock.
      if (algorithm === 'concurrency' || algorithm === 'leaky-bucket') return;
      const statuses: number[] = [];
      for (let i = 0; i < 7; i++) statuses.push((await fetch(await app.getUrl())).status);
      expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429]);
    } finally {
      await app.close();
    }
  });

  it('say exactly the policy, whatever the numbers', () => {
    const law = property(anySettings, (settings) => {
      for (const numbers of policiesOf(settings)) {
        const policy = codedPolicy(numbers, settings, true);
        const [, options] = /^@RateLimit\((\{ .* \})\)$/.exec(decoratorOf(policy))!;
        // oxlint-disable-next-line typescript/no-implied-eval, no-new-func
        expect(new Function(`return ${options}`)()).toEqual(policy);
      }
    });
    assert(law, histories(0.3));
  });
});
