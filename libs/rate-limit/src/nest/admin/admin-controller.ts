import {
  Body,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Header,
  HttpCode,
  Inject,
  Post,
  Put,
  Query,
  Req,
  Res,
  type Type,
  UseGuards,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { PARAMTYPES_METADATA } from '@nestjs/common/constants.js';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { LimitExplanation } from '../../engine/explain/explanation.js';
import type { OverrideHistoryEntry, OverridePage, RateLimitOverride } from '../../engine/overrides/override.js';
import type { RateLimitOverrides } from '../../engine/overrides/rate-limit-overrides.js';
import type { RateLimiter } from '../../engine/calls/rate-limiter.js';
import type { ResetState } from '../../engine/calls/reset-states.js';
import type { LimitTable } from '../../engine/explain/limit-table.js';
import type { FleetTopRejected, SharedRejections } from '../../metrics/rejected/shared-rejections.js';
import type { Handler } from '../routes/route.js';
import { SkipRateLimit } from '../decorators/skip-rate-limit.decorator.js';
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

/** The services that the endpoints use. */
export interface AdminDesk {
  readonly limiter: RateLimiter;
  readonly overrides: RateLimitOverrides;
  /** The identities that all processes reject. */
  readonly rejections: SharedRejections;
  /** The author of a request, if the application names authors. */
  readonly authorOf: (context: ExecutionContext) => Promise<string | undefined>;
}

/** The token of an `AdminDesk`. */
export const ADMIN_DESK = Symbol('RateLimitAdminModule');

/**
 * Makes the controller of the endpoints: a class of its own for each registration, because path, guards and what OpenAPI knows are
 * metadata of the class and its methods. It is not limited, so that a limit never keeps the operators from changing it.
 *
 * Identities are in bodies alone, because servers and proxies log URLs.
 */
export function adminController(path: string, guards: readonly (Type<CanActivate> | CanActivate)[]): Type {
  @Controller({ path, version: VERSION_NEUTRAL })
  @UseGuards(...guards)
  @SkipRateLimit()
  class RateLimitAdminController {
    constructor(@Inject(ADMIN_DESK) private readonly desk: AdminDesk) {}

    @Get('table')
    @Header('Cache-Control', 'no-store')
    table(@Query() query: unknown): Promise<LimitTable> {
      return answered(() => {
        const wanted = readTable(query);
        const table = this.desk.limiter.table();
        if (wanted === undefined) return table;
        return { ...table, routes: table.routes.filter(({ limited }) => limited === wanted) };
      });
    }

    @Get('top-rejected')
    @Header('Cache-Control', 'no-store')
    topRejected(@Query() query: unknown): Promise<FleetTopRejected> {
      return answered(() => {
        readTopRejected(query);
        return this.desk.rejections.fleet();
      });
    }

    @Post('explain')
    @HttpCode(200)
    @Header('Cache-Control', 'no-store')
    explain(@Body() body: unknown): Promise<LimitExplanation> {
      return answered(() => {
        const { identity, route, ...options } = readExplain(body);
        return this.desk.limiter.explain(route === undefined ? null : { route }, identity, options);
      });
    }

    @Post('reset')
    @HttpCode(200)
    @Header('Cache-Control', 'no-store')
    reset(@Body() body: unknown): Promise<{ readonly cleared: readonly ResetState[] }> {
      return answered(async () => {
        const { identity, what } = readReset(body);
        return { cleared: await storeAnswered(() => this.desk.limiter.reset(what, identity)) };
      });
    }

    @Get('overrides')
    @Header('Cache-Control', 'no-store')
    overrides(@Query() query: unknown): Promise<OverridePage<RateLimitOverride>> {
      return answered(() => this.desk.overrides.list(readPage(query)));
    }

    @Put('overrides')
    @Header('Cache-Control', 'no-store')
    async setOverride(
      @Body() body: unknown,
      @Req() request: object,
      @Res({ passthrough: true }) response: object,
    ): Promise<RateLimitOverride> {
      const author = await this.authorOf(request, response, 'setOverride');
      return answered(() => {
        const { target, change, options } = readSet(body, author);
        return this.desk.overrides.set(target, change, options);
      });
    }

    @Post('overrides/find')
    @HttpCode(200)
    @Header('Cache-Control', 'no-store')
    findOverride(@Body() body: unknown): Promise<RateLimitOverride> {
      return answered(async () => {
        const found = await this.desk.overrides.get(readTarget(body));
        if (found === undefined) throw noOverride();
        return found;
      });
    }

    @Post('overrides/remove')
    @HttpCode(200)
    @Header('Cache-Control', 'no-store')
    async removeOverride(
      @Body() body: unknown,
      @Req() request: object,
      @Res({ passthrough: true }) response: object,
    ): Promise<{ readonly removed: true }> {
      const author = await this.authorOf(request, response, 'removeOverride');
      return answered(async () => {
        const { target, options } = readRemove(body, author);
        if (!(await this.desk.overrides.remove(target, options))) throw noOverride();
        return { removed: true } as const;
      });
    }

    @Get('overrides/history')
    @Header('Cache-Control', 'no-store')
    history(@Query() query: unknown): Promise<OverridePage<OverrideHistoryEntry>> {
      return answered(() => this.desk.overrides.history(undefined, readPage(query)));
    }

    @Post('overrides/history')
    @HttpCode(200)
    @Header('Cache-Control', 'no-store')
    historyOf(@Body() body: unknown): Promise<OverridePage<OverrideHistoryEntry>> {
      return answered(() => {
        const { target, page } = readHistory(body);
        return this.desk.overrides.history(target, page);
      });
    }

    // Nest passes no execution context to a handler, so it is built here.
    private authorOf(request: object, response: object, name: keyof this): Promise<string | undefined> {
      const handler = Reflect.get(this, name) as Handler;
      return this.desk.authorOf(new ExecutionContextHost([request, response], RateLimitAdminController, handler));
    }
  }
  // The package is built without the types of parameters. Nest warns of each handler without them where the application has a ValidationPipe.
  for (const name of Object.getOwnPropertyNames(RateLimitAdminController.prototype)) {
    Reflect.defineMetadata(PARAMTYPES_METADATA, [Object, Object], RateLimitAdminController.prototype, name);
  }
  return RateLimitAdminController;
}
