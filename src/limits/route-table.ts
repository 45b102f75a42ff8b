import { Injectable } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import type { Decision, PolicyDecision } from 'nestjs-floodgate';
import type { Configuration, RateLimitMode } from '../config/configuration.js';
import { MATCHING_LIMIT } from './policies.js';
import { Routes } from './routes.js';

/** Nobody sends requests under this name, and a peek charges nothing. */
const PEEKING = { kind: 'user', value: 'boot' };

/** The limited routes and their policies, for the log at boot. */
@Injectable()
export class RouteTable {
  private readonly mode: RateLimitMode;

  constructor(
    private readonly routes: Routes,
    config: ConfigService<Configuration, true>,
  ) {
    this.mode = config.get('rateLimit', { infer: true });
  }

  /** One line for each limited route, such as `  GET /api/trips/history  default 30`. */
  async text(): Promise<string> {
    const routes = await Promise.all(
      this.routes.all().map(async (route) => {
        const decision =
          this.mode === 'off' ? undefined : await this.routes.peek(route, PEEKING).catch(() => undefined);
        return { ...route, policies: this.policiesOf(decision) };
      }),
    );
    const limited = routes.filter(({ policies }) => policies !== undefined);
    const width = (column: 'method' | 'path'): number => Math.max(...limited.map((route) => route[column].length));
    const [method, path] = [width('method'), width('path')];
    const rows = limited.map(
      (route) => `  ${route.method.padEnd(method)} ${route.path.padEnd(path)}  ${route.policies}`,
    );
    if (rows.length === 0) return '  none';
    return rows.join('\n');
  }

  private policiesOf(decision: Decision | undefined): string | undefined {
    const policies = decision?.policies.filter(({ policy }) => this.mode !== 'riders' || policy !== MATCHING_LIMIT);
    if (policies === undefined || policies.length === 0) return undefined;
    // The fallback decides with this process's share of the limits, which is not the policy's number.
    return policies.map((policy) => described(policy, decision?.decidedBy === 'store')).join(', ');
  }
}

function described({ policy, limit }: PolicyDecision, withLimit: boolean): string {
  return withLimit ? `${policy} ${limit}` : policy;
}
