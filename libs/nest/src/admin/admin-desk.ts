import type { ExecutionContext, OnApplicationBootstrap, OnApplicationShutdown, Type } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { type FleetTopRejected, type OverrideHistoryEntry, type ResetState, shown } from 'floodgate/internal';
import type { LimitExplanation, LimitTable, OverridePage, RateLimitOverride } from 'floodgate';
import type { RequestFunction } from 'floodgate/http';
import { SharedRejections } from 'floodgate/internal-boot';
import { requestOf } from '../contexts/http-context.js';
import { RateLimitLogger } from '../handlers/logger.js';
import type { RateLimitRuntime } from '../guard/rate-limit.runtime.js';
import type { Handler } from '../handlers/route.js';
import { answered, noOverride, storeAnswered } from './answers.js';
import {
  readExplain,
  readHistory,
  readPage,
  readRemove,
  readReset,
  readSet,
  readTable,
  readTarget,
  readTopRejected,
} from './requests.js';

type AuthorFunction = RequestFunction<ExecutionContext, unknown>;

/** A request that names an author. */
interface AdminCall {
  readonly request: object;
  readonly response: object;
  readonly type: Type;
  readonly method: string;
}

/** Answers the requests to the endpoints. The module loads it when an application boots. */
export class AdminDesk implements OnApplicationBootstrap, OnApplicationShutdown {
  /** The identities that all processes together have rejected. */
  readonly rejections: SharedRejections;

  /** @param author names the author of a request */
  constructor(
    private readonly runtime: RateLimitRuntime,
    private readonly author: AuthorFunction | undefined,
  ) {
    const { monitor, reportBoard } = runtime.parts;
    this.rejections = new SharedRejections(monitor.rejectedIdentities, reportBoard, new RateLimitLogger());
  }

  onApplicationBootstrap(): void {
    this.rejections.start();
  }

  onApplicationShutdown(): void {
    this.rejections.stop();
  }

  table(query: unknown): Promise<LimitTable> {
    return answered(() => {
      const wanted = readTable(query);
      const table = this.runtime.parts.limiter.table();
      if (wanted === undefined) return table;
      return { ...table, routes: table.routes.filter(({ limited }) => limited === wanted) };
    });
  }

  topRejected(query: unknown): Promise<FleetTopRejected> {
    return answered(() => {
      readTopRejected(query);
      return this.rejections.fleet();
    });
  }

  explain(body: unknown): Promise<LimitExplanation> {
    return answered(() => {
      const { identity, route, ...options } = readExplain(body);
      return this.runtime.parts.limiter.explain(route === undefined ? null : { route }, identity, options);
    });
  }

  reset(body: unknown): Promise<{ readonly cleared: readonly ResetState[] }> {
    return answered(async () => {
      const { identity, what } = readReset(body);
      return { cleared: await storeAnswered(() => this.runtime.parts.limiter.reset(what, identity)) };
    });
  }

  overrides(query: unknown): Promise<OverridePage<RateLimitOverride>> {
    return answered(() => this.runtime.parts.overrides.list(readPage(query)));
  }

  async setOverride(body: unknown, call: AdminCall): Promise<RateLimitOverride> {
    const author = await this.authorOf(call);
    return answered(() => {
      const { target, change, options } = readSet(body, author);
      return this.runtime.parts.overrides.set(target, change, options);
    });
  }

  findOverride(body: unknown): Promise<RateLimitOverride> {
    return answered(async () => {
      const found = await this.runtime.parts.overrides.get(readTarget(body));
      if (found === undefined) throw noOverride();
      return found;
    });
  }

  async removeOverride(body: unknown, call: AdminCall): Promise<{ readonly removed: true }> {
    const author = await this.authorOf(call);
    return answered(async () => {
      const { target, options } = readRemove(body, author);
      if (!(await this.runtime.parts.overrides.remove(target, options))) throw noOverride();
      return { removed: true } as const;
    });
  }

  history(query: unknown): Promise<OverridePage<OverrideHistoryEntry>> {
    return answered(() => this.runtime.parts.overrides.history(undefined, readPage(query)));
  }

  historyOf(body: unknown): Promise<OverridePage<OverrideHistoryEntry>> {
    return answered(() => {
      const { target, page } = readHistory(body);
      return this.runtime.parts.overrides.history(target, page);
    });
  }

  /** The author of a request, if the application names authors. If its function returns no text, nothing is changed. */
  private async authorOf({ request, response, type, method }: AdminCall): Promise<string | undefined> {
    const { author } = this;
    if (author === undefined) return undefined;
    // Nest passes no execution context to a handler.
    const handler = (type.prototype as Readonly<Record<string, Handler>>)[method];
    const context = new ExecutionContextHost([request, response], type, handler);
    const name = await this.runtime.parts.functions.answer(() => author(requestOf(context), context));
    if (typeof name === 'string' && name !== '') return name;
    throw new TypeError(`RateLimitAdminModule.register: author must return text, got ${shown(name)}`);
  }
}
