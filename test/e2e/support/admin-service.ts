import { type CanActivate, Controller, type ExecutionContext, Get, Injectable, Module, Post } from '@nestjs/common';
import {
  type Policy,
  RateLimit,
  RateLimitAdminModule,
  type RateLimitAdminOptions,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { type AppSettings, FROM_HEADERS, type HttpApp, type Platform, start } from '../../support/http-app.js';

const DAILY: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 2, window: '300d', by: 'user' };
export const ADA = { kind: 'user', value: 'ada-lovelace' };
const TOKEN = 'let-me-in';

/** What the guard injects comes from a module of its own. */
@Injectable()
class Operators {
  readonly byToken = new Map([[TOKEN, 'eve@example.com']]);
}

@Module({ providers: [Operators], exports: [Operators] })
class OperatorsModule {}

@Injectable()
export class SupportGuard implements CanActivate {
  constructor(private readonly operators: Operators) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string>; operator?: string }>();
    request.operator = this.operators.byToken.get(request.headers.authorization ?? '');
    return request.operator !== undefined;
  }
}

@Controller('rides')
class Rides {
  @Post()
  @RateLimit(DAILY, { name: 'all', algorithm: 'token-bucket', capacity: 1000, refill: 1, by: 'global' })
  request(): string {
    return 'ok';
  }

  @Get('bare')
  bare(): void {}
}

export const LIMITS = 'admin/limits';
export const GUARDED: RateLimitAdminOptions = { guards: [SupportGuard], imports: [OperatorsModule] };

export function serve(
  platform: Platform,
  options: RateLimitModuleOptions = {},
  admin: RateLimitAdminOptions = GUARDED,
  settings?: AppSettings,
): Promise<HttpApp> {
  const imports = [
    RateLimitModule.forRoot({ identity: FROM_HEADERS, ...options }),
    RateLimitAdminModule.register(admin),
  ];
  return start(platform, { imports, controllers: [Rides] }, settings);
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line no-explicit-any -- what a REST client sees
  readonly body: any;
}

/** Sends a request like a REST client with the operator's token. */
export async function ask(http: HttpApp, method: string, path: string, body?: unknown, token = TOKEN): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${http.port}/${path}`, {
    method,
    headers: { Authorization: token, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}
