import type { ExecutionContext } from '@nestjs/common';
import type { ParsedPolicy } from '../../policy/parse-policy.js';
import { shown } from '../../util/config-error.js';

/** How many places a line names. */
const NAMED_PLACES = 3;

/**
 * Says which class requests have, because a policy that names none has the first one: one line for each policy and class, with the
 * places that use it.
 */
export class PriorityLines {
  private readonly places = new Map<string, Set<string>>();

  /** @param where the place that uses the policy, such as `RidesController.request` */
  add(policy: ParsedPolicy<ExecutionContext>, where: string): void {
    if (policy.priority === undefined) return;
    const said = classOf(policy, policy.priority);
    const places = this.places.get(said) ?? new Set();
    this.places.set(said, places.add(where));
  }

  lines(): string[] {
    return [...this.places].map(([said, places]) => `${namesOf([...places])}: ${said}`);
  }
}

function classOf({ name, algorithm, priorityOf, headroom }: ParsedPolicy<ExecutionContext>, priority: string): string {
  const policy = `policy '${name}' counts requests in the class`;
  if (priorityOf !== undefined) return `${policy} that its function says, by default ${shown(priority)}`;
  const { limit } = algorithm;
  return `${policy} ${shown(priority)}, which may fill ${limit - headroom} of ${limit}`;
}

function namesOf(places: readonly string[]): string {
  const named = places.slice(0, NAMED_PLACES).join('; ');
  const more = places.length - NAMED_PLACES;
  return more > 0 ? `${named} and ${more} more` : named;
}
