import { types } from 'node:util';
import type { ExecutionContext } from '@nestjs/common';
import type { ResolvedIdentities } from 'floodgate/http';
import { notify, shapeOf, shown } from 'floodgate/internal';
import { isPromise, type UserFunctions } from 'floodgate/internal-boot';
import type { RateLimitRuntime } from './rate-limit.runtime.js';
import type { BoundPolicy } from '../types.js';

/**
 * Calls the methods that a subclass of `RateLimitGuard` overrides. If one throws or rejects, the request is answered with that
 * error. If one does not settle within the deadline, the request does not wait for it.
 */
export class GuardSteps {
  constructor(private readonly runtime: Pick<RateLimitRuntime, 'parts' | 'identities'>) {}

  /** Whether `shouldSkip` leaves a request out. */
  async skips(guard: object, answer: unknown): Promise<boolean> {
    const { functions } = this.runtime.parts;
    const warning = `${nameOf(guard)}.shouldSkip failed, the request is counted`;
    const skips = isPromise(answer) ? await functions.step<unknown>('skipIf', warning, answer, () => false) : answer;
    if (typeof skips === 'boolean' || skips === undefined || skips === null) return skips === true;
    functions.failed('skipIf', warning, new TypeError(`it must return true or false, got ${shown(skips)}`));
    return false;
  }

  /** The identity's tag. If the method does not answer, the policy's `onMissingIdentity` applies. */
  tag(
    guard: object,
    answer: unknown,
    policy: BoundPolicy,
    context: ExecutionContext,
    resolved: ResolvedIdentities | undefined,
  ): Promise<string> {
    const { parts, identities } = this.runtime;
    if (!isPromise<unknown>(answer)) throw new TypeError(`an identity's tag must be text, got ${shapeOf(answer)}`);
    return parts.functions.step<string>(
      'identity',
      `${nameOf(guard)}.identityTag failed, policy '${policy.name}' counts the request as one without an identity`,
      answer as PromiseLike<string>,
      () => identities.withoutIdentity(policy, context, resolved),
      // `super.identityTag` asks resolvers, each of which has a deadline of its own.
      1 + identities.functionCount,
    );
  }

  /** Settles when `refuse` has answered, or at the deadline. */
  refusal(guard: object, answer: PromiseLike<unknown>): Promise<unknown> {
    const warning = `${nameOf(guard)}.refuse failed, the request gets the answer of the library`;
    return this.runtime.parts.functions.step<unknown>('problem', warning, answer, () => undefined);
  }

  /** Logs a later failure of `setHeaders`, which is not awaited. */
  watch(guard: object, answer: unknown): void {
    reportLater(this.runtime.parts.functions, guard, 'setHeaders', answer);
  }
}

/** Logs a later failure of a method of a guard that is not awaited. */
export function reportLater(
  functions: Pick<UserFunctions, 'failed'>,
  guard: object,
  method: string,
  answer: unknown,
): void {
  // Fastify's response has a method `then` as well.
  if (answer === undefined || !types.isPromise(answer)) return;
  const warning = `${nameOf(guard)}.${method} failed, and it is not waited for`;
  notify(
    () => answer,
    undefined,
    (error) => functions.failed('problem', warning, error),
  );
}

function nameOf({ constructor }: object): string {
  return constructor.name;
}
