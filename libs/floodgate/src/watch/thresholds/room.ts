import type { IdentityNaming } from '../../identity/identity-tag.js';
import type { Logger } from '../../util/logger.js';
import { isFunction, type OptionRule } from '../../util/option-rules.js';
import { idleThresholds } from './idle-thresholds.js';
import type { ThresholdEvent } from './threshold-event.js';
import { Thresholds } from './thresholds.js';

/** The option of thresholds. */
export interface ThresholdOptions {
  /**
   * Called when an identity has used up a part of a policy's limit that the policy's `thresholds` name: once for each window,
   * identity and level, over all processes. Default none. It is called after the decision, and no request waits for it. An error
   * of the function is logged, at most once a second. See docs/metrics.md.
   *
   * @example onThreshold: ({ identity, policy, level }) => mails.send(identity, `${level * 100} % of ${policy} are used`)
   */
  onThreshold?: ((event: ThresholdEvent) => void) | undefined;
}

function watch(
  { onThreshold, decisionIdentity }: ThresholdOptions & { readonly decisionIdentity?: IdentityNaming | undefined },
  logger: Pick<Logger, 'warn'>,
): Thresholds | undefined {
  return onThreshold && new Thresholds({ onThreshold, decisionIdentity }, logger);
}

export const thresholds = {
  options: {
    onThreshold: { default: undefined, valid: isFunction, wanted: 'a function' },
  } as const satisfies Record<keyof ThresholdOptions, OptionRule>,
  watch,
  idle: idleThresholds,
};
