import type { ExecutionContext } from '@nestjs/common';
import type { ParsedPolicy } from '../../policy/parse-policy.js';
import { firstNames } from '../handlers/first-names.js';
import { shown } from '../../util/config-error.js';

/**
 * Says which class requests have, because a policy that names none has the first one: one line for each policy and class, with the
 * places that use it.
 */
export class PriorityLines {
  private readonly places = new Map<string, Set<string>>();

  /** @param where the place that uses the policy, such as `RidesController.request` */
  add(policy: ParsedPolicy<ExecutionContext>, where: string): void {
    if (policy.priority === undefined) return;
    const line = classOf(policy, policy.priority);
    const places = this.places.get(line) ?? new Set();
    this.places.set(line, places.add(where));
  }

  lines(): string[] {
    return [...this.places].map(([line, places]) => `${firstNames([...places], '; ')}: ${line}`);
  }
}

function classOf({ name, algorithm, priorityOf, headroom }: ParsedPolicy<ExecutionContext>, priority: string): string {
  const policy = `policy '${name}' counts requests in the class`;
  if (priorityOf !== undefined) return `${policy} that its function says, by default ${shown(priority)}`;
  const { limit } = algorithm;
  return `${policy} ${shown(priority)}, which may fill ${limit - headroom} of ${limit}`;
}
