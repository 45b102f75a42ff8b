import {
  Body,
  type CanActivate,
  Controller,
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
import type { FleetTopRejected, OverrideHistoryEntry, ResetState } from 'floodgate/internal';
import type { LimitExplanation, LimitTable, OverridePage, RateLimitOverride } from 'floodgate';
import { SkipRateLimit } from '../decorators/skip-rate-limit.decorator.js';
import type { AdminDesk } from './admin-desk.js';
import { BROWSER_GUARD } from './browser-requests.js';

/** The token of an `AdminDesk`. */
export const ADMIN_DESK = Symbol('RateLimitAdminModule');

/**
 * Makes the controller of the endpoints: a class of its own for each registration, because path and guards are metadata of
 * the class. It is not limited, so that a limit never keeps the operators from changing it.
 *
 * Identities are in bodies alone, because servers and proxies log URLs.
 */
export function adminController(path: string, guards: readonly (Type<CanActivate> | CanActivate)[]): Type {
  @Controller({ path, version: VERSION_NEUTRAL })
  @UseGuards(...guards, BROWSER_GUARD)
  @SkipRateLimit()
  class RateLimitAdminController {
    constructor(@Inject(ADMIN_DESK) private readonly desk: AdminDesk) {}

    @Get('table')
    @Header('Cache-Control', 'no-store')
    table(@Query() query: unknown): Promise<LimitTable> {
      return this.desk.table(query);
    }

    @Get('top-rejected')
    @Header('Cache-Control', 'no-store')
    topRejected(@Query() query: unknown): Promise<FleetTopRejected> {
      return this.desk.topRejected(query);
    }

    @Post('explain')
    @HttpCode(200)
    @Header('Cache-Control', 'no-store')
    explain(@Body() body: unknown): Promise<LimitExplanation> {
      return this.desk.explain(body);
    }

    @Post('reset')
    @HttpCode(200)
    @Header('Cache-Control', 'no-store')
    reset(@Body() body: unknown): Promise<{ readonly cleared: readonly ResetState[] }> {
      return this.desk.reset(body);
    }

    @Get('overrides')
    @Header('Cache-Control', 'no-store')
    overrides(@Query() query: unknown): Promise<OverridePage<RateLimitOverride>> {
      return this.desk.overrides(query);
    }

    @Put('overrides')
    @Header('Cache-Control', 'no-store')
    setOverride(
      @Body() body: unknown,
      @Req() request: object,
      @Res({ passthrough: true }) response: object,
    ): Promise<RateLimitOverride> {
      return this.desk.setOverride(body, { request, response, type: RateLimitAdminController, method: 'setOverride' });
    }

    @Post('overrides/find')
    @HttpCode(200)
    @Header('Cache-Control', 'no-store')
    findOverride(@Body() body: unknown): Promise<RateLimitOverride> {
      return this.desk.findOverride(body);
    }

    @Post('overrides/remove')
    @HttpCode(200)
    @Header('Cache-Control', 'no-store')
    removeOverride(
      @Body() body: unknown,
      @Req() request: object,
      @Res({ passthrough: true }) response: object,
    ): Promise<{ readonly removed: true }> {
      return this.desk.removeOverride(body, {
        request,
        response,
        type: RateLimitAdminController,
        method: 'removeOverride',
      });
    }

    @Get('overrides/history')
    @Header('Cache-Control', 'no-store')
    history(@Query() query: unknown): Promise<OverridePage<OverrideHistoryEntry>> {
      return this.desk.history(query);
    }

    @Post('overrides/history')
    @HttpCode(200)
    @Header('Cache-Control', 'no-store')
    historyOf(@Body() body: unknown): Promise<OverridePage<OverrideHistoryEntry>> {
      return this.desk.historyOf(body);
    }
  }
  // The package is built without the types of parameters. Nest warns of each handler without them where the application has a ValidationPipe.
  for (const name of Object.getOwnPropertyNames(RateLimitAdminController.prototype)) {
    Reflect.defineMetadata('design:paramtypes', [Object, Object], RateLimitAdminController.prototype, name);
  }
  return RateLimitAdminController;
}
