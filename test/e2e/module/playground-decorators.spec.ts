import { describe, expect, it } from '@jest/globals';
import { assert, property } from 'fast-check';
import { codedPolicy, decoratorOf } from '../../../demo/playground/model/code.js';
import { policiesOf } from '../../../demo/playground/model/settings.js';
import { anySettings } from '../../support/playground.js';
import { histories } from '../../support/property-runs.js';

describe('the decorators that the playground copies', () => {
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
